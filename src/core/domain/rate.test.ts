import assert from "node:assert/strict";
import { test } from "node:test";
import {
	amountAt,
	amountLeft,
	effectiveCommissions,
	findCommission,
	noRates,
	ratesFor,
	readAppliedRates,
	readByType,
	readRate,
	readRates,
	writeByType,
	writeRates,
} from "./rate.ts";

const rate = (text: string) => readRate(text, "0.00");

test("an amount is the percentage of the basket plus the fixed amount, rounded once", () => {
	const cases: readonly (readonly [basket: string, rate: string, zero: string, amount: string])[] = [
		["100.00", "7.5", "0.00", "7.50"],
		["0.00", "0+5.00", "0.00", "5.00"],
		["19.99", "7.5+0.30", "0.00", "1.80"],
		["0.50", "1", "0.00", "0.01"],
		["1299", "10+50", "0", "180"],
		["1.999", "12.5+0.100", "0.000", "0.350"],
	];
	for (const [basket, text, zero, amount] of cases) {
		assert.equal(amountAt(basket, readRate(text, zero)), amount, `${basket} at ${text}`);
	}
});

test("a commission for an event type applies before a general one, and the partnership's before the programme's", () => {
	const programme = {
		...{ commission: rate("8"), fee: rate("2") },
		byType: {
			LEAD: { commission: rate("0+5.00"), fee: rate("0+1.00") },
			SIGNUP: { commission: rate("0+2.00"), fee: rate("2") },
		},
	};
	const partnership = { commission: rate("10"), byType: { SIGNUP: rate("0+3.00"), OTHER: rate("1") } };
	const general = { commission: null, byType: {} };
	const cases = [
		["SALE", "8", "10", "partnership"],
		["LEAD", "0+5.00", "0+5.00", "programme's type"],
		["SIGNUP", "0+2.00", "0+3.00", "partnership's type"],
		["OTHER", "8", "1", "partnership's type"],
		[null, "8", "10", "partnership"],
	] as const;
	for (const [eventType, usual, agreed, source] of cases) {
		assert.deepEqual(findCommission(programme, partnership, eventType), { rate: rate(agreed), source });
		for (const none of [null, general]) {
			assert.deepEqual(findCommission(programme, none, eventType).rate, rate(usual), `${eventType}`);
		}
	}
	assert.deepEqual(ratesFor(programme, partnership, "LEAD"), programme.byType.LEAD);
	assert.deepEqual(ratesFor(programme, partnership, "SALE"), { commission: rate("10"), fee: rate("2") });
	assert.deepEqual(effectiveCommissions(programme, partnership), {
		general: rate("10"),
		byType: { LEAD: rate("0+5.00"), SIGNUP: rate("0+3.00"), OTHER: rate("1") },
	});
});

test("rates are stored as short text and read back", () => {
	const rates = { commission: rate("7.5000+5.00"), fee: rate("0") };
	assert.equal(writeRates(rates), "7.5+5.00 0");
	assert.deepEqual(readRates(writeRates(rates), "0.00"), rates);
	assert.equal(writeRates(noRates("0.00")), "0 0");
	const byType = { SALE: rates, LEAD: noRates("0.00") };
	const text = writeByType(byType, writeRates);
	assert.equal(text, "SALE=7.5+5.00 0;LEAD=0 0");
	assert.deepEqual(
		readByType(text, (one) => readRates(one, "0.00")),
		byType,
	);
	assert.deepEqual(
		readByType("", (one) => readRates(one, "0.00")),
		{},
	);
});

test("the original amounts of an imported conversion are stored in place of its rates", () => {
	const rates = {
		commission: { amount: "9.74", basketValue: "129.90" },
		fee: { amount: "0.00", basketValue: "129.90" },
	};
	assert.equal(writeRates(rates), "9.74/129.90 0.00/129.90");
	assert.deepEqual(readAppliedRates(writeRates(rates), "0.00"), rates);
	assert.equal(amountLeft("129.90", rates.commission), "9.74");
	assert.equal(amountLeft("64.95", rates.commission), "4.87");
	assert.equal(amountLeft("0.01", rates.fee), "0.00");
	assert.deepEqual(readAppliedRates("7.5+5.00 0", "0.00"), { commission: rate("7.5+5.00"), fee: rate("0") });
});
