import assert from "node:assert/strict";
import { test } from "node:test";
import { STATUSES } from "#core/domain/conversion.ts";
import type { AppliedRates, Rates } from "#core/domain/rate.ts";
import {
	findRefundObstacle,
	includesRefunds,
	judgeRefund,
	type KnownRefund,
	MAX_REFUNDS,
	parseRefundValue,
	type Refundable,
	type RefundValue,
} from "./refund.ts";

const rates = (commission: string, fee: string, fixed = "0.00"): Rates => ({
	commission: { percent: commission, fixed },
	fee: { percent: fee, fixed: fixed.replace(/[1-9]/g, "0") },
});

const sale = (change: Partial<Refundable> = {}): Refundable => ({
	...{ status: "RECORDED", source: "postback", isConfirmed: false, currency: "EUR" },
	...{ basketValue: "100.00", rates: rates("7.5000", "2.0000") },
	...change,
});

/** Returns the rates of an imported conversion with these original amounts. */
const imported = (basketValue: string, commission: string, fee: string): AppliedRates => ({
	commission: { amount: commission, basketValue },
	fee: { amount: fee, basketValue },
});

const stored = (refundId: string, amount: string, basketValue: string): KnownRefund => ({
	refundId,
	amount,
	basketValue,
});

/** Describes the verdict on a refund R-1 in a line. */
function judge(conversion: Refundable, value: RefundValue, refunds: readonly KnownRefund[] = []): string {
	const verdict = judgeRefund(conversion, refunds, { refundId: "R-1", value });
	switch (verdict.kind) {
		case "refund": {
			const { basketValue, commission, networkFee } = verdict.left;
			return `refund ${verdict.amount}, left ${basketValue} ${commission} ${networkFee}`;
		}
		case "reverse":
			return `reverse ${verdict.amount}`;
		case "already":
			return "already";
		case "refuse":
			return verdict.fault.code;
		default:
			return verdict satisfies never;
	}
}

const yen = { currency: "JPY", basketValue: "1000" };
const dinar = { currency: "KWD", basketValue: "10.000" };

const CASES: readonly (readonly [
	what: string,
	conversion: Partial<Refundable>,
	value: RefundValue,
	verdict: string,
])[] = [
	["a part by its amount", {}, { amount: "30.00" }, "refund 30.00, left 70.00 5.25 1.40"],
	["a part by what is left", {}, { basketValue: "70.00" }, "refund 30.00, left 70.00 5.25 1.40"],
	[
		"a part after the approval",
		{ status: "APPROVED" },
		{ amount: "0.01" },
		"refund 0.01, left 99.99 7.50 2.00",
	],
	["all but a cent", {}, { amount: "99.99" }, "refund 99.99, left 0.01 0.00 0.00"],
	["everything by its amount", {}, { amount: "100.00" }, "reverse 100.00"],
	["everything by what is left", {}, { basketValue: "0.00" }, "reverse 100.00"],
	[
		"a sale that a pixel and then the server reported",
		{ source: "pixel", isConfirmed: true },
		{ amount: "30.00" },
		"refund 30.00, left 70.00 5.25 1.40",
	],
	[
		"a fixed amount stays",
		{ rates: rates("0.0000", "2.0000", "5.00") },
		{ amount: "30.00" },
		"refund 30.00, left 70.00 5.00 1.40",
	],
	[
		"an imported sale shrinks in proportion",
		{ rates: imported("100.00", "9.99", "0.01") },
		{ amount: "33.33" },
		"refund 33.33, left 66.67 6.66 0.01",
	],
	["yen", { ...yen, rates: rates("7.5000", "2.0000", "0") }, { amount: "333" }, "refund 333, left 667 50 13"],
	["all yen", { ...yen, rates: rates("7.5000", "2.0000", "0") }, { amount: "1000" }, "reverse 1000"],
	[
		"imported yen",
		{ ...yen, rates: imported("1000", "75", "20") },
		{ amount: "1" },
		"refund 1, left 999 75 20",
	],
	[
		"dinars",
		{ ...dinar, rates: rates("7.5000", "2.0000", "0.000") },
		{ amount: "3.333" },
		"refund 3.333, left 6.667 0.500 0.133",
	],
	[
		"all dinars",
		{ ...dinar, rates: imported("10.000", "0.750", "0.200") },
		{ basketValue: "0.000" },
		"reverse 10.000",
	],
	["more than is left", {}, { amount: "100.01" }, "refund_above_value"],
	["a value above the present one", {}, { basketValue: "100.01" }, "value_not_lower"],
	["the present value", {}, { basketValue: "100.00" }, "value_not_lower"],
	["a sale without a value", { basketValue: "0.00" }, { amount: "1.00" }, "nothing_to_refund"],
	["a sale that only a pixel reported", { source: "pixel" }, { amount: "1.00" }, "not_confirmed"],
	[
		"a sale that only a pixel reported and the shop approved",
		{ source: "pixel", status: "APPROVED" },
		{ amount: "30.00" },
		"refund 30.00, left 70.00 5.25 1.40",
	],
];

for (const [what, change, value, verdict] of CASES) {
	test(`a refund of ${what}: ${verdict}`, () => assert.equal(judge(sale(change), value), verdict));
}

test("a conversion that is parked, expired, rejected or reversed is not refunded, and the refusal names its status", () => {
	for (const status of STATUSES) {
		const obstacle = findRefundObstacle(sale({ status }));
		if (status === "RECORDED" || status === "APPROVED") {
			assert.equal(obstacle, null);
			continue;
		}
		assert.equal(obstacle?.code, "move_not_allowed");
		assert.match(obstacle?.detail ?? "", new RegExp(`is ${status} and cannot be refunded`));
		assert.equal(judge(sale({ status }), { amount: "1.00" }), "move_not_allowed");
	}
});

