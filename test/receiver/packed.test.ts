// Tests the published tarball: its content and its types.

import { deepEqual, match, ok, throws } from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { publint } from "publint";
import { packReceiver } from "../../receiver/pack.ts";
import { describePacked, listPacked, storePacked } from "../../receiver/packed-version.ts";
import { currentPackage, installPackage, RELEASED_FOLDER } from "../support/packed-package.ts";
import { runProgram } from "../support/run-program.ts";
import { checkTypes, NODE_TYPES } from "./check-types.ts";
import { ENTRIES_CONSUMER, NODE_CONSUMER, WEB_CONSUMER } from "./consumer-programs.ts";
import { readTypedPrograms } from "./readme-programs.ts";

/**
 * Maximum unpacked size, one and a half times that of the package. A larger package contains something by
 * mistake.
 */
const LARGEST_UNPACKED_BYTES = 900_000;

/** Exports that a shop uses, with a function of each. */
const ENTRIES = {
	"": "createReceiver",
	"/express": "createExpressReceiver",
	"/fastify": "createFastifyReceiver",
	"/hono": "createHonoReceiver",
	"/next": "createNextReceiver",
	"/node": "createNodeReceiver",
	"/outbox": "createOutbox",
	"/durable": "createDurableReceiver",
	"/sqlite": "openSqliteStore",
	"/postgres": "openPostgresStore",
	"/click": "keepClick",
	"/reconcile": "reconcile",
	"/testing": "createFakeService",
} as const;

let folder: string;
let installed: string;

before(async () => {
	folder = mkdtempSync(join(tmpdir(), "ringback-consumer-"));
	await installPackage(folder);
	installed = join(folder, "node_modules/@ringback/receiver");
});

after(() => {
	rmSync(folder, { recursive: true });
});

test("the served package file is byte for byte what the sources produce: `npm run pack:receiver` has been run", () => {
	const { version, tarball } = packReceiver();
	const { path, ...current } = currentPackage();
	deepEqual(current, version, "run npm run pack:receiver");
	ok(readFileSync(path).equals(tarball));
});

test("a version that was released can be packed again only with the same content, and stays", () => {
	const home = mkdtempSync(join(folder, "home-"));
	const pack = (text: string) => describePacked("library", "1.0.0", Buffer.from(text));
	const released = [{ version: pack("one").version, path: join(home, "downloads/library-1.0.0.tgz") }];
	storePacked(home, pack("draft"), { isRelease: false });
	deepEqual(listPacked(home), [
		{ version: pack("draft").version, path: join(home, "packed/library-1.0.0.tgz") },
	]);
	storePacked(home, pack("one"), { isRelease: true });
	deepEqual(listPacked(home), released, "the draft is gone");
	for (const isRelease of [false, true]) {
		storePacked(home, pack("one"), { isRelease });
		throws(() => storePacked(home, pack("two"), { isRelease }), /it needs a new version/);
	}
	deepEqual(listPacked(home), released);
	const next = describePacked("library", "1.0.1", Buffer.from("two")).version;
	storePacked(home, describePacked("library", "1.0.1", Buffer.from("two")), { isRelease: true });
	deepEqual(listPacked(home), [
		{ version: next, path: join(home, "downloads/library-1.0.1.tgz") },
		...released,
	]);
});

test("every released version of the packages is still there, unchanged", () => {
	for (const downloads of [RELEASED_FOLDER, join(RELEASED_FOLDER, "../../integrations/vendure/downloads")]) {
		const released = listPacked(join(downloads, "..")).filter(({ path }) => path.startsWith(downloads));
		for (const { version, path } of released) {
			const name = version.file.replace(`-${version.version}.tgz`, "");
			deepEqual(describePacked(name, version.version, readFileSync(path)).version, version);
		}
		deepEqual(
			globSync("*.tgz", { cwd: downloads }).sort(),
			released.map(({ version }) => version.file).sort(),
		);
	}
});

test("npm and other programs can read the package", async () => {
	const listed = await runProgram("tar", ["-tvzf", currentPackage().path], folder);
	const names = listed.trimEnd().split("\n");
	ok(names.length > 40, listed);
	for (const line of names) match(line, /^-rw-r--r-- 0\/0 +\d+ 1985-10-26 .* package\/[\w./-]+$/);
});

test("the installed package contains no dependency, no test and no source", () => {
	deepEqual(
		globSync("*", { cwd: join(folder, "node_modules") }).filter((name) => !name.startsWith(".")),
		["@ringback"],
	);
	const files = globSync("**/*.*", { cwd: installed });
	const known = /^(?:(?:cjs\/)?package\.json|vectors\.json|README\.md|[\w/-]+\.(?:js|d\.ts))$/;
	deepEqual(
		files.filter((name) => !known.test(name) || /\btest\b|sample|failing/.test(name)),
		[],
	);
	ok(globSync("LICENSE", { cwd: installed }).length === 1);
	const { dependencies, private: isPrivate } = JSON.parse(
		readFileSync(join(installed, "package.json"), "utf8"),
	);
	deepEqual([dependencies, isPrivate], [undefined, undefined]);
	const bytes = files.reduce((sum, name) => sum + readFileSync(join(installed, name)).length, 0);
	ok(bytes < LARGEST_UNPACKED_BYTES, `${bytes} bytes`);
});

