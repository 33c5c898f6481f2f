// What a job would do or has done, in numbers: how many lines of each kind, the money by status and currency, and the first
// lines that need fixing. Of a bounded size, whatever the file's.

import * as z from "zod";
import { DECIDED_STATUSES } from "../domain/conversion.ts";
import { currencyDigits, formatMinor, minorUnits } from "../domain/money.ts";
import type { RowMoney } from "./kind.ts";
import type { JudgedRow } from "./lines.ts";

/** More are in the result file. */
const SHOWN_PROBLEMS = 20;

const COUNT = z.number();
/** Decimals in the currency's own digits. `tests`: how many of the lines are about tests, which are in no sum. */
const MONEY_TOTAL = z.object({
	status: z.enum(DECIDED_STATUSES),
	currency: z.string(),
	tests: COUNT,
	rows: COUNT,
	basket: z.string(),
	commission: z.string(),
	fee: z.string(),
});
const SUMMARY = z.object({
	rows: COUNT,
	counts: z.object({ change: COUNT, already: COUNT, refused: COUNT }),
	/** Of those that change something: how many come with a remark. */
	remarks: COUNT,
	money: z.array(MONEY_TOTAL),
	problems: z.array(z.object({ line: COUNT, detail: z.string() })),
});

export type JobSummary = z.infer<typeof SUMMARY>;
export type MoneyTotal = z.infer<typeof MONEY_TOTAL>;

/** Of a job that nothing was found of yet: null. */
export function parseSummary(json: string | null): JobSummary {
	if (json !== null) return SUMMARY.parse(JSON.parse(json));
	const counts = { change: 0, already: 0, refused: 0 };
	return { rows: 0, counts, remarks: 0, money: [], problems: [] };
}

/** Changes the summary. */
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
	}
}

function addMoney({ money }: JobSummary, brought: RowMoney): void {
	const { status, currency, isTest = false } = brought;
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
			total[part] = write(minorUnits(total[part]) + minorUnits(brought[part]));
		}
	}
}

function byCurrencyAndStatus(one: MoneyTotal, other: MoneyTotal): number {
	if (one.currency !== other.currency) return one.currency < other.currency ? -1 : 1;
	return DECIDED_STATUSES.indexOf(one.status) - DECIDED_STATUSES.indexOf(other.status);
}
