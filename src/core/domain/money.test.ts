import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault, FaultCode, Result } from "./fault.ts";
import { currencyDigits, parseAmount, parseRate, parseTypedAmount, shareOf } from "./money.ts";

/** Currencies with 0, 2, 3 and 4 decimals. */
const CURRENCIES = ["JPY", "EUR", "BHD", "CLF"] as const;

test("a currency has the digits that ISO 4217 gives it", () => {
	const codesByDigits: [digits: number, codes: string][] = [
		[0, "JPY KRW CLP ISK VND XAF XOF XPF UYI"],
		[2, "EUR USD GBP CHF PLN HUF MGA MRU XAD XCG ZWG ZAR AED"],
		[3, "BHD IQD JOD KWD LYD OMR TND"],
		[4, "CLF UYW"],
	];
	for (const [digits, codes] of codesByDigits) {
		for (const code of codes.split(" ")) assert.equal(accepted(currencyDigits(code)), digits, code);
	}
});

test("a code that is not an active currency is refused, withdrawn codes and metals included", () => {
	const misspelt = ["", " ", "eur", "Eur", "EUR ", "EUR\n", "EURO", "EU", "ＥＵＲ", "AED AFN", "toString"];
	const inactive = ["BGN", "HRK", "DEM", "ANG", "XAU", "XDR", "XXX", "XTS"];
	for (const code of [...misspelt, ...inactive]) {
		assert.deepEqual(shapeOf(currencyDigits(code)), ["unknown_currency", "currency"], code);
	}
	assert.ok(refused(currencyDigits("x".repeat(10_000))).detail.length < 200);
});

test("contract 2.1: an amount in a good form becomes a decimal string with exactly the currency's digits", () => {
	const cases: [text: string, currency: string, canonical: string][] = [
		["0", "JPY", "0"],
		["1299", "JPY", "1299"],
		["0", "EUR", "0.00"],
		["0.0", "EUR", "0.00"],
		["0.01", "EUR", "0.01"],
		["12", "EUR", "12.00"],
		["12.5", "EUR", "12.50"],
		["12.50", "EUR", "12.50"],
		["129.9", "BHD", "129.900"],
		["129.999", "BHD", "129.999"],
		["1", "CLF", "1.0000"],
		["0.0001", "CLF", "0.0001"],
		["999999999999", "JPY", "999999999999"],
		["999999999999.99", "EUR", "999999999999.99"],
	];
	for (const [text, currency, canonical] of cases) {
		assert.equal(accepted(parseAmount(text, currency, "basketValue")), canonical, `${text} ${currency}`);
	}
});

test("a malformed amount is answered with an example that would be accepted", () => {
	for (const currency of CURRENCIES) {
		const example = /"(.+)"/.exec(refused(parseAmount("x", currency, "basketValue")).detail)?.[1] ?? "";
		assert.equal(accepted(parseAmount(example, currency, "basketValue")), example);
	}
});

test("an amount that is negative, too precise or too large is refused with its own code", () => {
	const cases: [text: string, currency: string, code: FaultCode][] = [
		["-1", "EUR", "negative_amount"],
		["-0", "EUR", "negative_amount"],
		["-0.01", "EUR", "negative_amount"],
		["-999999999999999", "JPY", "negative_amount"],
		["1.0", "JPY", "amount_too_precise"],
		["1.000", "EUR", "amount_too_precise"],
		["0.001", "EUR", "amount_too_precise"],
		["0.0001", "BHD", "amount_too_precise"],
		["0.00001", "CLF", "amount_too_precise"],
		["1000000000000", "EUR", "amount_too_large"],
		["1000000000000.00", "EUR", "amount_too_large"],
		["9".repeat(100_000), "JPY", "amount_too_large"],
		["12.50", "XXX", "unknown_currency"],
	];
	for (const [text, currency, code] of cases) {
		const field = code === "unknown_currency" ? "currency" : "commission";
		const found = shapeOf(parseAmount(text, currency, "commission"));
		assert.deepEqual(found, [code, field], `${text.slice(0, 20)} ${currency}`);
	}
});

test("a rate from 0 to 100 percent gets four decimals", () => {
	const cases: [text: string, canonical: string][] = [
		["0", "0.0000"],
		["0.0", "0.0000"],
		["0.0001", "0.0001"],
		["7.5", "7.5000"],
		["7,5", "7.5000"],
		["0,0001", "0.0001"],
		["5%", "5.0000"],
		["1,5 %", "1.5000"],
		["1,5\u00a0%", "1.5000"],
		["100.0\u202f%", "100.0000"],
		["10", "10.0000"],
		["12.3456", "12.3456"],
		["99.9999", "99.9999"],
		["100", "100.0000"],
		["100.0000", "100.0000"],
	];
	for (const [text, canonical] of cases) assert.equal(accepted(parseRate(text, "commissionRate")), canonical);
});

test("a share is rounded half up", () => {
	const cases: [amount: string, rate: string, share: string][] = [
		["129.90", "8.0000", "10.39"],
		["129.90", "2.0000", "2.60"],
		["0.01", "50.0000", "0.01"],
		["0.01", "49.9999", "0.00"],
		["0.03", "50.0000", "0.02"],
		["0.05", "10.0000", "0.01"],
		["0.05", "9.9999", "0.00"],
		["2.50", "1.0000", "0.03"],
		["1", "50.0000", "1"],
		["1", "49.9999", "0"],
		["3", "50.0000", "2"],
		["0.001", "50.0000", "0.001"],
		["0.0001", "50.0000", "0.0001"],
		["0.0001", "49.9999", "0.0000"],
		["50.00", "0.0100", "0.01"],
		["49.99", "0.0100", "0.00"],
	];
	for (const [amount, rate, share] of cases)
		assert.equal(shareOf(amount, rate), share, `${rate}% of ${amount}`);
});

function accepted<Value>(result: Result<Value>): Value {
	assert.ok(result.ok, JSON.stringify(result));
	return result.value;
}

function refused(result: Result<unknown>): Fault {
	assert.ok(!result.ok, JSON.stringify(result));
	return result.fault;
}

function shapeOf(result: Result<unknown>): [FaultCode, string | undefined] {
	const { code, field } = refused(result);
	return [code, field];
}

test("an amount as people write it may have a decimal comma, and one that may be grouped is refused", () => {
	const read = (text: string, currency: string) => {
		const parsed = parseTypedAmount(text, currency, "amount");
		return parsed.ok ? parsed.value : parsed.fault.code;
	};
	assert.equal(read("12,5", "EUR"), "12.50");
	assert.equal(read("12.5", "EUR"), "12.50");
	assert.equal(read("1,250", "EUR"), "amount_too_precise");
	assert.equal(read("1.250,00", "EUR"), "malformed_amount");
	assert.equal(read("1,250", "KWD"), "malformed_amount");
	assert.equal(read("1.250", "KWD"), "1.250");
	assert.equal(read("1,25", "KWD"), "1.250");
});
