import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { parseMinimums, readMinimums, writeMinimums } from "./minimum-payout.ts";

test("minimums are stored with the decimals of their currency, in alphabetical order, and read again", () => {
	const parsed = parseMinimums(
		new Map([
			["KWD", "7,5"],
			["EUR", " 25 "],
			["JPY", "3000"],
			["USD", ""],
			["GBP", "0"],
		]),
	);
	equal(parsed.ok, true);
	const stored = parsed.ok ? writeMinimums(parsed.value) : "";
	equal(stored, "EUR 25.00;JPY 3000;KWD 7.500");
	deepEqual(
		[...readMinimums(stored)],
		[
			["EUR", "25.00"],
			["JPY", "3000"],
			["KWD", "7.500"],
		],
	);
	deepEqual([...readMinimums("")], []);
});

test("a minimum that is no amount of its currency is refused at its field", () => {
	for (const [currency, text] of [
		["EUR", "1.000,50"],
		["EUR", "-5"],
		["EUR", "0.005"],
		["JPY", "10.5"],
		["EUR", "a lot"],
		["EUR", "1".repeat(13)],
	] as const) {
		const parsed = parseMinimums(new Map([[currency, text]]));
		deepEqual(parsed.ok ? null : parsed.faults.map(({ field }) => field), [`minimum${currency}`], text);
	}
	const grouped = parseMinimums(new Map([["EUR", "1,299"]]));
	deepEqual(grouped.ok ? null : grouped.faults.map(({ detail }) => detail), [
		"The minimum payout has too many decimals for EUR. Write it like 5.00, without a thousands separator.",
	]);
});
