// `npm run check:imports` checks which room may import which, and that there are no import cycles. Biome checks where
// clocks, randomness and sockets may appear (biome.json), but it knows nothing of rooms, and its own rule against
// cycles takes six seconds even for a single file.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

const USE_CASES = [
	"conversions",
	"refunds",
	"callbacks",
	"mail",
	"people",
	"programmes",
	"signature-check",
	"statements",
	"jobs",
	"clicks",
	"partners",
	"privacy",
	"watch",
];
/** The rooms that every room but `domain` may import. */
const BASE = ["domain", "ports", "concurrency"];
const BELOW_THE_EDGE = [...BASE, "store", ...USE_CASES];
const GUIDES = ["shipped-files", "operations-guide"];
const ALL_BUT_OUTSIDE = [...BELOW_THE_EDGE, "api", "web", "config", "service", "cli"];

/** The rooms that each room may import besides itself. Only the service (service.ts and service/) imports `outside`. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
	domain: [],
	ports: ["domain"],
	concurrency: ["domain", "ports"],
	settings: ["domain", "store"],
	// The store's types, because a setting names one.
	config: ["domain", "store", "settings"],
	store: [...BASE],
	conversions: [...BASE, "store"],
	refunds: [...BASE, "store", "conversions"],
	callbacks: [...BASE, "store"],
	// A mail about callbacks says why they fail in the words of the page.
	mail: [...BASE, "store", "callbacks"],
	people: [...BASE, "store", "mail"],
	programmes: [...BASE, "store", "mail", "people", "conversions"],
	"signature-check": [...BASE, "store"],
	statements: [...BASE, "store", "mail", "people", "conversions"],
	// Jobs change nothing in another way than people change it, so they import the rooms of the use cases.
	jobs: [...BASE, "store", "people", "programmes", "conversions", "refunds", "partners", "statements"],
	clicks: [...BASE, "store"],
	partners: [...BASE, "store", "mail", "people", "conversions"],
	privacy: [...BASE, "store", "people", "partners", "statements"],
	"request-notes": ["ports"],
	"shipped-files": [],
	"operations-guide": ["shipped-files"],
	api: [...BELOW_THE_EDGE, "request-notes"],
	web: [...BELOW_THE_EDGE, "request-notes", ...GUIDES],
	outside: [...BASE],
	watch: [...BELOW_THE_EDGE, "config"],
	module: [...BASE, "store", "conversions", "watch"],
	"site-module": ["web", "api"],
	modules: [...BELOW_THE_EDGE, "module", "site-module", "web", "api"],
	"site-modules": [...BASE, "modules", "site-module", "web", "api"],
	app: [...BELOW_THE_EDGE, "request-notes", "api", "web", "site-modules"],
	service: [...BELOW_THE_EDGE, "modules", "app", "api", "config", "outside", "package.json"],
	// Options are read and shown as the shop's own command does it.
	cli: [...ALL_BUT_OUTSIDE, "receiver", ...GUIDES],
	main: [...ALL_BUT_OUTSIDE, "package.json"],
	receiver: [],
};
const PORTS = "src/ports.ts";
const FREE_ROOMS = ["demo", "bench", "release"];

/** This repository, unless another folder is named. */
const ROOT = process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url));
/** As Biome formats them, and `import("…")`. */
const IMPORT = /^(?:import|export)\b[^;"]*?\bfrom "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;

/** The modules in the order of their list. A module may import only those before it. */
const moduleOrder = readModuleOrder();

const files = globSync("{src,receiver,test,demo,bench,release}/**/*.ts", {
	cwd: ROOT,
	exclude: ["**/node_modules/**"],
});
const targets = new Map(files.map((file) => [file, targetsOf(file)]));
const rooms = new Set(files.map(roomOf));
const problems = [
	...Object.keys(MAY_IMPORT).flatMap((room) => (rooms.has(room) ? [] : [`The room ${room} has no file.`])),
	...files.flatMap((file) => targets.get(file)?.flatMap((target) => judge(file, target) ?? []) ?? []),
	...(/^import (?!type )/m.test(readFileSync(join(ROOT, PORTS), "utf8"))
		? [`${PORTS}: interfaces only, import type`]
		: []),
	...findCycles(),
	...findPagesOfWorkers(),
];
for (const problem of new Set(problems)) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

function judge(file: string, target: string): string | undefined {
	const [room, targetRoom, suite, targetSuite] = [
		roomOf(file),
		roomOf(target),
		suiteOf(file),
		suiteOf(target),
	];
	if (suite !== undefined || isTest(file)) {
		// Suites stand side by side on test/support, and nothing in it knows what stands on it.
		if (targetSuite !== undefined && targetSuite !== suite && targetSuite !== "support")
			return `${file}: what several suites need belongs in test/support (${target})`;
		if (suite === "support" && targetSuite === undefined && isTest(target))
			return `${file}: test/support must not import the test file of a room (${target})`;
		// A test beside its source may use what it needs; what a shop installs is tested by itself.
		if (room !== "receiver") return;
	} else if (FREE_ROOMS.includes(room)) return;
	else if (isTest(target)) return `${file}: imports the test file ${target}`;
	const allowed = MAY_IMPORT[room];
	if (allowed === undefined) return `${file}: ${room} has no line in the import law (test/import-law.ts)`;
	if (targetRoom !== room && !allowed.includes(targetRoom))
		return `${file}: ${room} must not import ${targetRoom} (${target})`;
	const [module, targetModule] = [moduleOf(file), moduleOf(target)];
	if (module !== "" && moduleOrder.indexOf(targetModule) > moduleOrder.indexOf(module))
		return `${file}: ${module} must not import ${targetModule}, which is a later module (${target})`;
}

/** Types count too: two files that need each other's types are one file, or three. */
function findCycles(): string[] {
	const done = new Set<string>();
	const visit = (file: string, trail: readonly string[]): string[] => {
		const found = (targets.get(file) ?? []).flatMap((target) => {
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
	for (const file of loaded) for (const target of targets.get(file) ?? []) loaded.add(target);
	const page = [...loaded].find((file) => roomOf(file) === "web");
	return page === undefined ? [] : [`${page}: loaded by src/modules.ts, and so by every worker`];
}

/** Files of ours; packages and Node's own modules are no rooms. */
function targetsOf(file: string): string[] {
	const imports = readFileSync(join(ROOT, file), "utf8").matchAll(IMPORT);
	return [...imports].flatMap(([, from, alone, later]) => {
		const specifier = from ?? alone ?? later ?? "";
		if (specifier.startsWith("@ringback/receiver")) return ["receiver/src/index.ts"];
		return specifier.startsWith(".") ? [posix.join(posix.dirname(file), specifier)] : [];
	});
}

/** The folder below src, a file directly in src by its name, or the top folder. */
function roomOf(path: string): string {
	const [top = "", second = ""] = path.split("/");
	return top === "src" ? second.replace(/(?:\.test|\.test-support)?\.ts$/, "") : top;
}

/** The folders of the modules, whose names in the list are written as constants. */
function readModuleOrder(): string[] {
	const path = join(ROOT, "src/modules.ts");
	const text = existsSync(path) ? readFileSync(path, "utf8") : "";
	const list = /\bMODULES:[^=]*= \[([^\]]*)\]/.exec(text)?.[1] ?? "";
	return [...list.matchAll(/\w+/g)].map(([name]) => name.toLowerCase().replaceAll("_", "-"));
}

/** The folder below src/modules, and empty for files elsewhere. */
function moduleOf(path: string): string {
	return /^src\/modules\/([^/]+)\//.exec(path)?.[1] ?? "";
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
