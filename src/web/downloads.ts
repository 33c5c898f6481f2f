// The package that shops install from the network: @ringback/receiver, with an address for each version that was ever
// served. The address and the hash are in the shops' lock files, so neither may ever change.

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
	/** The checksum in hex, as `sha256sum` prints it. */
	sha256: z.string(),
	/** The checksum in the form of npm's lock files. */
	integrity: z.string(),
});
export type Download = z.infer<typeof DOWNLOAD>;

/** The versions, newest first. */
export const DOWNLOADS: readonly [Download, ...Download[]] = z
	.tuple([DOWNLOAD], DOWNLOAD)
	.parse(JSON.parse(readShippedFile(`${FOLDER}/versions.json`)));

/** Returns the address for `npm install` and `npx -p`. */
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
