// The files that come with the product (style and scripts, examples, the guide, what shops install), by their path in the
// repository: read from there when the sources run as they are, and from inside the executable that `npm run release`
// makes of them.

import { readFileSync } from "node:fs";
import { getAsset, isSea } from "node:sea";

/** Everything in one file; nothing of the repository is beside it. */
export const isExecutable = isSea();

/** For whoever stands where it runs, without saying where that is. */
export const OWN_COMMAND = isExecutable ? "ringback" : "npx --no-install ringback";

const ROOT = new URL("../", import.meta.url);

/** What is asked for must be in the list of release/shipped-files.ts, or the executable does not have it. */
export function readShippedFile(path: string): string {
	return isExecutable ? getAsset(path, "utf8") : readFileSync(new URL(path, ROOT), "utf8");
}

export function readShippedBytes(path: string): Uint8Array<ArrayBuffer> {
	return isExecutable ? new Uint8Array(getAsset(path)) : new Uint8Array(readFileSync(new URL(path, ROOT)));
}