test("the same refund again is already done, by its amount or by what was left, whatever the conversion is now", () => {
	const before = [stored("R-0", "5.00", "95.00"), stored("R-1", "30.00", "65.00")];
	for (const status of STATUSES) {
		const present = sale({ status, basketValue: "65.00" });
		assert.equal(judge(present, { amount: "30.00" }, before), "already");
		assert.equal(judge(present, { basketValue: "65.00" }, before), "already");
		assert.equal(judge(present, { amount: "30.01" }, before), "refund_id_used");
		assert.equal(judge(present, { basketValue: "64.00" }, before), "refund_id_used");
	}
});

test("refusals say how much is left, and which amount the refund had", () => {
	const detailOf = (value: RefundValue, refunds: readonly KnownRefund[] = []) => {
		const verdict = judgeRefund(sale({ basketValue: "60.00" }), refunds, { refundId: "R-1", value });
		assert.ok(verdict.kind === "refuse");
		return verdict.fault.detail;
	};
	assert.match(
		detailOf({ amount: "75.00" }),
		/^Only 60\.00 EUR is left of this conversion, so 75\.00 cannot/,
	);
	assert.match(detailOf({ basketValue: "75.00" }), /must be below 60\.00 EUR/);
	assert.match(detailOf({ amount: "1.00" }, [stored("R-1", "40.00", "60.00")]), /R-1 .* with 40\.00 EUR/);
});

test("a conversion takes a limited number of refunds, and still knows those that it has", () => {
	const refunds = Array.from({ length: MAX_REFUNDS }, (_, n) => stored(`R-${n}`, "0.01", "98.00"));
	const other = refunds.map((refund) => ({ ...refund, refundId: `other ${refund.refundId}` }));
	assert.equal(judge(sale(), { amount: "1.00" }, other), "too_many_refunds");
	assert.equal(judge(sale(), { amount: "0.01" }, refunds), "already");
	assert.equal(judge(sale(), { amount: "1.00" }, other.slice(1)), "refund 1.00, left 99.00 7.43 1.98");
});

test("refunds one after the other leave the same amounts as one refund of their sum", () => {
	for (const whole of [sale(), sale({ rates: imported("100.00", "9.99", "0.37") })]) {
		for (const cents of [1, 7, 333, 4_999]) {
			let present = whole;
			for (let n = 1; n * cents < 10_000 && n < 50; n++) {
				const amount = (cents / 100).toFixed(2);
				const verdict = judgeRefund(present, [], { refundId: `R-${n}`, value: { amount } });
				assert.ok(verdict.kind === "refund");
				const atOnce = judgeRefund(whole, [], {
					refundId: "sum",
					value: { amount: ((n * cents) / 100).toFixed(2) },
				});
				assert.ok(atOnce.kind === "refund");
				assert.deepEqual(verdict.left, atOnce.left);
				present = { ...present, basketValue: verdict.left.basketValue };
			}
		}
	}
});

test("a conversion that was read before its last refund was stored is recognised", () => {
	const refunds = [stored("R-1", "30.00", "70.00"), stored("R-2", "20.00", "50.00")];
	const has = (
		refundedValue: string | null,
		status: (typeof STATUSES)[number],
		known: readonly KnownRefund[],
	) => includesRefunds({ status, refundedValue }, known);
	assert.ok(has(null, "RECORDED", []));
	assert.ok(has("50.00", "APPROVED", refunds));
	assert.ok(!has("30.00", "APPROVED", refunds));
	assert.ok(!has(null, "RECORDED", refunds));
	const full = [...refunds, stored("R-3", "50.00", "0.00")];
	assert.ok(!has("50.00", "APPROVED", full));
	assert.ok(has("50.00", "REVERSED", full));
});

const INPUTS: readonly (readonly [
	input: Parameters<typeof parseRefundValue>[0],
	currency: string,
	parsed: string,
])[] = [
	[{ amount: "30" }, "EUR", '{"amount":"30.00"}'],
	[{ basketValue: "0" }, "EUR", '{"basketValue":"0.00"}'],
	[{ amount: "30", currency: "EUR" }, "EUR", '{"amount":"30.00"}'],
	[{ amount: "30" }, "JPY", '{"amount":"30"}'],
	[{ amount: "0.5" }, "KWD", '{"amount":"0.500"}'],
	[{ amount: "30", currency: "USD" }, "EUR", "wrong_currency currency"],
	[{ amount: "30", currency: "eur" }, "EUR", "unknown_currency currency"],
	[{}, "EUR", "invalid_field amount"],
	[{ amount: "30", basketValue: "70" }, "EUR", "invalid_field amount"],
	[{ amount: "0.00" }, "EUR", "zero_refund amount"],
	[{ amount: "-1.00" }, "EUR", "negative_amount amount"],
	[{ basketValue: "-1.00" }, "EUR", "negative_amount basketValue"],
	[{ amount: "1.001" }, "EUR", "amount_too_precise amount"],
	[{ amount: "0.5" }, "JPY", "amount_too_precise amount"],
	[{ amount: "1,50" }, "EUR", "malformed_amount amount"],
	[{ amount: "1234567890123" }, "EUR", "amount_too_large amount"],
];

for (const [input, currency, parsed] of INPUTS) {
	test(`the value ${JSON.stringify(input)} in ${currency} gives ${parsed}`, () => {
		const result = parseRefundValue(input, currency);
		const found = result.ok ? JSON.stringify(result.value) : `${result.fault.code} ${result.fault.field}`;
		assert.equal(found, parsed);
	});
}
