// Rows about money that keep every promise, for tests of the auditor.

import type { MoneyRows } from "./money-auditor.ts";

/** Rows that a test may change. */
type Draft<Rows> = {
	-readonly [Name in keyof Rows]: Rows[Name] extends readonly (infer Row)[] ? Row[] : never;
};

const OCTOBER_MS = Date.UTC(2026, 9, 10);
const NOVEMBER_MS = Date.UTC(2026, 10, 10);

/**
 * Returns the rows of two partners. Partner 1 has an approved and refunded sale in November, which is still open. Partner
 * 2 has a statement for September that was carried forward, and one for October that was paid.
 */
export function makeSoundMoney(): Draft<MoneyRows> {
	const sale = { partner_id: 1, programme_id: 1, conversion_id: 1, currency: "EUR", statement_id: null };
	const earned = { ...sale, kind: "EARNED", amount: "0.80", at_ms: NOVEMBER_MS };
	const changed = { ...sale, kind: "CHANGED", amount: "-0.32", at_ms: NOVEMBER_MS };
	const bonus = {
		partner_id: 2,
		programme_id: null,
		conversion_id: null,
		currency: "EUR",
		statement_id: null,
	};
	const statement = { year: 2026, partner_id: 2, currency: "EUR", time_zone: "UTC", earned: "0.00" };
	return {
		conversions: [
			{
				...{ id: 1, programme_id: 1, status: "APPROVED", test: 0 },
				...{ basket_value: "6.00", commission: "0.48", network_fee: "0.12", currency: "EUR" },
				...{ rates: "8 2", fee_rate: "2", partner_id: 1, partnership_id: 1 },
				...{ first_partnership_id: 1, first_commission: "8" },
			},
		],
		entries: [
			{ ...earned, id: 1 },
			{ ...changed, id: 2 },
			{ ...bonus, id: 3, kind: "ADJUSTED", amount: "-5.00", at_ms: 0 },
			{ ...bonus, id: 4, kind: "ADJUSTED", amount: "30.00", at_ms: OCTOBER_MS },
			{ ...bonus, id: 5, kind: "PAID", amount: "-25.00", at_ms: NOVEMBER_MS, statement_id: 2 },
		],
		open: [
			{ ...earned, entry_id: 1 },
			{ ...changed, entry_id: 2 },
		],
		contained: [
			{ partner_id: 2, entry_id: 3, statement_id: 1 },
			{ partner_id: 2, entry_id: 4, statement_id: 2 },
		],
		statements: [
			{
				...{ ...statement, id: 1, number: "2026-0001", seq: 1, month: "2026-09", is_carried: 1 },
				...{ opening: "0.00", changed: "0.00", adjusted: "-5.00", total: "-5.00" },
			},
			{
				...{ ...statement, id: 2, number: "2026-0002", seq: 2, month: "2026-10", is_carried: 0 },
				...{ opening: "-5.00", changed: "0.00", adjusted: "30.00", total: "25.00" },
			},
		],
		lines: [],
		numbers: [{ year: 2026, last: 2 }],
		payments: [{ statement_id: 2, entry_id: 5 }],
	};
}
