// Finds the statements that are due for a month: one for each partner and currency with open entries before
// the end of the month, and one for each whose last statement was carried forward and now reaches the minimum
// payout.

import { type Result, succeed } from "#core/domain/fault.ts";
import { decimalCount, formatMinor, zeroIn } from "#core/domain/money.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import type { EntryKind } from "../domain/ledger.ts";
import { type MinimumPayouts, readMinimums } from "../domain/minimum-payout.ts";
import {
	checkMonthIsOver,
	isCarriedForward,
	monthEndMs,
	parseMonth,
	type StatementAmounts,
	totalOf,
} from "../domain/statement.ts";
import { type OpenSum, sumOpenEntries } from "../store/entries.ts";
import {
	findNewestStatements,
	findStatementSettings,
	type Statement,
	type StatementSettings,
} from "../store/statements.ts";

/** Content of a statement if it were issued now. */
export interface DueStatement extends StatementAmounts {
	currency: string;
	total: string;
	isCarried: boolean;
	entries: number;
}

/** A month that is over, with the settings that apply to its statements. */
export interface DueMonth {
	month: string;
	/** First moment after the month in the network's time zone. */
	endMs: number;
	settings: StatementSettings;
	minimums: MinimumPayouts;
}

/**
 * The state of a partner in one currency: the statement that is due, or the newest statement if it rules out
 * another one.
 */
export interface PartnerDue {
	partner: Partner;
	currency: string;
	due: DueStatement | null;
	/** The sums of the entries that the statement would contain. */
	sums: readonly OpenSum[];
	/**
	 * The newest statement, if it is for this month or a later one. No other statement can then be issued for
	 * the month.
	 */
	issued: Statement | null;
}

export async function checkMonth(db: Db, text: string, nowMs: number): Promise<Result<DueMonth>> {
	const month = parseMonth(text);
	if (!month.ok) return month;
	const settings = await findStatementSettings(db);
	const isOver = checkMonthIsOver(month.value, settings.time_zone, nowMs);
	if (!isOver.ok) return isOver;
	return succeed({
		month: month.value,
		endMs: monthEndMs(month.value, settings.time_zone),
		settings,
		minimums: readMinimums(settings.minimum_payouts),
	});
}

/**
 * Finds the statements that are due to these partners, in the order of the partners and of the currencies.
 */
export async function findDue(
	db: Db,
	{ month, endMs, minimums }: DueMonth,
	partners: readonly Partner[],
): Promise<PartnerDue[]> {
	const ids = partners.map(({ id }) => id);
	const open = Map.groupBy(await sumOpenEntries(db, ids, endMs), ({ partnerId }) => partnerId);
	const newest = Map.groupBy(await findNewestStatements(db, ids), ({ partner_id }) => partner_id);
	return partners.flatMap((partner) => {
		const sums = open.get(partner.id) ?? [];
		const statements = newest.get(partner.id) ?? [];
		const currencies = new Set([...sums, ...statements].map(({ currency }) => currency));
		return [...currencies].sort().map((currency): PartnerDue => {
			const last = statements.find((statement) => statement.currency === currency);
			if (last !== undefined && last.month >= month) {
				return { partner, currency, due: null, sums: [], issued: last };
			}
			const inCurrency = sums.filter((sum) => sum.currency === currency);
			const due = dueOf(currency, inCurrency, last, minimums.get(currency));
			return { partner, currency, due, sums: inCurrency, issued: null };
		});
	});
}

function dueOf(
	currency: string,
	sums: readonly OpenSum[],
	last: Statement | undefined,
	minimum: string | undefined,
): DueStatement | null {
	const amounts = {
		opening: last?.is_carried === 1 ? last.total : zeroIn(currency),
		earned: sumKind(sums, currency, "EARNED"),
		changed: sumKind(sums, currency, "CHANGED"),
		adjusted: sumKind(sums, currency, "ADJUSTED"),
	};
	const total = totalOf(amounts);
	const isCarried = isCarriedForward(total, minimum);
	// If there are no new entries, a total that stays carried forward needs no other statement.
	if (sums.length === 0 && isCarried) return null;
	const entries = sums.reduce((count, sum) => count + sum.count, 0);
	return { ...amounts, currency, total, isCarried, entries };
}

export function sumKind(sums: readonly OpenSum[], currency: string, kind: EntryKind): string {
	const minor = sums.filter((sum) => sum.kind === kind).reduce((total, sum) => total + sum.minor, 0n);
	return formatMinor(minor, decimalCount(zeroIn(currency)));
}
