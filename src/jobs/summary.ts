// What a job would do or has done, in numbers: how many lines of each kind, the money by status and currency, what each
// programme gets, and the first lines that need fixing. Of a bounded size, whatever the file's.

import * as z from "zod";
import { DECIDED_STATUSES } from "../domain/conversion.ts";
import { currencyDigits, formatMinor, minorUnits } from "../domain/money.ts";
import type { RowMoney } from "./kind.ts";
import type { JudgedRow } from "./lines.ts";

/** More are in the result file. */
const SHOWN_PROBLEMS = 20;
/** In the order in which they come; the others are counted together. */
const SHOWN_PROGRAMMES = 100;

const COUNT = z.number();
/** Decimals in the currency's own digits. */
const SUMS = { rows: COUNT, basket: z.string(), commission: z.string(), fee: z.string() };
/** `tests`: how many of the lines are about tests, which are in no sum. */
const MONEY_TOTAL = z.object({
	status: z.enum(DECIDED_STATUSES),
	currency: z.string(),
	tests: COUNT,
	...SUMS,
});
/** Without a currency where people are brought, and no money. */
const PROGRAMME_TOTAL = z.object({
	id: z.string(),
	name: z.string(),
	currency: z.string().nullable(),
	...SUMS,
});
const SUMMARY = z.object({
	rows: COUNT,
	counts: z.object({ change: COUNT, already: COUNT, refused: COUNT }),
	/** Of those that change something: how many come with a remark. */
	remarks: COUNT,
	money: z.array(MONEY_TOTAL),
	programmes: z.array(PROGRAMME_TOTAL),
	/** What goes to programmes that are not among these. */
	otherProgrammeRows: COUNT,
	problems: z.array(z.object({ line: COUNT, detail: z.string() })),
});

export type JobSummary = z.infer<typeof SUMMARY>;
export type MoneyTotal = z.infer<typeof MONEY_TOTAL>;
export type ProgrammeTotal = z.infer<typeof PROGRAMME_TOTAL>;

/** Of a job that nothing was found of yet: null. */
export function parseSummary(json: string | null): JobSummary {
	if (json !== null) return SUMMARY.parse(JSON.parse(json));
	const counts = { change: 0, already: 0, refused: 0 };
	return { rows: 0, counts, remarks: 0, money: [], programmes: [], otherProgrammeRows: 0, problems: [] };
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
		const { programme = null, money = null } = verdict.brings ?? {};
		if (money !== null) addMoney(summary, money);
		if (programme !== null) addProgramme(summary, programme, money);
	}
}

function addMoney({ money }: JobSummary, brought: RowMoney): void {
	const { status, currency, isTest = false } = brought;
	let total = money.find((known) => known.status === status && known.currency === currency);
	if (total === undefined) {
		total = { status, currency, tests: 0, ...nothingIn(currency) };
		money.push(total);
		money.sort(byCurrencyAndStatus);
	}
	if (isTest) total.tests += 1;
	addTo(total, isTest ? null : brought);
}

function addProgramme(
	summary: JobSummary,
	{ id, name }: { id: string; name: string },
	brought: RowMoney | null,
): void {
	const { programmes } = summary;
	const known = programmes.find((total) => (id === "" ? total.name === name : total.id === id));
	if (known === undefined && programmes.length === SHOWN_PROGRAMMES) {
		summary.otherProgrammeRows += 1;
		return;
	}
	const currency = brought?.currency ?? null;
	const total = known ?? { id, name, currency, ...nothingIn(currency ?? "") };
	if (known === undefined) programmes.push(total);
	addTo(total, brought);
}

type Sums = Pick<MoneyTotal, "rows" | "basket" | "commission" | "fee">;

function nothingIn(currency: string): Sums {
	const digits = currencyDigits(currency);
	const nothing = formatMinor(0n, digits.ok ? digits.value : 0);
	return { rows: 0, basket: nothing, commission: nothing, fee: nothing };
}

function addTo(total: Sums, brought: RowMoney | null): void {
	total.rows += 1;
	if (brought === null) return;
	for (const part of ["basket", "commission", "fee"] as const) {
		const digits = total[part].split(".")[1]?.length ?? 0;
		total[part] = formatMinor(minorUnits(total[part]) + minorUnits(brought[part]), digits);
	}
}

function byCurrencyAndStatus(one: MoneyTotal, other: MoneyTotal): number {
	if (one.currency !== other.currency) return one.currency < other.currency ? -1 : 1;
	return DECIDED_STATUSES.indexOf(one.status) - DECIDED_STATUSES.indexOf(other.status);
}
