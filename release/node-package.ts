// Finds the Node binary for the architecture of the executable. It uses the package in node_modules if npm
// installed it. Otherwise it downloads the package with npm and checks it against the hash in the lock file.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type LockedPackage, type LockFile, lockedAt } from "./lock-file.ts";

export const ARCHITECTURES = ["x64", "arm64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

export interface NodePackage extends LockedPackage {
	arch: Architecture;
	binary: string;
	licenceText: string;
}

const run = promisify(execFile);
/** Time limit for a download of about 60 MB. */
const DOWNLOAD_LIMIT_MS = 600_000;

interface Sources {
	root: string;
	lock: LockFile;
	/** Folder for a downloaded package. It is removed with the other temporary files of the release. */
	unpackFolder: string;
}

export async function openNodePackage(sources: Sources, arch: Architecture): Promise<NodePackage> {
	const { root, lock, unpackFolder } = sources;
	const locked = lockedAt(lock, `node_modules/node-linux-${arch}`);
	const installed = join(root, locked.path);
	const folder = existsSync(join(installed, "bin/node"))
		? installed
		: await unpack(await fetchTarball(sources, locked, arch), join(unpackFolder, locked.name));
	const licenceText = readFileSync(join(folder, "LICENSE"), "utf8");
	return { ...locked, arch, binary: join(folder, "bin/node"), licenceText };
}

/** Downloads the tarball with npm, which uses its cache. */
async function fetchTarball(
	{ root, unpackFolder }: Sources,
	{ name, version, integrity }: LockedPackage,
	arch: Architecture,
): Promise<string> {
	await packWithNpm(`${name}@${version}`, unpackFolder, root).catch((error: unknown) => {
		throw new Error(
			`Node for Linux on ${arch} is not on this machine and could not be fetched from npm (${firstLineOf(error)}). Try again with a network, or build for this machine alone: npm run release -- --arch ${process.arch}`,
		);
	});
	const tarball = join(unpackFolder, `${name}-${version}.tgz`);
	const hash = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
	if (hash === integrity) return tarball;
	throw new Error(
		`What npm sent for ${name} ${version} is not what package-lock.json names. Do not use it; find out which of the two is wrong.`,
	);
}

async function packWithNpm(what: string, folder: string, cwd: string): Promise<void> {
	const quietly = ["--loglevel=error", "--no-update-notifier"];
	const args = ["pack", what, ...quietly, "--prefer-offline", "--pack-destination", folder];
	await run("npm", args, { cwd, timeout: DOWNLOAD_LIMIT_MS });
}

/** Returns the first line of npm's error message, if there is one. */
function firstLineOf(error: unknown): string {
	const said = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
	return said.split("\n").find((line) => /\S/.test(line)) ?? "npm failed";
}

async function unpack(tarball: string, folder: string): Promise<string> {
	mkdirSync(folder, { recursive: true });
	const wanted = ["package/bin/node", "package/LICENSE"];
	await run("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1", ...wanted]);
	return folder;
}
