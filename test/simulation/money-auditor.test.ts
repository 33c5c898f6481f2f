// Tests the auditor of money itself. It must accept rows without a mistake, and find every way to break a promise.

import { doesNotThrow, throws } from "node:assert/strict";
import { describe, test } from "node:test";
import { auditMoney, type StatementCopies } from "../support/money-auditor.ts";
import { makeSoundMoney } from "../support/sound-money.ts";

const MINIMUMS: ReadonlyMap<string, bigint> = new Map([["EUR", 1_000n]]);

const BONUS = {
	...{ partner_id: 2, programme_id: null, kind: "ADJUSTED" },
	...{ amount: "30.00", currency: "EUR", at_ms: 0 },
};

type Rows = ReturnType<typeof makeSoundMoney>;

test("sound rows pass, also a second time", () => {
	const copies: StatementCopies = new Map();
	doesNotThrow(() => auditMoney(makeSoundMoney(), MINIMUMS, copies));
	doesNotThrow(() => auditMoney(makeSoundMoney(), MINIMUMS, copies));
});

function change<Row extends object>(rows: readonly Row[], index: number, changed: Partial<Row>): void {
	Object.assign(rows[index] ?? {}, changed);
}

const DEFECTS: Readonly<Record<string, readonly [plant: (rows: Rows) => unknown, finding: RegExp]>> = {
	"an approval has no entry": [({ entries }) => entries.shift(), /^9 /],
	"a refund has no entry": [({ entries }) => entries.splice(1, 1), /^9 /],
	"an entry is there twice": [({ entries }) => entries.unshift(...entries.slice(0, 1)), /^9 /],
	"a reversed sale has entries that do not add up to zero": [
		({ conversions }) => change(conversions, 0, { status: "REVERSED" }),
		/^9 /,
	],
	"a test sale has entries": [({ conversions }) => change(conversions, 0, { test: 1 }), /^9 /],
	"a sale is credited to another partner than its entries": [
		({ conversions }) => change(conversions, 0, { partner_id: 2 }),
		/^9 /,
	],
	"a fee does not follow from its rate": [
		({ conversions }) => change(conversions, 0, { network_fee: "0.13" }),
		/^12 /,
	],
	"a sale is charged another fee than the recorded one": [
		({ conversions }) => change(conversions, 0, { rates: "8 7", network_fee: "0.42" }),
		/^12 /,
	],
	"a sale is back with its first partner at another commission": [
		({ conversions }) => change(conversions, 0, { first_commission: "20" }),
		/^12 /,
	],
	"an entry has another currency than its sale": [
		({ entries }) => change(entries, 0, { currency: "JPY" }),
		/^9 /,
	],
	"entries belong to no sale": [({ conversions }) => conversions.pop(), /^9 .*there are no conversions 1/],
	"an entry is neither open nor in a statement": [({ open }) => open.pop(), /^10 /],
	"an entry is open and in a statement": [({ open }) => open.push({ ...BONUS, entry_id: 4 }), /^10 /],
	"an entry is in two statements": [
		({ contained }) => contained.push({ partner_id: 2, entry_id: 3, statement_id: 2 }),
		/^10 /,
	],
	"an entry is in a statement under another partner": [
		({ contained }) => change(contained, 0, { partner_id: 1 }),
		/^10 /,
	],
	"a payment is open": [({ open }) => open.push({ ...BONUS, entry_id: 5 }), /^10 /],
	"an open row has another partner than its entry": [
		({ open }) => change(open, 0, { partner_id: 2 }),
		/^10 /,
	],
	"an open row has no entry": [
		({ open }) => open.push({ ...BONUS, entry_id: 9 }),
		/^10 .*there are no entries 9/,
	],
	"a statement contains an entry from after its month": [
		({ entries }) => change(entries, 3, { at_ms: Date.UTC(2026, 10, 1) }),
		/^11 .*2026-0002 contains/,
	],
	"a statement contains an entry of another partner": [
		({ entries, contained }) => {
			change(entries, 3, { partner_id: 1 });
			change(contained, 1, { partner_id: 1 });
		},
		/^11 .*2026-0002 contains/,
	],
	"a statement does not add up": [({ statements }) => change(statements, 1, { total: "26.00" }), /^11 /],
	"a part of a statement is not the sum of its entries": [
		({ statements }) => change(statements, 1, { adjusted: "29.00", changed: "1.00" }),
		/^11 .*has changed 1.00/,
	],
	"a statement does not start with what was carried forward": [
		({ statements, entries }) => [
			change(statements, 1, { opening: "0.00", total: "30.00" }),
			change(entries, 4, { amount: "-30.00" }),
		],
		/^11 .*follows/,
	],
	"a statement is for an earlier month than the last one": [
		({ statements, entries }) => [
			change(statements, 1, { month: "2026-08" }),
			change(entries, 3, { at_ms: 0 }),
		],
		/^11 .*follows/,
	],
	"a statement with a negative total is to be paid": [
		({ statements }) => change(statements, 0, { is_carried: 0 }),
		/^11 .*is to be paid/,
	],
	"a number is left out": [
		({ statements }) => change(statements, 1, { seq: 3, number: "2026-0003" }),
		/^11 .*gap before 2026-0003/,
	],
	"the counter of numbers is ahead": [({ numbers }) => change(numbers, 0, { last: 3 }), /^11 .*not 3/],
	"a payment has no entry": [({ entries }) => entries.pop(), /^11 .*paid by 5/],
	"an entry of a payment has no payment": [({ payments }) => payments.pop(), /^11 .*paid by undefined/],
	"a payment has another amount than its statement": [
		({ entries }) => change(entries, 4, { amount: "-24.00" }),
		/^11 .*paid by 5/,
	],
	"a statement is paid twice": [
		({ entries }) => entries.push(...entries.slice(4).map((entry) => ({ ...entry, id: 6 }))),
		/^11 .*paid by 5/,
	],
};

describe("the auditor finds it", () => {
	for (const [title, [plant, finding]] of Object.entries(DEFECTS)) {
		test(`when ${title}`, () => {
			const rows = makeSoundMoney();
			plant(rows);
			throws(() => auditMoney(rows, MINIMUMS, new Map()), { message: finding });
		});
	}
	test("when a statement below the minimum payout is to be paid", () => {
		const minimums = new Map([["EUR", 2_501n]]);
		throws(() => auditMoney(makeSoundMoney(), minimums, new Map()), {
			message: /^11 .*25.00 EUR is to be paid/,
		});
	});
	test("when a statement changes after it was issued", () => {
		const copies: StatementCopies = new Map();
		auditMoney(makeSoundMoney(), MINIMUMS, copies);
		const rows = makeSoundMoney();
		change(rows.statements, 0, { time_zone: "Europe/Paris" });
		throws(() => auditMoney(rows, MINIMUMS, copies), { message: /^11 .*was issued and is now/ });
	});
	test("when a statement disappears", () => {
		const copies: StatementCopies = new Map();
		auditMoney(makeSoundMoney(), MINIMUMS, copies);
		const rows = makeSoundMoney();
		rows.statements.pop();
		rows.contained.pop();
		rows.entries.splice(3, 2);
		rows.payments.pop();
		rows.numbers.splice(0, 1, { year: 2026, last: 1 });
		throws(() => auditMoney(rows, MINIMUMS, copies), { message: /^11 .*is gone/ });
	});
});
