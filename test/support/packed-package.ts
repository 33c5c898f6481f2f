// The receiver package as a shop gets it, installed by npm from the file that the service serves.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PackedVersion } from "../../receiver/packed-version.ts";
import { runProgram } from "./run-program.ts";

export const DOWNLOADS = fileURLToPath(new URL("../../receiver/downloads/", import.meta.url));

/** All packed versions, the newest first. */
export const PACKED_VERSIONS: readonly PackedVersion[] = JSON.parse(
	readFileSync(join(DOWNLOADS, "versions.json"), "utf8"),
);

/** npm options that suppress extra requests to a registry and all messages that are not errors. */
export const QUIETLY: readonly string[] = [
	"--loglevel=error",
	"--no-audit",
	"--no-fund",
	"--no-update-notifier",
];

export function tarballPath({ file }: PackedVersion): string {
	return join(DOWNLOADS, file);
}

/**
 * Creates the folder and installs the current version of the package into it. No registry is needed, because
 * the package has no dependencies.
 */
export async function installPackage(folder: string): Promise<void> {
	const [present] = PACKED_VERSIONS;
	if (present === undefined) throw new Error("nothing is packed: run npm run pack:receiver");
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
	await runProgram("npm", ["install", ...QUIETLY, "--offline", tarballPath(present)], folder);
}
