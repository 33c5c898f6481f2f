// Builds the Debian package, which contains an executable, a systemd unit, settings and an account. dpkg-deb
// produces the same bytes every time.

import { execFile, spawnSync } from "node:child_process";
import {
	chmodSync,
	copyFileSync,
	globSync,
	mkdirSync,
	readFileSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { GUIDE_PARTS, GUIDE_START } from "../src/operations-guide.ts";
import { MAINTAINER, writeControlPage, writeDebianChangelog, writeManualPage } from "./debian-documents.ts";
import type { Architecture } from "./node-package.ts";

const OURS = fileURLToPath(new URL("debian/", import.meta.url));
const DEBIAN_NAMES: Readonly<Record<Architecture, string>> = { x64: "amd64", arm64: "arm64" };
/** Modification time of all files, the first day of 1980. The real time would make every build different. */
const MADE_AT_SECONDS = 315_532_800;
const UNITS = ["ringback.service", "ringback-backup.service", "ringback-backup.timer"];
/** Sample files of ops/, which an operator can then copy without cloning the repository. */
const SAMPLES = "{container,grafana,prometheus,proxy}/*";
const MAINTAINER_SCRIPTS = ["postinst", "prerm", "postrm"];
const PROGRAM = 0o755;
const FILE = 0o644;
const SECRET = 0o640;

export interface DebianParts {
	root: string;
	version: string;
	arch: Architecture;
	executable: string;
	licences: string;
	/** Folder into which the finished package is written. */
	folder: string;
	/** Empty folder that only this build uses. */
	workFolder: string;
}

export function debianName(version: string, arch: Architecture): string {
	return `ringback_${version}_${DEBIAN_NAMES[arch]}.deb`;
}

/** Returns true if dpkg-deb is installed, as on Debian and its derivatives. */
export function canMakeDebianPackages(): boolean {
	return spawnSync("dpkg-deb", ["--version"]).status === 0;
}

export async function makeDebianPackage(parts: DebianParts): Promise<string> {
	const { root, version, arch, executable, licences, folder, workFolder } = parts;
	const put = (path: string, content: string | Uint8Array, mode: number): void => {
		const file = join(workFolder, path);
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, content);
		chmodSync(file, mode);
	};
	const ours = (name: string): string => readFileSync(join(OURS, name), "utf8");
	const document = (name: string): string => `usr/share/doc/ringback/${name}`;
	mkdirSync(join(workFolder, "usr/bin"), { recursive: true });
	copyFileSync(executable, join(workFolder, "usr/bin/ringback"));
	chmodSync(join(workFolder, "usr/bin/ringback"), PROGRAM);
	put("usr/sbin/ringbackctl", ours("ringbackctl"), PROGRAM);
	for (const name of UNITS) put(`usr/lib/systemd/system/${name}`, ours(name), FILE);
	put("etc/ringback/ringback.env", ours("ringback.env"), SECRET);
	for (const { file } of [GUIDE_START, ...GUIDE_PARTS]) {
		put(document(file.replace("docs/", "")), readFileSync(join(root, file)), FILE);
	}
	for (const path of globSync(SAMPLES, { cwd: join(root, "ops") }).sort()) {
		put(document(`examples/${path}`), readFileSync(join(root, "ops", path)), FILE);
	}
	put(document("copyright"), licences, FILE);
	const putPacked = (path: string, text: string): void =>
		put(`${path}.gz`, gzipSync(text, { level: 9 }), FILE);
	const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
	putPacked(document("CHANGELOG.md"), changelog);
	putPacked(
		document("changelog"),
		writeDebianChangelog(changelog, version, new Date(MADE_AT_SECONDS * 1000)),
	);
	putPacked("usr/share/man/man1/ringback.1", await writeManualPage(version));
	putPacked("usr/share/man/man8/ringbackctl.8", writeControlPage(version));
	put("DEBIAN/conffiles", "/etc/ringback/ringback.env\n", FILE);
	for (const name of MAINTAINER_SCRIPTS) put(`DEBIAN/${name}`, ours(name), PROGRAM);
	put("DEBIAN/control", describeToDebian(version, arch, installedKilobytes(workFolder)), FILE);
	settle(workFolder);
	const name = debianName(version, arch);
	// gzip is used, because every dpkg can read it and it takes seconds. xz would save a quarter of the size
	// but take a minute.
	const args = ["--root-owner-group", "-Zgzip", "-z6", "--build", workFolder, join(folder, name)];
	const env = { ...process.env, SOURCE_DATE_EPOCH: String(MADE_AT_SECONDS) };
	await promisify(execFile)("dpkg-deb", args, { env });
	return name;
}

/**
 * Returns the control file of the package. Node needs libatomic and libstdc++, and the install scripts need
 * adduser and the systemd helpers.
 */
function describeToDebian(version: string, arch: Architecture, kilobytes: number): string {
	return `Package: ringback
Version: ${version}
Architecture: ${DEBIAN_NAMES[arch]}
Maintainer: ${MAINTAINER}
Installed-Size: ${kilobytes}
Depends: adduser, init-system-helpers, libatomic1, libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8)
Recommends: systemd
Section: web
Priority: optional
Description: conversion tracking for affiliate networks
 Follows every conversion from record to approval, rejection or reversal, and
 tells the shop of each status change by a signed HTTPS callback that is
 retried for a day and a half and logged attempt by attempt.
`;
}

function installedKilobytes(folder: string): number {
	const files = globSync("{usr,etc}/**/*", { cwd: folder }).map((path) => statSync(join(folder, path)));
	return files.reduce((sum, stats) => sum + (stats.isFile() ? Math.ceil(stats.size / 1024) : 1), 0);
}

/**
 * Sets all times and permissions to fixed values, so that the package does not depend on the time and the
 * umask of the build.
 */
function settle(folder: string): void {
	for (const path of ["", ...globSync("**/*", { cwd: folder })]) {
		const file = join(folder, path);
		if (statSync(file).isDirectory()) chmodSync(file, PROGRAM);
		utimesSync(file, MADE_AT_SECONDS, MADE_AT_SECONDS);
	}
}
