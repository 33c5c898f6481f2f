// The files inside the executable, which src/shipped-files.ts reads by the same paths. One that is missing here is
// missing there: the executable does not start, and its test fails.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GUIDE_PARTS, GUIDE_SAMPLES, GUIDE_START } from "../src/operations-guide.ts";

export interface ShippedFile {
	path: string;
	bytes: Uint8Array;
}

const OF_PACKAGES = [
	"node_modules/htmx.org/dist/htmx.min.js",
	"node_modules/uplot/dist/uPlot.iife.min.js",
	"node_modules/uplot/dist/uPlot.min.css",
];

export interface ShippedFrom {
	root: string;
	/** What LICENSES.txt is to say. */
	licences: string;
}

/** Paths in the repository, sorted. */
export function listShippedFiles(root: string): string[] {
	const assets = globSync("src/web/assets/*.{css,js,svg}", { cwd: root });
	const downloads = globSync("receiver/downloads/*", { cwd: root });
	const parts = [GUIDE_START, ...GUIDE_PARTS].map(({ file }) => file);
	const rendered = globSync("docs/rendered/**/*.html", { cwd: root });
	return [...assets, ...rendered, ...downloads, ...parts, ...GUIDE_SAMPLES, ...OF_PACKAGES].sort();
}

/** With what the repository does not have; the same bytes every time. */
export function readShippedFiles({ root, licences }: ShippedFrom): ShippedFile[] {
	return [
		...listShippedFiles(root).map((path) => ({ path, bytes: readFileSync(join(root, path)) })),
		{ path: "LICENSES.txt", bytes: Buffer.from(licences) },
	];
}
