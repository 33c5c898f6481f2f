// `npm run check:imports` checks which folder may import which, and that there are no import cycles. Biome checks where
// clocks, randomness and sockets may appear (biome.json), but it knows nothing of folders, and its own rule against
// cycles takes six seconds even for a single file.
//
// There are two rules. A layer imports only the layers below it, and the folders of the core and of each module are named
// after the layers. And the core imports no module, while a module imports only the core and the modules before it in the
// list. import-exceptions.ts has the files that still break the second rule.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { EXCEPTIONS } from "./import-exceptions.ts";

/** The folders of the core with use cases. Those of a module are in its folder `use-cases`. */
const CORE_USE_CASES = ["conversions", "callbacks", "mail", "people", "programmes", "signature-check"];
/** The layers that every layer but `domain` may import. */
const BASE = ["domain", "ports", "concurrency"];
const BELOW_THE_EDGE = [...BASE, "store", ...CORE_USE_CASES, "use-cases", "watch"];
const GUIDES = ["shipped-files", "operations-guide"];

/** The layers that each layer may import besides itself. Only the service (service.ts and service/) imports `outside`. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
	// The core and the modules.
	domain: [],
	ports: ["domain"],
	store: [...BASE],
	callbacks: [...BASE, "store"],
	"signature-check": [...BASE, "store"],
	// A mail about callbacks says why they fail in the words of the page.
	mail: [...BASE, "store", "callbacks"],
	people: [...BASE, "store", "mail"],
	// A person who decides on a page needs the right to do so.
	conversions: [...BASE, "store", "people"],
	programmes: [...BASE, "store", "mail", "people", "conversions"],
	"use-cases": [...BASE, "store", ...CORE_USE_CASES],
	"request-notes": ["ports"],
	api: [...BELOW_THE_EDGE, "request-notes"],
	web: [...BELOW_THE_EDGE, "request-notes", "package.json", ...GUIDES],
	// A module's own file module.ts and the type that it has. The same for site.ts.
	module: [...BASE, "store", ...CORE_USE_CASES, "use-cases", "watch"],
	site: [...BASE, "api", "web", "site-module"],
	"site-module": ["domain", "api", "web"],
	modules: [...BASE, "store", "conversions", "module", "watch"],
	"site-modules": ["domain", "api", "web", "site", "site-module"],
	// The installation.
	concurrency: ["domain", "ports"],
	settings: ["domain", "store"],
	// The store's types, because a setting names one.
	config: ["domain", "store", "settings"],
	"shipped-files": [],
	"operations-guide": ["shipped-files"],
	outside: [...BASE],
	watch: [...BASE, "store", ...CORE_USE_CASES],
	app: [...BELOW_THE_EDGE, "request-notes", "api", "web", "site-modules"],
	service: [...BELOW_THE_EDGE, "modules", "app", "api", "config", "outside", "package.json"],
	// Options are read and shown as the shop's own command does it.
	cli: [...BELOW_THE_EDGE, "web", "config", "service", "receiver", ...GUIDES],
	main: ["domain", "config", "cli", "package.json"],
	receiver: [],
};
/** What is outside the core and may import modules. */
const JOINS_MODULES = ["modules", "site-module", "site-modules", "app", "service", "cli"];
const PORTS = "src/core/ports.ts";
const FREE_ROOMS = ["demo", "bench", "release"];

