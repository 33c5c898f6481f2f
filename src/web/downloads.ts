// What a shop installs, from the network itself: @ringback/receiver in every version that was ever served, each under an
// address of its own. A shop's lock file names that address and the hash of what is there: neither may ever change.

import type { Env, Hono } from "hono";
import { z } from "zod";
import { readShippedBytes, readShippedFile } from "../shipped-files.ts";
import { KEPT_FOR_EVER } from "./assets.ts";
import { DOWNLOADS_PATH } from "./paths.ts";

const FOLDER = "receiver/downloads";

const DOWNLOAD = z.object({
	version: z.string(),
	file: z.string(),
	bytes: z.number(),
	/** Hex, as `sha256sum` prints it. */
	sha256: z.string(),
	/** As npm writes it into lock files. */
	integrity: z.string(),
});
export type Download = z.infer<typeof DOWNLOAD>;

/** The newest first. */
export const DOWNLOADS: readonly [Download, ...Download[]] = z
	.tuple([DOWNLOAD], DOWNLOAD)
	.parse(JSON.parse(readShippedFile(`${FOLDER}/versions.json`)));

/** What goes behind `npm install`, and behind `npx -p` for whoever does not install it. */
export function downloadUrl(publicUrl: string, { file }: Download = DOWNLOADS[0]): string {
	return `${publicUrl}${DOWNLOADS_PATH}/${file}`;
}

export function mountDownloads<AppEnv extends Env>(app: Hono<AppEnv>): void {
	app.get(`${DOWNLOADS_PATH}/:file`, (c) => {
		const download = DOWNLOADS.find(({ file }) => file === c.req.param("file"));
		if (download === undefined) return c.notFound();
		const { file } = download;
		return c.body(readShippedBytes(`${FOLDER}/${file}`), 200, {
			"cache-control": KEPT_FOR_EVER,
			"content-type": "application/gzip",
			"content-disposition": `attachment; filename="${file}"`,
		});
	});
}
