// A package file that shops install, with its checksums. The service serves the files of released versions and, if it was
// packed, the version that is not released yet.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** An entry of the list of versions. */
export type PackedVersion = {
	readonly version: string;
	readonly file: string;
	readonly bytes: number;
	/** Checksum in hexadecimal, as `sha256sum` prints it. */
	readonly sha256: string;
	/** Checksum as npm writes it into lock files. */
	readonly integrity: string;
};

export type Packed = { readonly version: PackedVersion; readonly tarball: Buffer };

/** Describes a package file. `name` is its file name without the version. */
export function describePacked(name: string, version: string, tarball: Buffer): Packed {
	const hash = (algorithm: string) => createHash(algorithm).update(tarball);
	return {
		version: {
			version,
			file: `${name}-${version}.tgz`,
			bytes: tarball.length,
			sha256: hash("sha256").digest("hex"),
			integrity: `sha512-${hash("sha512").digest("base64")}`,
		},
		tarball,
	};
}

/** Folder of released versions, which is in git. Their files never change, because shops' lock files contain their checksums. */
const RELEASED = "downloads";
/** Folder of a version that is not released yet. It is not in git, because it changes with the sources. */
const UNRELEASED = "packed";
const LIST = "versions.json";

/** Returns the versions below the folder of a package with the path of each, the newest first. */
export function listPacked(home: string): { version: PackedVersion; path: string }[] {
	return [UNRELEASED, RELEASED].flatMap((name) =>
		readList(join(home, name)).map((version) => ({ version, path: join(home, name, version.file) })),
	);
}

/**
 * Writes the package file of the current version and its checksums below the folder of the package. Throws if this
 * version was released and its content was different.
 */
export function storePacked(
	home: string,
	{ version, tarball }: Packed,
	{ isRelease }: { isRelease: boolean },
): void {
	const released = readList(join(home, RELEASED));
	const before = released.find((other) => other.version === version.version);
	if (before === undefined) {
		write(join(home, isRelease ? RELEASED : UNRELEASED), tarball, [version, ...(isRelease ? released : [])]);
	} else if (before.sha256 !== version.sha256) {
		throw new Error(`${version.file} was released with other content, so it needs a new version.`);
	}
	if (before !== undefined || isRelease) rmSync(join(home, UNRELEASED), { recursive: true, force: true });
	console.log(`${version.file}: ${version.bytes} bytes, SHA-256 ${version.sha256}`);
}

function readList(folder: string): PackedVersion[] {
	const list = join(folder, LIST);
	return existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : [];
}

/** Writes the newest version and the list. */
function write(
	folder: string,
	tarball: Buffer,
	versions: readonly [PackedVersion, ...PackedVersion[]],
): void {
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, versions[0].file), tarball);
	writeFileSync(join(folder, LIST), `${JSON.stringify(versions, null, "\t")}\n`);
}
