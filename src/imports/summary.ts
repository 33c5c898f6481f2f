// What an import would bring or has brought, in numbers: how many lines of each kind, the money by status and currency, and
// the first lines that need fixing. Of a fixed size, whatever the file's.

import { DECIDED_STATUSES, type DecidedStatus } from "../domain/conversion.ts";
import { currencyDigits, formatMinor, minorUnits } from "../domain/money.ts";
import type { JudgedRow, RowMoney, RowVerdict } from "./import-kind.ts";

/** More are in the result file. */
const SHOWN_PROBLEMS = 20;

export interface Problem {
	line: number;
	detail: string;
}

export interface MoneyTotal {
	status: DecidedStatus;
	currency: string;
	rows: number;
	/** Decimals in the currency's own digits. */
	basket: string;
	commission: string;
	fee: string;
}

export interface ImportSummary {
	rows: number;
	counts: Readonly<Record<RowVerdict["kind"], number>>;
	money: readonly MoneyTotal[];
	problems: readonly Problem[];
}

export interface SummaryWriter {
	add(rows: readonly JudgedRow[]): void;
	read(): ImportSummary;
}

interface Sums {
	status: DecidedStatus;
	currency: string;
	rows: number;
	basket: bigint;
	commission: bigint;
	fee: bigint;
}

export function createSummary(): SummaryWriter {
	const counts = { import: 0, already: 0, refused: 0 };
	const sums = new Map<string, Sums>();
	const problems: Problem[] = [];
	return {
		add(rows) {
			for (const { line, verdict } of rows) {
				counts[verdict.kind] += 1;
				if (verdict.money !== null) addMoney(sums, verdict.money);
				if (verdict.kind === "refused" && problems.length < SHOWN_PROBLEMS) {
					problems.push({ line, detail: verdict.detail ?? "" });
				}
			}
		},
		read: () => ({
			rows: counts.import + counts.already + counts.refused,
			counts: { ...counts },
			money: [...sums.values()].toSorted(byCurrencyAndStatus).map(totalOf),
			problems: [...problems],
		}),
	};
}

function addMoney(sums: Map<string, Sums>, { status, currency, basket, commission, fee }: RowMoney): void {
	const key = `${currency} ${status}`;
	const sum = sums.get(key) ?? { status, currency, rows: 0, basket: 0n, commission: 0n, fee: 0n };
	sum.rows += 1;
	sum.basket += minorUnits(basket);
	sum.commission += minorUnits(commission);
	sum.fee += minorUnits(fee);
	sums.set(key, sum);
}

function byCurrencyAndStatus(one: Sums, other: Sums): number {
	if (one.currency !== other.currency) return one.currency < other.currency ? -1 : 1;
	return DECIDED_STATUSES.indexOf(one.status) - DECIDED_STATUSES.indexOf(other.status);
}

function totalOf({ status, currency, rows, basket, commission, fee }: Sums): MoneyTotal {
	const digits = currencyDigits(currency);
	const decimal = (minor: bigint) => formatMinor(minor, digits.ok ? digits.value : 0);
	return {
		status,
		currency,
		rows,
		basket: decimal(basket),
		commission: decimal(commission),
		fee: decimal(fee),
	};
}
