// Tests the published tarball: its content and its types.

import { deepEqual, match, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { publint } from "publint";
import { packReceiver } from "../../receiver/pack.ts";
import { listSources, VENDURE_DOWNLOADS } from "../../receiver/pack-vendure.ts";
import { DOWNLOADS, installPackage, PACKED_VERSIONS, tarballPath } from "../support/packed-package.ts";
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
	const [present] = PACKED_VERSIONS;
	deepEqual(present, version, "run npm run pack:receiver");
	ok(readFileSync(tarballPath(version)).equals(tarball));
});

test("the served Vendure plugin has the present sources: `npm run pack:vendure` has been run", async () => {
	const [present] = JSON.parse(readFileSync(join(VENDURE_DOWNLOADS, "versions.json"), "utf8"));
	const unpacked = mkdtempSync(join(folder, "plugin-"));
	await runProgram("tar", ["-xzf", join(VENDURE_DOWNLOADS, present.file), "-C", unpacked], folder);
	const sources = listSources();
	for (const { path, bytes } of sources) {
		ok(readFileSync(join(unpacked, "package", path)).equals(bytes), `${path}: run npm run pack:vendure`);
	}
	const { main, types } = JSON.parse(readFileSync(join(unpacked, "package/package.json"), "utf8"));
	const compiled = sources.flatMap(({ path }) => {
		const [, name] = /^src\/(.+)\.ts$/.exec(path) ?? [];
		return name === undefined ? [] : [`dist/${name}.js`, `dist/${name}.d.ts`];
	});
	deepEqual(
		globSync("dist/*", { cwd: join(unpacked, "package") }).sort(),
		compiled.sort(),
		"each source is compiled",
	);
	ok(compiled.includes(main) && compiled.includes(types));
});

test("every version of the package that was ever served is still there, unchanged", () => {
	for (const known of PACKED_VERSIONS) {
		const bytes = readFileSync(tarballPath(known));
		const hash = (algorithm: string, encoding: "hex" | "base64") =>
			createHash(algorithm).update(bytes).digest(encoding);
		deepEqual(
			{ bytes: bytes.length, sha256: hash("sha256", "hex"), integrity: `sha512-${hash("sha512", "base64")}` },
			{ bytes: known.bytes, sha256: known.sha256, integrity: known.integrity },
			known.file,
		);
	}
	const files = globSync("*.tgz", { cwd: DOWNLOADS });
	deepEqual(files.sort(), PACKED_VERSIONS.map(({ file }) => file).sort());
});

test("npm and other programs can read the package", async () => {
	const [present] = PACKED_VERSIONS;
	ok(present);
	const listed = await runProgram("tar", ["-tvzf", tarballPath(present)], folder);
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
