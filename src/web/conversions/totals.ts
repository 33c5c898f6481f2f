// What the conversions that a filter finds come to. Counted one by one up to a limit; beyond it, the overview's count is
// taken where the filter asks for no more than it knows.

import { html } from "hono/html";
import { currencyDigits, formatMinor } from "../../domain/money.ts";
import type { ConversionFilter, MatchedConversion } from "../../store/conversion-filter.ts";
import { collectMatches, MAX_COLLECTED } from "../../store/conversion-matches.ts";
import type { Programme } from "../../store/programmes.ts";
import { amount, count, countOf } from "../components/text.ts";
import type { PageDeps } from "../deps.ts";
import type { Html } from "../html.ts";

export interface Totals {
	/** How many; at least so many where there are more than are counted. */
	count: number;
	isAll: boolean;
	/** By currency. Empty where there are too many to be added up. */
	sums: readonly MoneySum[];
	/** Whether test conversions are left out. */
	isWithoutTests: boolean;
}

interface MoneySum {
	currency: string;
	basket: string;
	commission: string;
}

export async function readTotals(
	deps: Pick<PageDeps, "store" | "clock" | "tallies">,
	filter: ConversionFilter,
	/** Left out where the list is of all programmes. */
	programme?: Programme,
): Promise<Totals> {
	const known = programme === undefined ? null : await readTally(deps, filter, programme);
	if (known !== null) return known;
	const { rows, isAll } = await collectMatches(deps.store.db, filter, () => deps.clock.yieldLoop());
	return { count: rows.length, isAll, sums: isAll ? sumUp(rows) : [], isWithoutTests: false };
}

/** Null where there are few enough to be counted now, or the tally does not know. */
async function readTally(
	{ tallies }: Pick<PageDeps, "tallies">,
	{ programmeId, status, ...others }: ConversionFilter,
	{ currency }: Programme,
): Promise<Totals | null> {
	if (programmeId === undefined || Object.values(others).some((value) => value !== undefined)) return null;
	const { count: tally } = await tallies.look(programmeId);
	const totals = [...(tally?.totals ?? [])].flatMap(([of, total]) =>
		status === undefined || of === status ? [total] : [],
	);
	const count = totals.reduce((sum, total) => sum + total.count, 0);
	if (count <= MAX_COLLECTED) return null;
	const decimal = (minor: bigint) => formatMinor(minor, digitsOf(currency));
	const basket = decimal(totals.reduce((sum, { basketMinor }) => sum + basketMinor, 0n));
	const commission = decimal(totals.reduce((sum, { commissionMinor }) => sum + commissionMinor, 0n));
	return { count, isAll: true, sums: [{ currency, basket, commission }], isWithoutTests: true };
}

function sumUp(rows: readonly MatchedConversion[]): MoneySum[] {
	const byCurrency = Map.groupBy(rows, ({ currency }) => currency);
	return [...byCurrency].map(([currency, own]) => {
		const add = (pick: (row: MatchedConversion) => string) =>
			formatMinor(
				own.reduce((sum, row) => sum + BigInt(pick(row).replace(".", "")), 0n),
				digitsOf(currency),
			);
		return {
			currency,
			basket: add(({ basket_value }) => basket_value),
			commission: add(({ commission }) => commission),
		};
	});
}

/** Every currency on record is one that was known when it came in. */
export function digitsOf(currency: string): number {
	const digits = currencyDigits(currency);
	return digits.ok ? digits.value : 0;
}

/** "1 240 conversions", "More than 10 000 conversions". */
function countWords({ count: found, isAll, isWithoutTests }: Totals): string {
	const words = isAll ? countOf(found, "conversion") : `More than ${count(found)} conversions`;
	return isWithoutTests ? `${words} (tests not counted)` : words;
}

export function totalsLine(totals: Totals): Html {
	const sums = totals.sums.map(
		({ currency, basket, commission }) =>
			html`<span>Basket ${amount(basket, currency)}</span><span>Commission ${amount(commission, currency)}</span>`,
	);
	const hint = totals.isAll ? null : html`<span class="faint">Narrow the filters to see the sums.</span>`;
	return html`<p class="totals" role="status"><strong>${countWords(totals)}</strong>${sums}${hint}</p>`;
}
