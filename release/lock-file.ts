// What package-lock.json says of the packages: version, hash of the tarball, and who needs whom.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

export interface LockedPackage {
	/** In the repository: "node_modules/a/node_modules/@scope/b". */
	path: string;
	name: string;
	version: string;
	/** Of the tarball, as npm writes it: "sha512-" and base64. */
	integrity: string;
	/** Names, without those that npm may leave out. */
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

/** By path; without the repository's own packages, which have no tarball. */
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

/** The package that a file belongs to: its path in the lock file, or null for a file of our own. */
export function packagePathOf(file: string): string | null {
	const inside = file.indexOf("node_modules/");
	if (inside === -1) return null;
	const [found] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file.slice(inside)) ?? [];
	return found ?? null;
}

/** Where Node finds what a package needs: the nearest folder upwards that has it. */
export function resolveNeed(lock: LockFile, from: string, name: string): string | null {
	for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
		const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
		if (lock.has(path)) return path;
		if (folder === "") return null;
	}
}