/** This repository, unless another folder is named. */
const ROOT = process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url));
/** As Biome formats them, and `import("…")`. */
const IMPORT = /^(?:import|export)\b[^;"]*?\bfrom "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;

/** The modules in the order of their list. A module may import only those before it. */
const moduleOrder = readModuleOrder();
const exceptions = new Set(
	EXCEPTIONS.flatMap(({ files }) =>
		Object.entries(files).flatMap(([file, modules]) => modules.map((module) => `${file} → ${module}`)),
	),
);
const usedExceptions = new Set<string>();

const files = globSync("{src,receiver,test,demo,bench,release}/**/*.ts", {
	cwd: ROOT,
	exclude: ["**/node_modules/**"],
});
const imports = new Map(files.map((file) => [file, importsOf(file)]));
const layers = new Set(files.map(layerOf));
const problems = [
	...Object.keys(MAY_IMPORT).flatMap((layer) =>
		layers.has(layer) ? [] : [`The layer ${layer} has no file.`],
	),
	...[...imports].flatMap(([file, found]) =>
		found.flatMap(({ target, written }) => judge(file, target) ?? judgeForm(file, target, written) ?? []),
	),
	...(/^import (?!type )/m.test(readFileSync(join(ROOT, PORTS), "utf8"))
		? [`${PORTS}: interfaces only, import type`]
		: []),
	...findCycles(),
	...findPagesOfWorkers(),
	...[...exceptions]
		.filter((exception) => !usedExceptions.has(exception))
		.map((exception) => `${exception}: remove this exception, nothing needs it (test/import-exceptions.ts)`),
];
for (const problem of new Set(problems)) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

function judge(file: string, target: string): string | undefined {
	const [layer, targetLayer, suite, targetSuite] = [
		layerOf(file),
		layerOf(target),
		suiteOf(file),
		suiteOf(target),
	];
	if (suite !== undefined || isTest(file)) {
		// Suites stand side by side on test/support, and nothing in it knows what stands on it.
		if (targetSuite !== undefined && targetSuite !== suite && targetSuite !== "support")
			return `${file}: what several suites need belongs in test/support (${target})`;
		if (suite === "support" && targetSuite === undefined && isTest(target))
			return `${file}: test/support must not import the test file of a layer (${target})`;
		// A test beside its source may use what it needs; what a shop installs is tested by itself.
		if (layer !== "receiver") return;
	} else if (FREE_ROOMS.includes(layer)) return;
	else if (isTest(target)) return `${file}: imports the test file ${target}`;
	const allowed = MAY_IMPORT[layer];
	if (allowed === undefined) return `${file}: ${layer} has no line in the import law (test/import-law.ts)`;
	if (targetLayer !== layer && !allowed.includes(targetLayer))
		return `${file}: ${layer} must not import ${targetLayer} (${target})`;
	return judgeHome(file, target);
}

/** Judges an import of a module, unless import-exceptions.ts lists it. An exception counts as used only if the law forbids it. */
function judgeHome(file: string, target: string): string | undefined {
	const problem = judgeModule(file, target);
	const exception = `${file} → ${homeOf(target)}`;
	if (problem === undefined || !exceptions.has(exception)) return problem;
	usedExceptions.add(exception);
	return;
}

/** The core imports no module, and a module only those before it. */
function judgeModule(file: string, target: string): string | undefined {
	const [home, targetHome] = [homeOf(file), homeOf(target)];
	if (targetHome === undefined || targetHome === "core" || targetHome === home) return;
	if (home === "core") return `${file}: the core must not import the module ${targetHome} (${target})`;
	if (home !== undefined && moduleOrder.indexOf(targetHome) > moduleOrder.indexOf(home))
		return `${file}: ${home} must not import ${targetHome}, which is a later module (${target})`;
	if (home === undefined && !JOINS_MODULES.includes(layerOf(file)))
		return `${file}: ${layerOf(file)} must not import a module (${target})`;
}

/** A path within the core or a module is relative, and one that leads there from elsewhere begins with "#". */
function judgeForm(file: string, target: string, written: string): string | undefined {
	const home = homeOf(target);
	if (home === undefined) return;
	const isNear = home === homeOf(file);
	if (isNear === written.startsWith("#"))
		return `${file}: write "${written}" ${isNear ? "as a relative path" : `as "#${target.replace("src/", "")}"`}`;
}

/** Types count too: two files that need each other's types are one file, or three. */
function findCycles(): string[] {
	const done = new Set<string>();
	const visit = (file: string, trail: readonly string[]): string[] => {
		const found = targetsOf(file).flatMap((target) => {
			if (trail.includes(target))
				return [`A cycle: ${[...trail.slice(trail.indexOf(target)), target].join(" → ")}`];
			return done.has(target) ? [] : visit(target, [...trail, target]);
		});
		done.add(file);
		return found;
	};
	return files.flatMap((file) => (done.has(file) ? [] : visit(file, [file])));
}

/** A worker loads modules.ts, and must not load any page, because pages are half of a process's memory. */
function findPagesOfWorkers(): string[] {
	const loaded = new Set(["src/modules.ts"]);
	for (const file of loaded) for (const target of targetsOf(file)) loaded.add(target);
	const page = [...loaded].find((file) => layerOf(file) === "web");
	return page === undefined ? [] : [`${page}: loaded by src/modules.ts, and so by every worker`];
}

function targetsOf(file: string): string[] {
	return (imports.get(file) ?? []).map(({ target }) => target);
}

/** The imports of files of ours, and not those of packages and Node's own modules. */
function importsOf(file: string): { target: string; written: string }[] {
	const found = readFileSync(join(ROOT, file), "utf8").matchAll(IMPORT);
	return [...found].flatMap(([, from, alone, later]) => {
		const written = from ?? alone ?? later ?? "";
		const target = resolve(file, written);
		return target === undefined ? [] : [{ target, written }];
	});
}

function resolve(file: string, written: string): string | undefined {
	if (written.startsWith("@ringback/receiver")) return "receiver/src/index.ts";
	// "#core/…" and "#modules/…", as package.json defines them.
	if (written.startsWith("#")) return `src/${written.slice(1)}`;
	return written.startsWith(".") ? posix.join(posix.dirname(file), written) : undefined;
}

/**
 * The folder below src/core, src/modules/… or src, a file directly in one of them by its name, or the top folder. Folders of
 * the same name in the core and in modules are the same layer.
 */
function layerOf(path: string): string {
	if (!path.startsWith("src/")) return path.split("/", 1)[0] ?? "";
	const [layer = ""] = path.replace(/^src\/(?:core\/|modules\/[^/]+\/)?/, "").split("/", 1);
	return layer.replace(/(?:\.test|\.test-support)?\.ts$/, "");
}

/** "core", the name of a module, or undefined for files elsewhere. */
function homeOf(path: string): string | undefined {
	return path.startsWith("src/core/") ? "core" : /^src\/modules\/([^/]+)\//.exec(path)?.[1];
}

/** The folders of the modules, whose names in the list are written as constants. */
function readModuleOrder(): string[] {
	const path = join(ROOT, "src/modules.ts");
	const text = existsSync(path) ? readFileSync(path, "utf8") : "";
	const list = /\bMODULES:[^=]*= \[([^\]]*)\]/.exec(text)?.[1] ?? "";
	return [...list.matchAll(/\w+/g)].map(([name]) => name.toLowerCase().replaceAll("_", "-"));
}

/** The folder below test; undefined for files elsewhere, and empty for one directly in test. */
function suiteOf(path: string): string | undefined {
	const [top, second = "", third] = path.split("/");
	if (top !== "test") return undefined;
	return third === undefined ? "" : second;
}

function isTest(path: string): boolean {
	return /\.(?:test|test-support)\.ts$/.test(path);
}
