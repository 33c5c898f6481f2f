import assert from "node:assert/strict";
import { test } from "node:test";
import type { Result } from "./fault.ts";
import { effectiveCommissions, effectiveFees, readRate } from "./rate.ts";
import {
	describeRates,
	parseCommissionsByType,
	parseFixed,
	parseRatesByType,
	sayByType,
	sayRate,
	sayRates,
} from "./rate-words.ts";

const rate = (text: string, zero = "0.00") => readRate(text, zero);
const PROGRAMME = {
	...{ commission: rate("8+1.00"), fee: rate("2") },
	byType: { LEAD: { commission: rate("0+5.00"), fee: rate("0") } },
};

test("rates are described in words, the general rate first", () => {
	const commissions = effectiveCommissions(PROGRAMME, null);
	assert.deepEqual(describeRates(commissions, "EUR"), [
		"8 % of the basket + 1.00 EUR",
		"5.00 EUR for each lead",
	]);
	assert.deepEqual(describeRates(effectiveFees(PROGRAMME), "EUR"), [
		"2 % of the basket",
		"nothing for each lead",
	]);
	const german = describeRates(commissions, "EUR", (value) => value.replace(".", ","));
	assert.deepEqual(german, ["8 % of the basket + 1,00 EUR", "5,00 EUR for each lead"]);
	const fixedOnly = { general: rate("0+500", "0"), byType: {} };
	assert.deepEqual(describeRates(fixedOnly, "JPY"), ["500 JPY for each conversion"]);
	assert.deepEqual(describeRates({ general: rate("0"), byType: { SIGNUP: rate("7.5+2.00") } }, "EUR"), [
		"nothing for each conversion",
		"7.5 % of the basket + 2.00 EUR for each sign-up",
	]);
});

test("the commissions of a partnership are listed only where they differ from its general one", () => {
	const general = { commission: rate("10"), byType: {} };
	assert.deepEqual(describeRates(effectiveCommissions(PROGRAMME, general), "EUR"), [
		"10 % of the basket",
		"5.00 EUR for each lead",
	]);
	const lead = { commission: null, byType: { LEAD: rate("0+7.00"), SALE: rate("8+1.00") } };
	assert.deepEqual(describeRates(effectiveCommissions(PROGRAMME, lead), "EUR"), [
		"8 % of the basket + 1.00 EUR",
		"7.00 EUR for each lead",
	]);
});

test("rates for event types are read as people write them, and written in one form that reads back unchanged", () => {
	const text =
		"lead = 5 EUR fee 0\r\n\r\n Sign-up: 2,50 eur, Fee: 1%; SALE: 8 % + 1.00 EUR, fee 2,5 % + 0.10EUR";
	const parsed = parseRatesByType(text, "EUR", "eventRates");
	assert.ok(parsed.ok, JSON.stringify(parsed));
	const written = sayByType(parsed.value, (rates) => sayRates(rates, "EUR"));
	assert.equal(
		written,
		"SALE: 8 % + 1.00 EUR, fee 2.5 % + 0.10 EUR\nLEAD: 5.00 EUR, fee 0 %\nSIGNUP: 2.50 EUR, fee 1 %",
	);
	assert.deepEqual(parseRatesByType(written, "EUR", "eventRates"), parsed);
	const own = parseCommissionsByType("LEAD: 500 JPY", "JPY", "eventRates");
	assert.ok(own.ok);
	assert.equal(
		sayByType(own.value, (each) => sayRate(each, "JPY")),
		"LEAD: 500 JPY",
	);
	assert.deepEqual(parseCommissionsByType(" \r\n; ", "EUR", "eventRates"), { ok: true, value: {} });
});

/** Returns the code and the sentence of a refusal at the given field. */
function refusalAt(field: string, result: Result<unknown>): string {
	assert.ok(!result.ok);
	assert.deepEqual([result.fault.httpStatus, result.fault.field], [422, field]);
	return `${result.fault.code}: ${result.fault.detail}`;
}

test("a fixed amount is digits with the decimals of the currency, after a point or a comma", () => {
	const cases = [
		["", "EUR", "0.00"],
		["", "JPY", "0"],
		["5", "EUR", "5.00"],
		["5,5", "EUR", "5.50"],
		["1000", "JPY", "1000"],
		["0,5", "KWD", "0.500"],
		["0.500", "KWD", "0.500"],
		["999999999999.99", "EUR", "999999999999.99"],
	] as const;
	for (const [text, currency, amount] of cases) {
		assert.deepEqual(parseFixed(text, currency, "fixed"), { ok: true, value: amount }, `${text} ${currency}`);
	}
});

