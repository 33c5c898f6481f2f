// Reads the files that ship with the product (styles, scripts, examples, the guide, the shop's package) by
// their path in the repository. When the sources run unbuilt they are on the disk, otherwise inside the
// executable that `npm run release` builds.

import { existsSync, readFileSync } from "node:fs";
import { getAsset, getAssetKeys, isSea } from "node:sea";

/** True if this program is the single executable, without a repository beside it. */
export const isExecutable = isSea();

/** The command to type in the folder where the service runs. */
export const OWN_COMMAND = isExecutable ? "ringback" : "npx --no-install ringback";

const ROOT = new URL("../", import.meta.url);

/**
 * Returns the text of a shipped file. The path must be listed in release/shipped-files.ts, or the executable
 * does not contain it.
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
