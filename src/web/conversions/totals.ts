// What the conversions that a filter finds come to: how many, tests included, as a list shows them and a decision takes
// them; and sums without tests, on which no money hangs. Counted one by one up to a limit; beyond it, the overview's
// count is taken where the filter asks for no more than it knows.

import { html } from "hono/html";
import type { Status } from "../../domain/conversion.ts";
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
	/** How many of them are tests. */
	tests: number;
	/** By currency, without tests. Empty where there are too many to be added up. */
	sums: readonly MoneySum[];
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
	const live = rows.filter(({ test }) => test === 0);
	return { count: rows.length, isAll, tests: rows.length - live.length, sums: isAll ? sumUp(live) : [] };
}

/** Null where there are few enough to be counted now, or the tally does not know. */
async function readTally(
	{ tallies }: Pick<PageDeps, "tallies">,
	{ programmeId, status, isTest, ...others }: ConversionFilter,
	{ currency }: Programme,
): Promise<Totals | null> {
	if (programmeId === undefined || Object.values(others).some((value) => value !== undefined)) return null;
	const { count: tally } = await tallies.look(programmeId);
	const isAsked = (of: Status) => status === undefined || of === status;
	const totals =
		isTest === true ? [] : [...(tally?.totals ?? [])].flatMap(([of, total]) => (isAsked(of) ? [total] : []));
	const tests =
		isTest === false
			? 0
			: [...(tally?.tests ?? [])].reduce((sum, [of, own]) => sum + (isAsked(of) ? own : 0), 0);
	const count = totals.reduce((sum, total) => sum + total.count, tests);
	if (count <= MAX_COLLECTED) return null;
	const decimal = (minor: bigint) => formatMinor(minor, digitsOf(currency));
	const basket = decimal(totals.reduce((sum, { basketMinor }) => sum + basketMinor, 0n));
	const commission = decimal(totals.reduce((sum, { commissionMinor }) => sum + commissionMinor, 0n));
	return { count, isAll: true, tests, sums: count === tests ? [] : [{ currency, basket, commission }] };
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

/** "1 240 conversions, 3 of them tests", "More than 10 000 conversions". */
function countWords({ count: found, isAll, tests }: Totals): string {
	if (!isAll) return `More than ${count(found)} conversions`;
	if (tests === found) return countOf(found, "test conversion");
	return tests === 0
		? countOf(found, "conversion")
		: `${countOf(found, "conversion")}, ${count(tests)} of them ${tests === 1 ? "a test" : "tests"}`;
}

/** None where no test is among them. */
export function testWords(tests: number): string[] {
	return tests === 0 ? [] : [`${countOf(tests, "test")} not in the sum`];
}

export function totalsLine(totals: Totals): Html {
	const sums = totals.sums.map(
		({ currency, basket, commission }) =>
			html`<span>Basket ${amount(basket, currency)}</span><span>Commission ${amount(commission, currency)}</span>`,
	);
	return html`<p class="totals" role="status"><strong>${countWords(totals)}</strong>${sums}${sumHint(totals)}</p>`;
}

function sumHint({ isAll, tests }: Totals): Html | null {
	if (!isAll) return html`<span class="faint">Narrow the filters to see the sums.</span>`;
	return tests === 0 ? null : html`<span class="faint">Sums leave tests out.</span>`;
}