test("a wrong fixed amount is refused with a sentence that says what to write", () => {
	const cases = [
		[
			"-1",
			"EUR",
			"negative_amount: The fixed amount must not be negative. Enter 0 or leave it empty if there is none.",
		],
		[
			"five",
			"EUR",
			"malformed_amount: Enter the fixed amount in EUR as digits, such as 5.00, without a thousands separator.",
		],
		[
			"1e3",
			"JPY",
			"malformed_amount: Enter the fixed amount in JPY as digits, such as 5, without a thousands separator.",
		],
		[
			"1,000",
			"KWD",
			"malformed_amount: Enter the fixed amount in KWD as digits, such as 5.000, without a thousands separator.",
		],
		// In a currency with three decimals, a comma before three digits could separate decimals or thousands.
		[
			"0,500",
			"KWD",
			"malformed_amount: Enter the fixed amount in KWD as digits, such as 5.000, without a thousands separator.",
		],
		[
			"1,000",
			"EUR",
			"amount_too_precise: The fixed amount has too many decimals for EUR. Write it like 5.00, without a thousands separator.",
		],
		[
			"1,000.00",
			"EUR",
			"malformed_amount: Enter the fixed amount in EUR as digits, such as 5.00, without a thousands separator.",
		],
		[
			"0.001",
			"EUR",
			"amount_too_precise: The fixed amount has too many decimals for EUR. Write it like 5.00, without a thousands separator.",
		],
		[
			"0.5",
			"JPY",
			"amount_too_precise: The fixed amount has too many decimals for JPY. Write it like 5, without a thousands separator.",
		],
		[
			"0.0001",
			"KWD",
			"amount_too_precise: The fixed amount has too many decimals for KWD. Write it like 5.000, without a thousands separator.",
		],
		[
			"1000000000000",
			"EUR",
			"amount_too_large: The fixed amount is too large. It may have at most 12 digits before the point.",
		],
	] as const;
	for (const [text, currency, refusal] of cases) {
		assert.equal(refusalAt("fixed", parseFixed(text, currency, "fixed")), refusal, text);
	}
});

test("a wrong rate for an event type is refused with a sentence that says what to write", () => {
	const cases = [
		["LEADS: 5 EUR, fee 0", /^unknown_event_type: “LEADS” is not an event type\. Use SALE, LEAD, /],
		["LEAD: 5 EUR, fee 0; lead: 6 EUR, fee 0", /^invalid_rate: LEAD has two rates\. Keep one of them\.$/],
		[
			"5 EUR",
			/^invalid_rate: “5 EUR” has no event type\. Write one on each line, such as “LEAD: 5\.00 EUR, fee 0”\.$/,
		],
		[
			"LEAD: 5 EUR",
			/^invalid_rate: LEAD: Add the network fee, such as “LEAD: 5\.00 EUR, fee 2 %”, or “fee 0” if there is none\.$/,
		],
		[
			"LEAD: 5, fee 0",
			/^invalid_rate: LEAD: “5” is not a rate\. Write a percentage, an amount or both: “8 %”, “5\.00 EUR” or “8 % \+ 5\.00 EUR”\.$/,
		],
		[
			"LEAD: 5 USD, fee 0",
			/^invalid_rate: LEAD: “5 USD” is in USD, but the programme's currency is EUR\. Write the amount like “5\.00 EUR”\.$/,
		],
		["lead 5 EUR, fee 0", /^invalid_rate: “lead 5 EUR, fee 0” has no colon after its event type\. Write/],
		["LEAD: , fee 0", /^invalid_rate: LEAD: “” is not a rate/],
		["LEAD: 5 % + 5 %, fee 0", /^invalid_rate: LEAD: “5 % \+ 5 %” is not a rate/],
		["LEAD: 101 %, fee 0", /^invalid_rate: LEAD: “101 %” must be a percentage from 0 to 100/],
		["LEAD: 5 EUR, fee 0.001 EUR", /^amount_too_precise: LEAD: The fixed amount has too many decimals/],
		["LEAD: -5 EUR, fee 0", /^negative_amount: LEAD: The fixed amount must not be negative/],
		["LEAD: 1000000000000 EUR, fee 0", /^amount_too_large: LEAD: /],
		[" ".repeat(1_001), /^invalid_rate: Enter at most 1000 characters\.$/],
		[`${"x".repeat(500)}: 5 EUR`, /^unknown_event_type: “x{60}…” is not an event type/],
	] as const;
	for (const [text, refusal] of cases) {
		assert.match(refusalAt("eventRates", parseRatesByType(text, "EUR", "eventRates")), refusal, text);
	}
	const own = parseCommissionsByType("LEAD: 5 EUR, fee 0", "EUR", "eventRates");
	assert.match(refusalAt("eventRates", own), /^invalid_rate: LEAD: “5 EUR, fee 0” is not a rate/);
});
