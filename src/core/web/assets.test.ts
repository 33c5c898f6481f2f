// Tests the style sheets. Sizes, weights and spacings must come from one scale, and every class and variable
// must be used.

import { deepEqual, ok } from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

const FOLDER = new URL("./", import.meta.url);

test("every class is used by a template, and every variable by a rule or a script", () => {
	const sheets = readSheets();
	deepEqual(findUnused(sheets, readTemplates()), []);
	ok(
		sheets.length >= 6 && parseSheet(sheets.join("\n")).declarations.length > 500,
		"the sheets were not found",
	);
});

test("the scale has six sizes, four weights and eight spacings, and the sheets use no others", () => {
	const all = readSheets().join("\n");
	deepEqual(findOffScale(all), []);
	const names = new Set(parseSheet(all).declarations.map(({ property }) => property));
	const count = (prefix: string) => [...names].filter((name) => name.startsWith(prefix)).length;
	// The seventh variable for sizes is only the factor for monospaced text.
	deepEqual([count("--size-"), count("--weight-"), count("--space-")], [6 + 1, 4, 8]);
});

test("the checks find values outside of the scale and unused names", () => {
	const OFF_SCALE = [
		"a { font-size: 15px; }",
		"a { b { font-size: 1rem; } }",
		"a { font: 500 15px / 1.5 serif; }",
		"a { font-weight: 550; }",
		"a { font-weight: bold; }",
		"a { padding: 6px 14px; }",
		"a { margin-top: calc(-1 * 3px); }",
		"a { gap: 0.5rem; }",
		"a { @media (max-width: 1px) { left: 7px; } }",
	];
	for (const sheet of OFF_SCALE) deepEqual(findOffScale(sheet).length, 1, sheet);
	const ON_SCALE =
		"a { font: var(--weight-medium) var(--size-small) / 1.3 serif; padding: 0 var(--space-1); margin: 0 auto; gap: 0.2em; width: 7px; }";
	deepEqual(findOffScale(ON_SCALE), []);
	const sheet =
		":root { --a: 1px; --b: 1px; } .card, p.old-card > .tone-good { & .tone-odd { top: var(--a); } }";
	const template = `<p class="card tone-\${tone}">old-cards</p>, "good"`;
	deepEqual(findUnused([sheet], [template]), [".old-card", ".tone-odd", "--b"]);
});

function readSheets(): string[] {
	return globSync("assets/*.css", { cwd: FOLDER }).map((path) => readFileSync(new URL(path, FOLDER), "utf8"));
}

function readTemplates(): string[] {
	const paths = globSync(["**/*.ts", "assets/page.js", "../../modules/*/web/**/*.ts"], {
		cwd: FOLDER,
	}).filter((path) => !/\.test(?:-support)?\.ts$/.test(path));
	const { resolve } = createRequire(import.meta.url);
	const names = readFileSync(resolve("uplot/dist/uPlot.min.css"), "utf8").matchAll(/\.(u-[a-z-]+)/g);
	const ofCode = readFileSync(resolve("highlight.js/styles/default.css"), "utf8");
	return [
		...paths.map((path) => readFileSync(new URL(path, FOLDER), "utf8")),
		readFileSync(new URL("../../../docs/markdown.ts", FOLDER), "utf8"),
		...[...names].map(([, name]) => `"${name}"`),
		...[...ofCode.matchAll(/\.hljs-([a-z_]+)/g)].map(([, kind]) => `class="code-${kind}"`),
	];
}

interface Sheet {
	selectors: string[];
	declarations: { property: string; value: string }[];
}

function parseSheet(text: string): Sheet {
	const sheet: Sheet = { selectors: [], declarations: [] };
	const pieces = text.replace(/\/\*.*?\*\//gs, "").matchAll(/([^{};]+)([{;])/g);
	for (const [, piece = "", end] of pieces) {
		const [property = "", ...value] = piece.trim().split(":");
		if (end === ";") sheet.declarations.push({ property, value: value.join(":").trim() });
		else if (!property.startsWith("@")) sheet.selectors.push(piece.trim());
	}
	return sheet;
}

function findOffScale(text: string): string[] {
	return parseSheet(text)
		.declarations.filter(({ property, value }) => !isOnScale(property, value))
		.map(({ property, value }) => `${property}: ${value}`);
}

/** Returns true if a length is on the scale. Relative lengths (em, lh, %, vh) are always allowed. */
function isOnScale(property: string, value: string): boolean {
	if (property === "font-size") return /^(?:var\(--size-\w+\)|inherit)$/.test(value);
	if (property === "font-weight") return /^var\(--weight-\w+\)$/.test(value);
	if (property === "font") return /^(?:var\(--weight-\w+\) var\(--size-\w+\) .*|inherit)$/.test(value);
	const isSpacing = /^(?:scroll-)?(?:margin|padding|(?:row-|column-)?gap|inset|top|right|bottom|left)\b/;
	return !(isSpacing.test(property) && /\d(?:px|rem|pt|ch|cm|mm|in)\b/.test(value));
}

function findUnused(sheets: readonly string[], templates: readonly string[]): string[] {
	const { selectors, declarations } = parseSheet(sheets.join("\n"));
	const classes = new Set(selectors.flatMap((selector) => selector.match(/(?<=\.)[a-z][\w-]*/g) ?? []));
	const variables = declarations.map(({ property }) => property).filter((name) => name.startsWith("--"));
	const source = templates.join("\n");
	const asked = new Set([...sheets.join("\n").matchAll(/var\((--[\w-]+)/g)].map(([, name = ""]) => name));
	const { words, beginnings } = wordsOf(source);
	const isSaid = (name: string) =>
		words.has(name) ||
		beginnings.some((start) => name.startsWith(start) && words.has(name.slice(start.length)));
	return [
		...[...classes].filter((name) => !isSaid(name)).map((name) => `.${name}`),
		...new Set(variables.filter((name) => !asked.has(name) && !isSaid(name.slice(2)))),
	];
}

/**
 * Returns every word in the source that may be a class name, and every prefix of a computed class name such
 * as `badge-${tone}`.
 */
function wordsOf(source: string): { words: ReadonlySet<string>; beginnings: readonly string[] } {
	const attributes = [...source.matchAll(/class="([^"]*)"/g)];
	const texts = [...source.matchAll(/"([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)"/g)];
	return {
		words: new Set([...attributes, ...texts].flatMap(([, text = ""]) => text.split(/[^\w-]+/))),
		beginnings: [...source.matchAll(/([a-z][a-z0-9-]*-)\$\{/g)].map(([, start = ""]) => start),
	};
}
