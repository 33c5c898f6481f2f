// What a job would do or has done, in numbers: how many lines of each kind, the money by status and currency, what each
// programme gets, and the first lines that need fixing. Of a bounded size, whatever the file's; and it can be put away and
// gone on with.

import * as z from "zod";
import { DECIDED_STATUSES, type DecidedStatus } from "../domain/conversion.ts";
import { currencyDigits, formatMinor, minorUnits } from "../domain/money.ts";
import type { Brings, RowMoney } from "./kind.ts";
import type { JudgedRow } from "./lines.ts";

/** More are in the result file. */
const SHOWN_PROBLEMS = 20;
/** In the order in which they come; the others are counted together. */
const SHOWN_PROGRAMMES = 100;

const COUNT = z.number();
const DECIMALS = { rows: COUNT, basket: z.string(), commission: z.string(), fee: z.string() };
/** `tests`: how many of the lines are about tests, which are in no sum. */
const MONEY_TOTAL = z.object({
	status: z.enum(DECIDED_STATUSES),
	currency: z.string(),
	tests: COUNT,
	...DECIMALS,
});
/** Without a currency where people are brought, and no money. */
const PROGRAMME_TOTAL = z.object({
	id: z.string(),
	name: z.string(),
	currency: z.string().nullable(),
	...DECIMALS,
});
const SUMMARY = z.object({
	rows: COUNT,
	counts: z.object({ change: COUNT, already: COUNT, refused: COUNT }),
	/** Of those that change something: how many come with a remark. */
	remarks: COUNT,
	/** Decimals in the currency's own digits. */
	money: z.array(MONEY_TOTAL).readonly(),
	programmes: z.array(PROGRAMME_TOTAL).readonly(),
	/** What goes to programmes that are not among these. */
	otherProgrammeRows: COUNT,
	problems: z.array(z.object({ line: COUNT, detail: z.string() })).readonly(),
});

export type JobSummary = z.infer<typeof SUMMARY>;
export type MoneyTotal = z.infer<typeof MONEY_TOTAL>;
export type ProgrammeTotal = z.infer<typeof PROGRAMME_TOTAL>;
export type Problem = JobSummary["problems"][number];

export interface SummaryWriter {
	add(rows: readonly JudgedRow[]): void;
	read(): JobSummary;
}

export function parseSummary(json: string): JobSummary {
	return SUMMARY.parse(JSON.parse(json));
}

interface Sums {
	rows: number;
	basket: bigint;
	commission: bigint;
	fee: bigint;
}

interface MoneySums extends Sums {
	status: DecidedStatus;
	currency: string;
	tests: number;
}

/** `before`: what was found so far, where it goes on. */
export function createSummary(before?: JobSummary): SummaryWriter {
	const counts = { ...(before?.counts ?? { change: 0, already: 0, refused: 0 }) };
	const money = new Map((before?.money ?? []).map((total) => [moneyKey(total), sumsOf(total)]));
	const programmes = new Map((before?.programmes ?? []).map((total) => [programmeKey(total), sumsOf(total)]));
	const problems = [...(before?.problems ?? [])];
	let remarks = before?.remarks ?? 0;
	let otherProgrammeRows = before?.otherProgrammeRows ?? 0;

	function addBrought({ programme, money: brought }: Brings): void {
		if (brought !== null) {
			const { status, currency, isTest = false } = brought;
			const sums = addTo(money, moneyKey(brought), { status, currency, tests: 0, ...NOTHING }, brought);
			if (isTest) sums.tests += 1;
		}
		if (programme === null) return;
		const key = programmeKey(programme);
		if (programmes.size >= SHOWN_PROGRAMMES && !programmes.has(key)) otherProgrammeRows += 1;
		else {
			addTo(programmes, key, { ...programme, currency: brought?.currency ?? null, ...NOTHING }, brought);
		}
	}

	return {
		add(rows) {
			for (const { line, verdict } of rows) {
				counts[verdict.kind] += 1;
				if (verdict.kind === "change" && verdict.detail !== null) remarks += 1;
				if (verdict.brings !== null) addBrought(verdict.brings);
				if (verdict.kind === "refused" && problems.length < SHOWN_PROBLEMS) {
					problems.push({ line, detail: verdict.detail ?? "" });
				}
			}
		},
		read: () => ({
			rows: counts.change + counts.already + counts.refused,
			counts: { ...counts },
			remarks,
			money: [...money.values()].toSorted(byCurrencyAndStatus).map((sums) => totalOf(sums, sums.currency)),
			programmes: [...programmes.values()].map((sums) => totalOf(sums, sums.currency)),
			otherProgrammeRows,
			problems: [...problems],
		}),
	};
}

const NOTHING: Sums = { rows: 0, basket: 0n, commission: 0n, fee: 0n };

function moneyKey({ currency, status }: Pick<RowMoney, "currency" | "status">): string {
	return `${currency} ${status}`;
}

function programmeKey({ id, name }: NonNullable<Brings["programme"]>): string {
	return id === "" ? name : id;
}

function addTo<Kind extends Sums>(
	all: Map<string, Kind>,
	key: string,
	empty: Kind,
	brought: RowMoney | null,
): Kind {
	const sums = all.get(key) ?? empty;
	all.set(key, sums);
	sums.rows += 1;
	if (brought === null || brought.isTest === true) return sums;
	sums.basket += minorUnits(brought.basket);
	sums.commission += minorUnits(brought.commission);
	sums.fee += minorUnits(brought.fee);
	return sums;
}

function byCurrencyAndStatus(one: MoneySums, other: MoneySums): number {
	if (one.currency !== other.currency) return one.currency < other.currency ? -1 : 1;
	return DECIDED_STATUSES.indexOf(one.status) - DECIDED_STATUSES.indexOf(other.status);
}

type Decimals<Of> = Omit<Of, keyof Sums> & { rows: number; basket: string; commission: string; fee: string };

function totalOf<Of extends Sums>(sums: Of, currency: string | null): Decimals<Of> {
	const digits = currencyDigits(currency ?? "");
	const decimal = (minor: bigint) => formatMinor(minor, digits.ok ? digits.value : 0);
	const { basket, commission, fee } = sums;
	return { ...sums, basket: decimal(basket), commission: decimal(commission), fee: decimal(fee) };
}

function sumsOf<Of extends { basket: string; commission: string; fee: string }>(
	total: Of,
): Omit<Of, "basket" | "commission" | "fee"> & Pick<Sums, "basket" | "commission" | "fee"> {
	const { basket, commission, fee } = total;
	return {
		...total,
		basket: minorUnits(basket),
		commission: minorUnits(commission),
		fee: minorUnits(fee),
	};
}
