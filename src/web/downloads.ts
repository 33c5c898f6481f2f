// The package @ringback/receiver, which shops install from the network. Every version that was ever served
// keeps its address. Shops have the address and the hash in their lock files, so neither may ever change.

import type { Env, Hono } from "hono";
import { z } from "zod";
import { readShippedBytes, readShippedFile } from "../shipped-files.ts";
import { CACHED_FOR_EVER } from "./assets.ts";
import { DOWNLOADS_PATH } from "./paths.ts";

const FOLDER = "receiver/downloads";

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

/** Downloadable versions of the package, newest first. */
export const DOWNLOADS: readonly [Download, ...Download[]] = z
	.tuple([DOWNLOAD], DOWNLOAD)
	.parse(JSON.parse(readShippedFile(`${FOLDER}/versions.json`)));

/** Returns the address of a version for `npm install` and `npx -p`. The default is the newest version. */
export function downloadUrl(publicUrl: string, { file }: Download = DOWNLOADS[0]): string {
	return `${publicUrl}${DOWNLOADS_PATH}/${file}`;
}

export function mountDownloads<AppEnv extends Env>(app: Hono<AppEnv>): void {
	app.get(`${DOWNLOADS_PATH}/:file`, (c) => {
		const download = DOWNLOADS.find(({ file }) => file === c.req.param("file"));
		if (download === undefined) return c.notFound();
		const { file } = download;
		return c.body(readShippedBytes(`${FOLDER}/${file}`), 200, {
			"cache-control": CACHED_FOR_EVER,
			"content-type": "application/gzip",
			"content-disposition": `attachment; filename="${file}"`,
		});
	});
}
