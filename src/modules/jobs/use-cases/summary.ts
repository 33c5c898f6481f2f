// Summary of a job before or after it is applied: numbers of lines by verdict, amounts by status and
// currency, totals of statements, and the first lines that must be fixed. Its size does not depend on the size of the
// file.

import * as z from "zod";
import { addAmounts, currencyDigits, formatMinor, minorUnits } from "#core/domain/money.ts";
import {
	MONEY_STATUSES,
	type NamedPartner,
	type RowMoney,
	type StatementTotal,
	TOTAL_OUTCOMES,
} from "./kind.ts";
import type { JudgedRow } from "./lines.ts";

/** Maximum number of refused lines in the summary. The result file has all of them. */
const SHOWN_PROBLEMS = 20;

/** Maximum number of partners without payment details that the summary names. */
const SHOWN_PARTNERS = 20;

const COUNT = z.number();
/**
 * Sum of amounts in one currency, with that currency's decimals. `tests` is the number of test conversions,
 * which no sum includes.
 */
const MONEY_TOTAL = z.object({
	status: z.enum(MONEY_STATUSES),
	currency: z.string(),
	tests: COUNT,
	rows: COUNT,
	basket: z.string(),
	commission: z.string(),
	fee: z.string(),
});
/** Sum of the totals of statements in one currency. */
const TOTAL = z.object({
	outcome: z.enum(TOTAL_OUTCOMES),
	currency: z.string(),
	statements: COUNT,
	amount: z.string(),
});
const SUMMARY = z.object({
	rows: COUNT,
	counts: z.object({ change: COUNT, already: COUNT, refused: COUNT }),
	/** Number of changed lines that have a remark. */
	remarks: COUNT,
	money: z.array(MONEY_TOTAL),
	/** Totals of statements. Other kinds of jobs have none. */
	totals: z.array(TOTAL).optional(),
	/** Statements that are to be paid to partners without payment details, with the first of these partners. */
	withoutDetails: z
		.object({ statements: COUNT, partners: z.array(z.object({ id: z.string(), name: z.string() })) })
		.optional(),
	problems: z.array(z.object({ line: COUNT, detail: z.string() })),
});

export type JobSummary = z.infer<typeof SUMMARY>;
export type MoneyTotal = z.infer<typeof MONEY_TOTAL>;
export type TotalsOfOutcome = z.infer<typeof TOTAL>;

/** Parses a stored summary. Returns an empty one if the job has none yet. */
export function parseSummary(json: string | null): JobSummary {
	if (json !== null) return SUMMARY.parse(JSON.parse(json));
	const counts = { change: 0, already: 0, refused: 0 };
	return { rows: 0, counts, remarks: 0, money: [], problems: [] };
}

/** Adds rows to the summary, which is changed in place. */
export function addToSummary(summary: JobSummary, rows: readonly JudgedRow[]): void {
	const { counts, problems } = summary;
	for (const { line, verdict } of rows) {
		summary.rows += 1;
		counts[verdict.kind] += 1;
		if (verdict.kind === "change" && verdict.detail !== null) summary.remarks += 1;
		if (verdict.kind === "refused" && problems.length < SHOWN_PROBLEMS) {
			problems.push({ line, detail: verdict.detail ?? "" });
		}
		if (verdict.money !== null) addMoney(summary, verdict.money);
		if (verdict.total !== undefined) addTotal(summary, verdict.total);
		if (verdict.lacksDetails !== undefined) addWithoutDetails(summary, verdict.lacksDetails);
	}
}

function addMoney({ money }: JobSummary, added: RowMoney): void {
	const { status, currency, isTest = false } = added;
	const digits = currencyDigits(currency);
	const write = (minor: bigint) => formatMinor(minor, digits.ok ? digits.value : 0);
	let total = money.find((known) => known.status === status && known.currency === currency);
	if (total === undefined) {
		const nothing = write(0n);
		total = { status, currency, tests: 0, rows: 0, basket: nothing, commission: nothing, fee: nothing };
		money.push(total);
		money.sort(byCurrencyAndStatus);
	}
	total.rows += 1;
	if (isTest) total.tests += 1;
	else {
		for (const part of ["basket", "commission", "fee"] as const) {
			total[part] = write(minorUnits(total[part]) + minorUnits(added[part]));
		}
	}
}

function addTotal(summary: JobSummary, { outcome, currency, amount }: StatementTotal): void {
	summary.totals ??= [];
	const total = summary.totals.find((known) => known.outcome === outcome && known.currency === currency);
	if (total === undefined) summary.totals.push({ outcome, currency, statements: 1, amount });
	else {
		total.statements += 1;
		total.amount = addAmounts(total.amount, amount);
	}
}

function addWithoutDetails(summary: JobSummary, partner: NamedPartner): void {
	summary.withoutDetails ??= { statements: 0, partners: [] };
	const { partners } = summary.withoutDetails;
	summary.withoutDetails.statements += 1;
	if (partners.length < SHOWN_PARTNERS && !partners.some(({ id }) => id === partner.id)) {
		partners.push(partner);
	}
}

function byCurrencyAndStatus(one: MoneyTotal, other: MoneyTotal): number {
	if (one.currency !== other.currency) return one.currency < other.currency ? -1 : 1;
	return MONEY_STATUSES.indexOf(one.status) - MONEY_STATUSES.indexOf(other.status);
}
