import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { indexedPattern, readOrderSearch } from "./order-search.ts";

const PUBLIC_ID = `cnv_${"01KZ".padEnd(26, "A")}`;

for (const [typed, search] of [
	["10005", { kind: "orders", term: "10005" }],
	["G-10005", { kind: "orders", term: "g-10005" }],
	[PUBLIC_ID, { kind: "conversion", publicId: PUBLIC_ID }],
	[` ${PUBLIC_ID.toLowerCase()} `, { kind: "conversion", publicId: PUBLIC_ID }],
	["cnv_01KZ", { kind: "orders", term: "cnv_01kz" }],
] as const) {
	test(`"${typed}" looks for ${search.kind === "orders" ? search.term : "that conversion"}`, () => {
		deepEqual(readOrderSearch(typed), search);
	});
}

for (const [term, pattern] of [
	["100", "%100%"],
	["a-b-100%", "%a-b-100_%"],
	["é\\200", "%__200%"],
	["10", null],
	["1-2-3", null],
	["日本語", null],
] as const) {
	test(`${term} is ${pattern === null ? "looked for row by row" : "found by an index"}`, () => {
		equal(indexedPattern(term), pattern);
	});
}
