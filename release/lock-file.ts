// Reads package-lock.json: versions, tarball hashes, and which package needs which.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

export interface LockedPackage {
	/** Path of the package in the repository, such as "node_modules/a/node_modules/@scope/b". */
	path: string;
	name: string;
	version: string;
	/** Hash of the tarball as npm writes it: "sha512-" and base64. */
	integrity: string;
	/** Names of the packages that the package requires, without optional ones. */
	needs: readonly string[];
}

const lockSchema = z.object({
	packages: z.record(
		z.string(),
		z.object({
			version: z.string().optional(),
			integrity: z.string().optional(),
			dependencies: z.record(z.string(), z.string()).default({}),
		}),
	),
});

export type LockFile = ReadonlyMap<string, LockedPackage>;

/** Returns the packages by path. The repository's own packages are left out, because they have no tarball. */
export function readLockFile(root: string): LockFile {
	const { packages } = lockSchema.parse(JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")));
	return new Map(
		Object.entries(packages).flatMap(([path, { version, integrity, dependencies }]) => {
			if (version === undefined || integrity === undefined) return [];
			const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
			return [[path, { path, name, version, integrity, needs: Object.keys(dependencies) }] as const];
		}),
	);
}

export function lockedAt(lock: LockFile, path: string): LockedPackage {
	const found = lock.get(path);
	if (found === undefined) throw new Error(`${path} is not in package-lock.json: run "npm ci".`);
	return found;
}

/** Returns the path in the lock file of the package that contains a file, or null for our own files. */
export function packagePathOf(file: string): string | null {
	const inside = file.indexOf("node_modules/");
	if (inside === -1) return null;
	const [found] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file.slice(inside)) ?? [];
	return found ?? null;
}

/** Finds a required package as Node does, in the nearest node_modules folder upwards. */
export function resolvePackage(lock: LockFile, from: string, name: string): string | null {
	for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
		const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
		if (lock.has(path)) return path;
		if (folder === "") return null;
	}
}
