// Lists the packages that shops install from the network: the library @ringback/receiver and the plugin for Vendure.
// Every released version keeps its address. Shops have the address and the hash in their lock files, so neither may
// ever change.

import type { Env, Hono } from "hono";
import { z } from "zod";
import packageJson from "../../../package.json" with { type: "json" };
import { hasShippedFile, readShippedBytes, readShippedFile } from "../../shipped-files.ts";
import { CACHED_FOR_EVER } from "./assets.ts";
import { DOWNLOADS_PATH } from "./paths.ts";

const VERSION = z.object({
	version: z.string(),
	file: z.string(),
	bytes: z.number(),
	/** SHA-256 of the file in hex, as `sha256sum` prints it. */
	sha256: z.string(),
	/** Checksum of the file in the form of npm's lock files. */
	integrity: z.string(),
});

export interface Download extends z.infer<typeof VERSION> {
	/** Path of the file in the repository or the executable. */
	path: string;
}

interface ShopPackage {
	/** File name of the current version. A clone may lack this file. */
	file: string;
	/** Versions that can be downloaded, newest first. */
	versions: readonly Download[];
	/** The current version, or undefined if it has not been packed. */
	current: Download | undefined;
	/** Sentence that says how a clone gets the current version. */
	howToPack: string;
}

export const LIBRARY = readPackage(
	"receiver",
	"ringback-receiver",
	"`npm ci` without `--omit=dev` packs it, because that needs a compiler.",
);
/** Packages that can be downloaded: the library and the plugin for Vendure. */
export const PACKAGES = [
	LIBRARY,
	readPackage(
		"integrations/vendure",
		"ringback-vendure-plugin",
		"`npm run pack:vendure` packs it, after `npm ci` in `integrations/vendure`.",
	),
];

/** Reads both lists of a package: the unreleased version, if it was packed, and the released versions. */
function readPackage(home: string, name: string, howToPack: string): ShopPackage {
	const versions = ["packed", "downloads"].flatMap((folder) => {
		const list = `${home}/${folder}/versions.json`;
		const listed = hasShippedFile(list) ? z.array(VERSION).parse(JSON.parse(readShippedFile(list))) : [];
		return listed.map((version) => ({ ...version, path: `${home}/${folder}/${version.file}` }));
	});
	const file = `${name}-${packageJson.version}.tgz`;
	return { file, versions, current: versions.find((version) => version.file === file), howToPack };
}

/**
 * Returns the address of a package file for `npm install` and `npx -p`. The default is the current version of the
 * library.
 */
export function downloadUrl(publicUrl: string, file = LIBRARY.file): string {
	return `${publicUrl}${DOWNLOADS_PATH}/${file}`;
}

/** Paths of the shipped package files, by their name. */
const FILES: ReadonlyMap<string, string> = new Map(
	PACKAGES.flatMap(({ versions }) => versions.map(({ file, path }) => [file, path] as const)),
);

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
