// Node itself, for the machine that the executable is for: the package of the lock file, from node_modules where npm
// has put it there, and otherwise from npm, checked against the hash of the lock file.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
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
/** Some 60 MB. */
const DOWNLOAD_LIMIT_MS = 600_000;

/** `unpackFolder` is for this release alone; the tarball itself is kept in node_modules for the next one. */
export async function openNodePackage(
	{ root, lock, unpackFolder }: { root: string; lock: LockFile; unpackFolder: string },
	arch: Architecture,
): Promise<NodePackage> {
	const locked = lockedAt(lock, `node_modules/node-linux-${arch}`);
	const installed = join(root, locked.path);
	const folder = existsSync(join(installed, "bin/node"))
		? installed
		: await unpack(await fetchTarball(root, locked, arch), join(unpackFolder, locked.name));
	const licenceText = readFileSync(join(folder, "LICENSE"), "utf8");
	return { ...locked, arch, binary: join(folder, "bin/node"), licenceText };
}

async function fetchTarball(root: string, locked: LockedPackage, arch: Architecture): Promise<string> {
	const { name, version, integrity } = locked;
	const kept = join(root, "node_modules/.cache/ringback-release");
	const tarball = join(kept, `${name}-${version}.tgz`);
	if (existsSync(tarball) && hashOf(tarball) === integrity) return tarball;
	const arriving = join(kept, `arriving-${process.pid}`);
	mkdirSync(arriving, { recursive: true });
	try {
		await packWithNpm(`${name}@${version}`, arriving, root);
		const arrived = join(arriving, `${name}-${version}.tgz`);
		if (hashOf(arrived) !== integrity)
			throw new Error(
				`What npm sent for ${name} ${version} is not what package-lock.json names. Do not use it; find out which of the two is wrong.`,
			);
		renameSync(arrived, tarball);
		return tarball;
	} catch (error) {
		if (!(error instanceof NotReached)) throw error;
		throw new Error(
			`Node for Linux on ${arch} is not on this machine and could not be fetched from npm (${error.message}). Try again with a network, or build for this machine alone: npm run release -- --arch ${process.arch}`,
		);
	} finally {
		rmSync(arriving, { recursive: true, force: true });
	}
}

class NotReached extends Error {}

async function packWithNpm(what: string, folder: string, cwd: string): Promise<void> {
	const args = ["pack", what, "--loglevel=error", "--no-update-notifier", "--pack-destination", folder];
	try {
		await run("npm", args, { cwd, timeout: DOWNLOAD_LIMIT_MS });
	} catch (error) {
		const said = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
		const [line = "npm failed"] = said.split("\n").filter((each) => /\S/.test(each));
		throw new NotReached(line.trim());
	}
}

function hashOf(file: string): string {
	return `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
}

async function unpack(tarball: string, folder: string): Promise<string> {
	mkdirSync(folder, { recursive: true });
	const wanted = ["package/bin/node", "package/LICENSE"];
	await run("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1", ...wanted]);
	return folder;
}
