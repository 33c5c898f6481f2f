// The packages that shops install from the network: the library @ringback/receiver and the plugin for Vendure. Every
// version that was ever served keeps its address. Shops have the address and the hash in their lock files, so neither
// may ever change.

import type { Env, Hono } from "hono";
import { z } from "zod";
import { readShippedBytes, readShippedFile } from "../../shipped-files.ts";
import { CACHED_FOR_EVER } from "./assets.ts";
import { DOWNLOADS_PATH } from "./paths.ts";

const LIBRARY_FOLDER = "receiver/downloads";
const PLUGIN_FOLDER = "integrations/vendure/downloads";

const DOWNLOAD = z.object({
	version: z.string(),
	file: z.string(),
	bytes: z.number(),
	/** SHA-256 of the file in hex, as `sha256sum` prints it. */
	sha256: z.string(),
	/** Checksum of the file in the form of npm's lock files. */
	integrity: z.string(),
});
export type Download = z.infer<typeof DOWNLOAD>;

/** Downloadable versions of the library, newest first. */
export const DOWNLOADS = readVersions(LIBRARY_FOLDER);

/** Downloadable versions of the plugin for Vendure, newest first. */
export const PLUGIN_DOWNLOADS = readVersions(PLUGIN_FOLDER);

function readVersions(folder: string): readonly [Download, ...Download[]] {
	return z.tuple([DOWNLOAD], DOWNLOAD).parse(JSON.parse(readShippedFile(`${folder}/versions.json`)));
}

/** Returns the address of a version for `npm install` and `npx -p`. The default is the newest version. */
export function downloadUrl(publicUrl: string, { file }: Download = DOWNLOADS[0]): string {
	return `${publicUrl}${DOWNLOADS_PATH}/${file}`;
}

/** Paths of the shipped package files, by their name. */
const FILES: ReadonlyMap<string, string> = new Map([
	...DOWNLOADS.map(({ file }) => [file, `${LIBRARY_FOLDER}/${file}`] as const),
	...PLUGIN_DOWNLOADS.map(({ file }) => [file, `${PLUGIN_FOLDER}/${file}`] as const),
]);

export function mountDownloads<AppEnv extends Env>(app: Hono<AppEnv>): void {
	app.get(`${DOWNLOADS_PATH}/:file`, (c) => {
		const path = FILES.get(c.req.param("file"));
		if (path === undefined) return c.notFound();
		return c.body(readShippedBytes(path), 200, {
			"cache-control": CACHED_FOR_EVER,
			"content-type": "application/gzip",
			"content-disposition": `attachment; filename="${c.req.param("file")}"`,
		});
	});
}
