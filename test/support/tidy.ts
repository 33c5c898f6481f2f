// The house rules that a program can check: the import law of ARCHITECTURE.md, and where the outside world
// may appear. Files in, findings out.

import { posix } from "node:path";
import { lineAt, maskText, readImports, type SourceFile } from "./source-text.ts";

export interface Finding {
	path: string;
	line: number;
	/** What is wrong, in words that say what to do. */
	problem: string;
}

export function findUntidy(files: readonly SourceFile[]): Finding[] {
	return [
		...files.flatMap((file) => [
			...checkImports(file),
			...checkSuites(file),
			...checkOutsideWorld(file),
			...checkLanguage(file),
			...checkName(file),
			...checkWords(file),
			...checkLength(file),
		]),
		...findCycles(files),
	];
}

const USE_CASES = ["conversions", "callbacks", "accounts"];
const BELOW_THE_EDGE = ["domain", "ports", "store", ...USE_CASES, "imports"];
const GUIDES = ["shipped-files", "operations-guide"];
const ALL_BUT_OUTSIDE = [...BELOW_THE_EDGE, "api", "web", "config", "chores", "service", "cli"];

/** Who may import whom, besides itself. Only the service (service.ts and service/) knows the real outside. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
	domain: [],
	ports: ["domain"],
	// The store's types, because a setting names one.
	config: [
		...["domain", "store", "config-values", "config-database"],
		...["config-production", "config-reader", "config-tracing"],
	],
	"config-tracing": ["domain", "config-values", "config-reader"],
	"config-database": ["store", "config-reader"],
	"config-production": ["config-database", "config-reader"],
	"config-reader": [],
	"config-values": ["domain", "store", "config-reader"],
	store: ["domain", "ports"],
	conversions: ["domain", "ports", "store"],
	callbacks: ["domain", "ports", "store"],
	accounts: ["domain", "ports", "store"],
	// Brings in what the two of them make: nothing is made in another way than people make it.
	imports: ["domain", "ports", "store", "accounts", "conversions"],
	"server-sent-events": ["domain", "ports"],
	"request-notes": ["ports"],
	// Types alone: what api writes and web renders.
	openapi: [],
	"shipped-files": [],
	"operations-guide": ["shipped-files"],
	"own-command": ["shipped-files"],
	api: [...BELOW_THE_EDGE, "server-sent-events", "request-notes", "openapi"],
	web: [...BELOW_THE_EDGE, "server-sent-events", "request-notes", "openapi", "own-command", ...GUIDES],
	outside: ["domain", "ports"],
	chores: [...BELOW_THE_EDGE, "config"],
	app: [...BELOW_THE_EDGE, "request-notes", "api", "web"],
	service: [...BELOW_THE_EDGE, "app", "api", "config", "chores", "outside", "package.json"],
	// The shop's commands are those of the package that a shop installs.
	cli: [...ALL_BUT_OUTSIDE, "receiver", ...GUIDES],
	main: [...ALL_BUT_OUTSIDE, "package.json"],
	receiver: [],
};
const FREE_ROOMS = ["demo", "bench", "test", "examples", "release"];

function checkImports(file: SourceFile): Finding[] {
	const room = roomOf(file.path);
	if (FREE_ROOMS.includes(room)) return [];
	const allowed = MAY_IMPORT[room];
	if (allowed === undefined)
		return [{ path: file.path, line: 1, problem: `${room} has no line in the import law` }];
	const findings: Finding[] = [];
	for (const { target, line, isTypeOnly } of readImports(file)) {
		if (target === null) continue;
		const targetRoom = roomOf(target);
		// A test beside its source may use whatever it needs; what a shop installs is tested by itself.
		if (isTest(file.path) && room !== "receiver") continue;
		if (isTest(target) && !isTest(file.path)) {
			findings.push({ path: file.path, line, problem: `imports the test file ${target}` });
		}
		if (targetRoom !== room && !allowed.includes(targetRoom)) {
			findings.push({ path: file.path, line, problem: `${room} must not import ${targetRoom} (${target})` });
		}
		if (room === "ports" && !isTypeOnly) {
			findings.push({ path: file.path, line, problem: "ports.ts is interfaces only: import type" });
		}
	}
	return findings;
}

/** Suites stand side by side on test/support, and nothing in it knows who stands on it. */
function checkSuites(file: SourceFile): Finding[] {
	const suite = suiteOf(file.path);
	if (suite === null && !isTest(file.path)) return [];
	return readImports(file).flatMap(({ target, line }) => {
		if (target === null) return [];
		const problem = (what: string) => [{ path: file.path, line, problem: `${what} (${target})` }];
		const targetSuite = suiteOf(target);
		if (targetSuite !== null && targetSuite !== suite && targetSuite !== "support")
			return problem("what several suites need belongs in test/support");
		if (suite === "support" && targetSuite === null && isTest(target))
			return problem("test/support must not import the test file of a room");
		return [];
	});
}

