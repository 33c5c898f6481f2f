// Lists the files inside the executable, which src/shipped-files.ts reads by the same paths. If one of them
// is missing, the executable does not start, and its test fails. The documents are rendered here, so that they are those
// of the sources.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { renderPages } from "../docs/rendered-pages.ts";
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
	/** Text of LICENSES.txt. */
	licences: string;
}

/** Returns the sorted paths of the files that are read from the disk. */
export function listShippedFiles(root: string): string[] {
	const assets = globSync("src/core/web/assets/*.{css,js,svg}", { cwd: root });
	const downloads = globSync("{receiver,integrations/vendure}/{downloads,packed}/*", { cwd: root });
	const parts = [GUIDE_START, ...GUIDE_PARTS].map(({ file }) => file);
	return [...assets, ...downloads, ...parts, ...GUIDE_SAMPLES, ...OF_PACKAGES].sort();
}

/** Reads the files, including generated ones. The bytes are the same in every build. */
export function readShippedFiles({ root, licences }: ShippedFrom): ShippedFile[] {
	return [
		...listShippedFiles(root).map((path) => ({ path, bytes: readFileSync(join(root, path)) })),
		...[...renderPages()].map(([path, text]) => ({ path, bytes: Buffer.from(text) })),
		{ path: "LICENSES.txt", bytes: Buffer.from(licences) },
	];
}
