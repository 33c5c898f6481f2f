// The files that come with the product (style and scripts, examples, the guide), by their path in the repository: read
// from there when the sources run as they are, and from inside the executable where they were made into one.

import { readFileSync } from "node:fs";
import { getAsset, isSea } from "node:sea";

const ROOT = new URL("../", import.meta.url);

export function readShippedFile(path: string): string {
	return isSea() ? getAsset(path, "utf8") : readFileSync(new URL(path, ROOT), "utf8");
}
