import assert from "node:assert/strict";
import { test } from "node:test";
import { writeRate } from "#core/domain/rate.ts";
import { readWrittenRate } from "./written-rate.ts";

test("a rate in a file is a percentage, and a fixed amount in the currency may follow after a plus sign", () => {
	const cases: readonly (readonly [text: string, currency: string, written: string])[] = [
		["8", "EUR", "8"],
		["7,5 %", "EUR", "7.5"],
		["8+1.00", "EUR", "8+1.00"],
		["8 % + 1,5", "EUR", "8+1.50"],
		["0+5", "JPY", "0+5"],
		["0+0.250", "KWD", "0+0.250"],
		["5+0", "EUR", "5"],
	];
	for (const [text, currency, written] of cases) {
		const read = readWrittenRate(text, currency, "rate");
		assert.equal(read.ok && writeRate(read.value), written, text);
	}
});

test("a rate in a file that is negative, ambiguous, too precise or incomplete is refused", () => {
	for (const [text, currency] of [
		["", "EUR"],
		["x", "EUR"],
		["101", "EUR"],
		["8+", "EUR"],
		["+5", "EUR"],
		["8+-1", "EUR"],
		["8+1+1", "EUR"],
		["8+1.001", "EUR"],
		["8+1.5", "JPY"],
		["8+1,299", "KWD"],
	] as const) {
		assert.equal(readWrittenRate(text, currency, "rate").ok, false, text);
	}
});
