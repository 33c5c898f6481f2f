// Provides the receiver package as a shop gets it, installed by npm from the file that the service serves.

import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { storeReceiver } from "../../receiver/pack.ts";
import receiverPackage from "../../receiver/package.json" with { type: "json" };
import { listPacked, type PackedVersion } from "../../receiver/packed-version.ts";
import { runProgram } from "./run-program.ts";

const HOME = fileURLToPath(new URL("../../receiver/", import.meta.url));
const SOURCES = ["LICENSE", "package-lock.json", "receiver/**/*.{json,md,ts}"];
/** Path of the file with the hash of the sources from which the package was last packed. */
const STAMP = join(HOME, "packed/sources.sha256");

export const RELEASED_FOLDER = join(HOME, "downloads");

/** Packs the library if its sources have changed since the last test run. */
export function packIfChanged(): void {
	const root = join(HOME, "..");
	const paths = globSync(SOURCES, { cwd: root, exclude: ["receiver/{downloads,packed}/**"] }).sort();
	const hash = createHash("sha256");
	for (const path of paths) hash.update(path).update(readFileSync(join(root, path)));
	const sources = hash.digest("hex");
	if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === sources) return;
	storeReceiver();
	if (existsSync(dirname(STAMP))) writeFileSync(STAMP, sources);
}

/** Returns the current version of the package with the path of its file. */
export function currentPackage(): PackedVersion & { path: string } {
	const [found] = listPacked(HOME).filter(({ version }) => version.version === receiverPackage.version);
	if (found === undefined) throw new Error("nothing is packed: run npm run pack:receiver");
	return { ...found.version, path: found.path };
}

/** npm options that suppress extra requests to a registry and all messages that are not errors. */
export const QUIETLY: readonly string[] = [
	"--loglevel=error",
	"--no-audit",
	"--no-fund",
	"--no-update-notifier",
];

/**
 * Creates the folder and installs the current version of the package into it. No registry is needed, because
 * the package has no dependencies.
 */
export async function installPackage(folder: string): Promise<void> {
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
	await runProgram("npm", ["install", ...QUIETLY, "--offline", currentPackage().path], folder);
}
