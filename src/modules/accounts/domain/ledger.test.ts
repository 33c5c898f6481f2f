import assert from "node:assert/strict";
import { test } from "node:test";
import { entriesFor, type Owing } from "./ledger.ts";

const owing = (change: Partial<Owing> = {}): Owing => ({
	...{ status: "APPROVED", commission: "4.20", isTest: false, partnerId: 1 },
	...change,
});
const recorded = owing({ status: "RECORDED" });

const CASES: readonly (readonly [
	what: string,
	before: Owing | null,
	after: Owing,
	entries: readonly string[],
])[] = [
	["an approval earns the commission", recorded, owing(), ["1 EARNED 4.20"]],
	["a conversion that starts approved is earned", null, owing(), ["1 EARNED 4.20"]],
	["a refund takes back the difference", owing(), owing({ commission: "3.00" }), ["1 CHANGED -1.20"]],
	["a reversal takes back what is left", owing(), owing({ status: "REVERSED" }), ["1 CHANGED -4.20"]],
	[
		"another partner gets it, with its own rate",
		owing(),
		owing({ partnerId: 2, commission: "5.00" }),
		["1 CHANGED -4.20", "2 CHANGED 5.00"],
	],
	["a partner is found later", owing({ partnerId: null }), owing(), ["1 CHANGED 4.20"]],
	["the partner is removed", owing(), owing({ partnerId: null, commission: "0.00" }), ["1 CHANGED -4.20"]],
	["the same partner and amount", owing(), owing(), []],
	["a rejection owes nothing", recorded, owing({ status: "REJECTED" }), []],
	["a refund before the approval owes nothing", recorded, { ...recorded, commission: "3.00" }, []],
	["nobody is credited", owing({ partnerId: null, status: "RECORDED" }), owing({ partnerId: null }), []],
	["a test owes nothing", owing({ status: "RECORDED", isTest: true }), owing({ isTest: true }), []],
	["a commission of zero", recorded, owing({ commission: "0.00" }), []],
	[
		"a currency without decimals",
		owing({ status: "RECORDED", commission: "420" }),
		owing({ commission: "420" }),
		["1 EARNED 420"],
	],
	[
		"a currency with three decimals",
		owing({ commission: "0.420" }),
		owing({ commission: "0.370" }),
		["1 CHANGED -0.050"],
	],
];

for (const [what, before, after, entries] of CASES) {
	test(`${what}: ${entries.join(", ") || "no entry"}`, () => {
		const found = entriesFor(before, after).map(
			({ partnerId, kind, amount }) => `${partnerId} ${kind} ${amount}`,
		);
		assert.deepEqual(found, entries);
	});
}
