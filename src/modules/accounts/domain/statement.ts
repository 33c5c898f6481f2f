// A statement says what a partner earned up to the end of a month, in one currency.
// docs/decisions/statements.md explains statements.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { addAmounts, minorUnits } from "#core/domain/money.ts";
import { dayIn, dayStartMs, sayMonth } from "#core/domain/zone-day.ts";

/** States of an issued statement. Whether it is carried forward never changes, and a payment can be undone. */
export const STATEMENT_STATES = ["to_pay", "paid", "carried"] as const;
export type StatementState = (typeof STATEMENT_STATES)[number];

/** Amounts of a statement, in canonical form of its currency. Each may be negative. */
export interface StatementAmounts {
	/** Total of the partner's statement before this one, if that was carried forward. */
	opening: string;
	earned: string;
	changed: string;
	adjusted: string;
}

export function totalOf({ opening, earned, changed, adjusted }: StatementAmounts): string {
	return [earned, changed, adjusted].reduce(addAmounts, opening);
}

/**
 * Returns whether nothing is paid and the next statement starts with the total. `minimum` is the network's minimum
 * payout in this currency, or undefined if there is none.
 */
export function isCarriedForward(total: string, minimum: string | undefined): boolean {
	const owed = minorUnits(total);
	return owed <= 0n || (minimum !== undefined && owed < minorUnits(minimum));
}

export function stateOfStatement(statement: { is_carried: 0 | 1 }, isPaid: boolean): StatementState {
	if (statement.is_carried === 1) return "carried";
	return isPaid ? "paid" : "to_pay";
}

const NUMBER_DIGITS = 4;

/** Returns the number that people use: 42 in 2026 becomes "2026-0042". */
export function writeNumber(year: number, seq: number): string {
	return `${year}-${String(seq).padStart(NUMBER_DIGITS, "0")}`;
}

// Months are texts such as "2026-10". Their ends depend on the network's time zone.

const MONTH = /^[12]\d{3}-(?:0[1-9]|1[0-2])$/;

export function parseMonth(text: string): Result<string> {
	const month = text.trim();
	if (MONTH.test(month)) return succeed(month);
	return refuse("invalid_month", "Enter a month as year and month, such as 2026-10.", "month");
}

/** Returns the month of a moment in a time zone. */
export function monthIn(atMs: number, zone: string): string {
	return dayIn(atMs, zone).slice(0, "2026-10".length);
}

export function monthBefore(month: string): string {
	return Temporal.PlainYearMonth.from(month).subtract({ months: 1 }).toString();
}

/** Returns the first moment after a month in a time zone. */
export function monthEndMs(month: string, zone: string): number {
	return dayStartMs(`${Temporal.PlainYearMonth.from(month).add({ months: 1 })}-01`, zone);
}

/** Checks that a month is over in a time zone, because its statements must contain all entries of the month. */
export function checkMonthIsOver(month: string, zone: string, nowMs: number): Result<string> {
	if (monthEndMs(month, zone) <= nowMs) return succeed(month);
	const last = sayMonth(monthBefore(monthIn(nowMs, zone)));
	const detail = `${sayMonth(month)} is not over yet in the network's time zone (${zone}). Choose ${last} or an earlier month.`;
	return refuse("month_not_over", detail, "month");
}

const MAX_REFERENCE_LENGTH = 140;

/** The part of a statement that decides on which days it can have been paid. */
interface Issued {
	number: string;
	issued_at_ms: number;
}

/** Parses the day of a payment, which a bank writes as 2026-11-18, 18.11.2026 or 18/11/2026. */
export function parsePaidOn(text: string): Result<string> {
	const trimmed = text.trim();
	const [, day = "", month = "", year = ""] = /^(\d{1,2})[./](\d{1,2})[./](\d{4})$/.exec(trimmed) ?? [];
	const written = year === "" ? trimmed : `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
	try {
		if (/^\d{4}-\d\d-\d\d$/.test(written)) return succeed(Temporal.PlainDate.from(written).toString());
	} catch {
		// The date does not exist, such as 30 February.
	}
	return refuse("invalid_date", "Enter the day of the payment, such as 2026-11-18.", "date");
}

/** Checks that a statement can have been paid on this day: not before the month of its issue, and not in the future. */
export function checkPaidOn(paidOn: string, statement: Issued, zone: string, nowMs: number): Result<string> {
	const today = dayIn(nowMs, zone);
	if (paidOn > today) {
		return refuse("invalid_date", `${paidOn} is in the future. Today is ${today} (${zone}).`, "date");
	}
	const earliest = `${monthIn(statement.issued_at_ms, zone)}-01`;
	if (paidOn >= earliest) return succeed(paidOn);
	const detail = `Statement ${statement.number} was issued in ${earliest.slice(0, -3)}, so it cannot have been paid on ${paidOn}. Correct the day.`;
	return refuse("invalid_date", detail, "date");
}

export function parseReference(text: string): Result<string> {
	const reference = text.trim();
	const isGood = reference.length <= MAX_REFERENCE_LENGTH && !/\p{Cc}/u.test(reference);
	if (isGood) return succeed(reference);
	const detail = `Enter the bank's reference in at most ${MAX_REFERENCE_LENGTH} characters, or leave it empty.`;
	return refuse("invalid_field", detail, "reference");
}
