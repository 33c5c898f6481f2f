// Reads the files that ship with the product (styles, scripts, examples, the guide, the shop's package) by their path
// in the repository. If the sources run unbuilt, the files are on the disk. Otherwise they are inside the executable
// that `npm run release` builds.

import { existsSync, readFileSync } from "node:fs";
import { getAsset, getAssetKeys, isSea } from "node:sea";

/** True if this program is the single executable, which has no repository beside it. */
export const isExecutable = isSea();

/** Command to type in the folder where the service runs. */
export const OWN_COMMAND = isExecutable ? "ringback" : "npx --no-install ringback";

const ROOT = new URL("../", import.meta.url);

/**
 * Returns the text of a shipped file. The path must be listed in release/shipped-files.ts, because otherwise the
 * executable does not contain the file.
 */
export function readShippedFile(path: string): string {
	return isExecutable ? getAsset(path, "utf8") : readFileSync(new URL(path, ROOT), "utf8");
}

export function hasShippedFile(path: string): boolean {
	return isExecutable ? getAssetKeys().includes(path) : existsSync(new URL(path, ROOT));
}

export function readShippedBytes(path: string): Uint8Array<ArrayBuffer> {
	return isExecutable ? new Uint8Array(getAsset(path)) : new Uint8Array(readFileSync(new URL(path, ROOT)));
}