test("publint finds no problem in the package", async () => {
	const { messages } = await publint({ pkgDir: installed, strict: true, pack: false });
	deepEqual(messages, []);
});

test("every export can be imported and required, and a module and its CommonJS form have the same names", async () => {
	const names = Object.keys(ENTRIES).map((entry) => `@ringback/receiver${entry}`);
	const program = `
		import { createRequire } from "node:module";
		const require = createRequire(import.meta.url);
		const found = [];
		for (const name of ${JSON.stringify(names)}) {
			const imported = Object.keys(await import(name)).sort();
			const required = Object.keys(require(name)).sort();
			found.push([imported.join(), required.join()]);
		}
		console.log(JSON.stringify(found));`;
	writeFileSync(join(folder, "entries.mjs"), program);
	const found = JSON.parse(await runProgram(process.execPath, ["entries.mjs"], folder));
	for (const [index, name] of Object.values(ENTRIES).entries()) {
		const [imported, required] = found[index];
		deepEqual(required, imported, `${names[index]}`);
		ok(imported.split(",").includes(name), `${names[index]} has ${imported}`);
	}
});

test("a program that only receives callbacks loads none of the other parts", async () => {
	const program = `
		import { registerHooks } from "node:module";
		const loaded = [];
		registerHooks({
			load(url, context, next) {
				loaded.push(url);
				return next(url, context);
			},
		});
		await import("@ringback/receiver");
		await import("@ringback/receiver/express");
		console.log(loaded.filter((url) => /outbox|durable|stores|click|reconcile|testing|command/.test(url)).join());`;
	writeFileSync(join(folder, "loads.mjs"), program);
	deepEqual(await runProgram(process.execPath, ["loads.mjs"], folder), "\n");
});

test("an older TypeScript, which does not read exports, finds the types of every entry", () => {
	const { main, types, typesVersions, exports } = JSON.parse(
		readFileSync(join(installed, "package.json"), "utf8"),
	);
	const mapped: Record<string, string[]> = { "": [types], ...typesVersions["*"] };
	deepEqual(
		Object.keys(mapped),
		Object.keys(ENTRIES).map((entry) => entry.slice(1)),
	);
	deepEqual(main, exports["."].require.default);
	for (const [name, [path = ""] = []] of Object.entries(mapped)) {
		ok(globSync(path, { cwd: installed }).length === 1, `${name}: ${path}`);
		deepEqual(path, exports[name === "" ? "." : `./${name}`].require.types);
	}
});

for (const [module, moduleResolution, files] of [
	["nodenext", "nodenext", ["entries.cts"]],
	["node16", "node16", ["entries.cts", "entries.mts"]],
	["commonjs", "bundler", ["entries.ts"]],
] as const) {
	test(`a program in strict TypeScript has the types of every entry with module ${module}`, async () => {
		const lib = ["es2022"];
		const options = { module, moduleResolution, lib, typeRoots: [NODE_TYPES], types: ["node"] };
		const programs = Object.fromEntries(files.map((name) => [name, ENTRIES_CONSUMER]));
		await checkTypes(folder, programs, options);
	});
}

for (const [module, moduleResolution] of [
	["nodenext", "nodenext"],
	["esnext", "bundler"],
] as const) {
	test(`a web program in strict TypeScript has its types with ${moduleResolution} and without Node's`, async () => {
		const lib = ["es2022", "dom", "dom.iterable"];
		await checkTypes(folder, { "web.ts": WEB_CONSUMER }, { module, moduleResolution, lib });
	});

	test(`a Node program in strict TypeScript has its types with ${moduleResolution} and without the DOM's`, async () => {
		const typeRoots = [NODE_TYPES];
		const options = { module, moduleResolution, lib: ["es2022"], typeRoots, types: ["node"] };
		await checkTypes(folder, { "node.ts": NODE_CONSUMER }, { ...options, resolveJsonModule: true });
	});
}

test("the programs of the README and the examples are strict TypeScript", async () => {
	const programs = readTypedPrograms();
	deepEqual(Object.keys(programs), ["readme-0.ts", "readme-1.ts", "readme-2.ts", "readme-3.ts", "sender.ts"]);
	const settings = { typeRoots: [NODE_TYPES], types: ["node"], lib: ["es2022"] };
	const modules = { module: "nodenext", moduleResolution: "nodenext" };
	// `strict` as a shop has it, without stricter options.
	const usual = { noUncheckedIndexedAccess: false, noPropertyAccessFromIndexSignature: false };
	await checkTypes(folder, programs, { ...settings, ...modules, ...usual });
});
