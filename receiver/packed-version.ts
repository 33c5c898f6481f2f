// A package file that shops install, with its checksums. The service serves the files of a folder and the list of
// versions in it. Files of other versions never change, because shops' lock files contain their checksums.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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

/** Writes the package file into the folder and its checksums into the folder's list of versions. */
export function storePacked(folder: string, { version, tarball }: Packed): void {
	const list = join(folder, "versions.json");
	mkdirSync(folder, { recursive: true });
	const listed: PackedVersion[] = existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : [];
	const others = listed.filter((other) => other.version !== version.version);
	writeFileSync(join(folder, version.file), tarball);
	writeFileSync(list, `${JSON.stringify([version, ...others], null, "\t")}\n`);
	console.log(`${version.file}: ${version.bytes} bytes, SHA-256 ${version.sha256}`);
}