/** The folder below test; null for files elsewhere, and empty for one directly in test. */
function suiteOf(path: string): string | null {
	const [top, second = "", third] = path.split("/");
	if (top !== "test") return null;
	return third === undefined ? "" : second;
}

/** The folder below src, a file directly in src by its name, or the top folder. */
function roomOf(path: string): string {
	const [top = "", second = ""] = path.split("/");
	return top === "src" ? second.replace(/(?:\.test|\.test-support)?\.ts$/, "") : top;
}

function isTest(path: string): boolean {
	return /\.(?:test|test-support)\.ts$/.test(path);
}

const OUTSIDE_WORLD: ReadonlyArray<readonly [what: string, pattern: RegExp]> = [
	["Date.now: take a Clock", /\bDate\.now\b/g],
	["new Date() of this moment: take a Clock", /\bnew Date(?:\(\s*\)|(?![\w$(]))/g],
	["performance.now: take a Clock", /\bperformance\.now\b/g],
	["Math.random: take a Random", /\bMath\.random\b/g],
	["a timer: take a Clock", /\b(?:setTimeout|setInterval|setImmediate)\b/g],
	["process.env: read it in config.ts", /\bprocess\.env\b/g],
];
const OUTSIDE_MODULES = /^node:(?:net|tls|http|https|http2|dgram|dns|timers)(?:\/|$)/;

function checkOutsideWorld(file: SourceFile): Finding[] {
	const { path } = file;
	const isOurs = path.startsWith("src/") && !isTest(path);
	if (!isOurs || path.startsWith("src/outside/") || path === "src/config.ts") return [];
	const modules = readImports(file)
		.filter(({ specifier, isTypeOnly }) => OUTSIDE_MODULES.test(specifier) && !isTypeOnly)
		.map(({ specifier, line }) => ({ path, line, problem: `${specifier} belongs in src/outside` }));
	return [...matchAll(file, OUTSIDE_WORLD), ...modules];
}

const LANGUAGE: ReadonlyArray<readonly [what: string, pattern: RegExp]> = [
	["a default export: give it a name", /\bexport\s+default\b|\bas\s+default\b/g],
	["any: say what it is, or unknown", /(?::|\bas|<|\bextends|=>|[^|]\|)\s*any\b|\bany(?:\[\]|>)/g],
	["a test that keeps the others from running", /\.only\s*\(|\bonly:\s*true\b/g],
];
const SKIP = /\b(?:test|it|describe|suite|t)\.skip\s*\(|\bskip:\s*true\b/g;

function checkLanguage(file: SourceFile): Finding[] {
	const lines = file.text.split("\n");
	const hasReason = ({ line }: Finding) =>
		[lines[line - 2], lines[line - 1]].some((text) => /\/\/\s*\S/.test(text ?? ""));
	const skips = matchAll(file, [["a skipped test without a comment that says why", SKIP]]);
	return [...matchAll(file, LANGUAGE), ...skips.filter((finding) => !hasReason(finding))];
}

const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test|\.test-support)?\.ts$/;
const NAMES_THAT_SAY_NOTHING = /^(?:utils?|helpers?|index|common|misc)\b/;

/** What a shop imports: the one list of exports there is. */
const PACKAGE_FACE = "receiver/src/index.ts";

function checkName({ path }: SourceFile): Finding[] {
	const name = posix.basename(path);
	const findings: Finding[] = [];
	if (!KEBAB_CASE.test(name)) findings.push({ path, line: 1, problem: "a file's name is kebab-case" });
	if (NAMES_THAT_SAY_NOTHING.test(name) && path !== PACKAGE_FACE) {
		findings.push({ path, line: 1, problem: "a file's name is the noun of the question it answers" });
	}
	return findings;
}

/** Words that once meant several things here, and what to say instead. The glossary of ARCHITECTURE.md has the rest. */
const RETIRED_WORDS: ReadonlyMap<string, string> = new Map([
	["wish", "request"],
	["turns", "limit, order or yieldLoop"],
	["scene", "setup"],
	["crew", "workers"],
	["stroke", "kill"],
	["street", "shops"],
	["books", "ledger"],
	// As nouns; "turnOff" and "placeGate" say what is done.
	["…turn", "limit, order or yieldLoop"],
	["…place", "position, slot, state or network"],
]);

/** In names of files and of what they declare. */
function checkWords({ path, text }: SourceFile): Finding[] {
	const names = [...maskText(text).matchAll(/[A-Za-z_$][\w$]*/g)].map(({ 0: name, index }) => ({
		name,
		index,
	}));
	return [{ name: posix.basename(path, ".ts"), index: 0 }, ...names].flatMap(({ name, index }) => {
		const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g)?.map((word) => word.toLowerCase()) ?? [];
		const retired = [...words, `…${words.at(-1)}`]
			.flatMap((word) => [word, word.replace(/e?s$/, "")])
			.find((word) => RETIRED_WORDS.has(word));
		if (retired === undefined) return [];
		const problem = `${name}: “${retired.replace("…", "")}” is retired, say ${RETIRED_WORDS.get(retired)}`;
		return [{ path, line: lineAt(text, index), problem }];
	});
}

const MAX_LINES = 300;

/** Tests are tables of cases, and may be longer. */
function checkLength({ path, text }: SourceFile): Finding[] {
	const lines = text.trimEnd().split("\n").length;
	if (isTest(path) || lines <= MAX_LINES) return [];
	return [{ path, line: MAX_LINES, problem: `${lines} lines: look for the second question hiding in it` }];
}

/** Types count too: two files that need each other's types are one file, or three. */
function findCycles(files: readonly SourceFile[]): Finding[] {
	const imports = new Map(files.map((file) => [file.path, readImports(file)]));
	const done = new Set<string>();
	const findings: Finding[] = [];
	const visit = (path: string, trail: readonly string[]): void => {
		for (const { target, line } of imports.get(path) ?? []) {
			if (target === null || done.has(target)) continue;
			const start = trail.indexOf(target);
			if (start === -1) visit(target, [...trail, target]);
			else findings.push({ path, line, problem: `a cycle: ${[...trail.slice(start), target].join(" → ")}` });
		}
		done.add(path);
	};
	for (const { path } of files) if (!done.has(path)) visit(path, [path]);
	return findings;
}

function matchAll(
	{ path, text }: SourceFile,
	patterns: ReadonlyArray<readonly [what: string, pattern: RegExp]>,
): Finding[] {
	const code = maskText(text);
	return patterns.flatMap(([problem, pattern]) =>
		[...code.matchAll(pattern)].map(({ index }) => ({ path, line: lineAt(text, index), problem })),
	);
}
