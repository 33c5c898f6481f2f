// Reads the filters of the page "Conversions" and its files from the address, and the totals of the conversions that
// match.

import { findPartnerships } from "#modules/partners/store/partnerships.ts";
import { EVENT_TYPES, STATUSES, type Status } from "../../domain/conversion.ts";
import { currencyDigits, formatMinor, minorUnits } from "../../domain/money.ts";
import { readOrderSearch } from "../../domain/order-id.ts";
import { type ConversionFilter, collectMatches, MAX_COLLECTED } from "../../store/queries/conversion-list.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { type Asked, ask, type Orders, type QueryOf, withProblems } from "../ask.ts";
import { STATUS_WORDS, titleCase } from "../conversion-ui.ts";
import { choice, day, PART_OF_ORDER, rare, search, spanOfDays } from "../filters.ts";
import type { PageDeps, WebContext } from "../page.ts";
import { ALL_CONVERSIONS_PATH, conversionsPath } from "../paths.ts";

/** Sentence that explains which days are shown. Every page with days in filters, charts or totals has it. */
export const BY_DAY =
	"The day is when a conversion was recorded here or imported, not when the sale was made.";

const FILTERS = {
	orderId: PART_OF_ORDER,
	status: choice("Status", "Any", STATUSES, (status) => STATUS_WORDS[status]),
	from: day("From"),
	to: day("To"),
	partner: rare(search("Partner", "Name or ID")),
	/**
	 * Selects which time the filters From and To apply to. The default is the time at which a conversion was
	 * recorded. With the time of the decision, only conversions that were decided are listed.
	 */
	dates: rare(
		choice("Dates", "Recorded or imported", ["sale", "decision"], (which) =>
			which === "sale" ? "Sold" : "Decided",
		),
	),
	eventType: rare(choice("Event type", "Any", EVENT_TYPES, titleCase)),
	/** Selects whether test conversions are listed. They are hidden by default. */
	test: rare(
		choice("Tests", "Hidden", ["all", "yes"], (which) => (which === "all" ? "Shown" : "Only tests")),
	),
};

type ListQuery = QueryOf<typeof FILTERS>;
export type ListedBy = "recorded" | "sale" | "decision" | "basket";
export type AskedConversions = Asked<ListQuery, ListedBy>;

/**
 * Maximum number of partnerships that a filter may match. The list scans a separate range of an index for
 * each partnership.
 */
const MAX_PARTNERSHIPS = 100;

/**
 * Reads the filters of a programme's list, or of the list of all programmes if `programme` is null. `search` replaces
 * the query of the request. The caller may use the filter only if all of the address is valid.
 */
export async function askConversions(
	c: WebContext,
	{ store }: Pick<PageDeps, "store">,
	programme: Programme | null,
	search = new URL(c.req.url).search,
): Promise<{ asked: AskedConversions; filter: ConversionFilter }> {
	const namesPartners = programme?.credits_partners !== 0 || new URLSearchParams(search).has("partner");
	const asked = ask(c, {
		path: listPath(programme),
		filters: FILTERS,
		without: namesPartners ? [] : ["partner"],
		orders: (query) => ordersOf(query, programme),
		search,
	});
	const { query } = asked;
	const found =
		query.partner === undefined
			? undefined
			: await findPartnerships(store.db, {
					programmeId: programme?.id,
					search: query.partner,
					limit: MAX_PARTNERSHIPS + 1,
				});
	const problems = {
		// The sales of all programmes have no index by the time of the sale.
		...(programme === null && query.dates === "sale"
			? {
					dates:
						"Open a programme's own list for this. All programmes together are listed by when they were recorded or decided.",
				}
			: {}),
		...(found !== undefined && found.length > MAX_PARTNERSHIPS
			? { partner: "Many partners match. Enter more of the name, or open a programme's own list." }
			: {}),
	};
	const filter = toConversionFilter(programme?.id, query, c.get("network").timeZone);
	return {
		asked: withProblems(asked, problems),
		filter: { ...filter, partnershipIds: found?.map(({ id }) => id) },
	};
}

/**
 * Returns the orders that an index supports. The sales of a partner are always sorted by the time of sale. Only a list
 * by the day of the decision is sorted by decision, because the index for it contains only decided conversions.
 */
function ordersOf({ partner, dates }: ListQuery, programme: Programme | null): Orders<ListedBy> {
	if (partner !== undefined) return { sale: "desc" };
	if (dates === "decision") return { decision: "desc" };
	if (programme === null) return { recorded: "desc" };
	return { recorded: "desc", sale: "desc", basket: "desc" };
}

/** Returns the address of the programme's list, or of the list of all programmes if no programme is given. */
export function listPath(programme: Programme | null | undefined): string {
	return programme == null ? ALL_CONVERSIONS_PATH : conversionsPath(programme.public_id);
}

/** Converts the filters for the database. The day in the filter To is included. */
function toConversionFilter(
	programmeId: number | undefined,
	query: ListQuery,
	zone: string,
): ConversionFilter {
	const { test, dates } = query;
	// A search for an order id also finds tests, unless the filter for tests is set.
	const showsTests = test === "all" || (test === undefined && query.orderId !== undefined);
	return {
		programmeId,
		status: query.status,
		eventType: query.eventType,
		isTest: showsTests ? undefined : test === "yes",
		...timeFilter(dates, spanOfDays(query, zone)),
		search: query.orderId === undefined ? undefined : readOrderSearch(query.orderId),
	};
}

function timeFilter(
	dates: ListQuery["dates"],
	{ fromMs, beforeMs }: ReturnType<typeof spanOfDays>,
): ConversionFilter {
	switch (dates) {
		case undefined:
			return { fromMs, beforeMs };
		case "sale":
			return { soldFromMs: fromMs, soldBeforeMs: beforeMs };
		case "decision":
			return { decidedFromMs: fromMs ?? 0, decidedBeforeMs: beforeMs };
		default:
			return dates satisfies never;
	}
}

// Totals of the conversions that match a filter. If there are few matches, their rows are added up. Otherwise
// the overview's counts are used, if they cover the filter.

export interface Totals extends Sums {
	/** Number of conversions, including tests. If `isAll` is false, this is only a lower bound. */
	count: number;
	isAll: boolean;
}

interface Sums {
	tests: number;
	/** Sums by currency, without tests. The list is empty if there are too many conversions to add up. */
	sums: readonly CurrencySum[];
}

interface CurrencySum {
	currency: string;
	basket: string;
	commission: string;
	/**
	 * Commission by status. It is listed separately because only the commission of approved conversions is
	 * owed.
	 */
	commissions: readonly (readonly [status: Status, commission: string])[];
}

export async function readTotals(
	{ store, tallies }: Pick<PageDeps, "store" | "tallies">,
	{ filter, zone }: { filter: ConversionFilter; zone: string },
	/** Programme of the list, or null for the list of all programmes. */
	programme: Programme | null,
	/** Rows of the page, and whether these are all rows that match. */
	shown: { rows: readonly Conversion[]; isAll: boolean },
): Promise<Totals> {
	if (shown.isAll) return sumOf(shown.rows);
	const tallied = programme === null ? null : await readTally(tallies, filter, zone, programme);
	if (tallied !== null) return tallied;
	const { rows, count } = await collectMatches(store.reader, filter);
	if (rows !== null) return sumOf(rows);
	return { count: Math.max(count, shown.rows.length), isAll: false, tests: 0, sums: [] };
}

function sumOf(rows: readonly Conversion[]): Totals {
	return { count: rows.length, isAll: true, ...sumUp(rows) };
}

/**
 * Returns the totals from the overview's counts. Returns null if the counts do not cover the filter, or if
 * there are few enough conversions to add up their rows.
 */
async function readTally(
	tallies: PageDeps["tallies"],
	{ programmeId: _, status, isTest, ...others }: ConversionFilter,
	zone: string,
	{ id, currency }: Programme,
): Promise<Totals | null> {
	if (isTest !== false || Object.values(others).some((value) => value !== undefined)) return null;
	const { count: tally } = await tallies.look({ programmeId: id, zone });
	const found = [...(tally?.totals ?? [])].filter(([counted]) => status === undefined || counted === status);
	const totals = found.map(([, total]) => total);
	const count = totals.reduce((sum, total) => sum + total.count, 0);
	if (count <= MAX_COLLECTED) return null;
	const add = (part: "basketMinor" | "commissionMinor") =>
		formatMinor(
			totals.reduce((sum, total) => sum + total[part], 0n),
			digitsOf(currency),
		);
	const commissions = found
		.filter(([, total]) => total.count > 0)
		.map(([counted, total]) => [counted, formatMinor(total.commissionMinor, digitsOf(currency))] as const);
	const sums = [{ currency, basket: add("basketMinor"), commission: add("commissionMinor"), commissions }];
	return { count, isAll: true, tests: 0, sums };
}

export function sumUp(rows: readonly Conversion[]): Sums {
	const live = rows.filter(({ test }) => test === 0);
	const byCurrency = Map.groupBy(live, ({ currency }) => currency);
	const sums = [...byCurrency].map(([currency, sameCurrency]) => {
		const add = (name: "basket_value" | "commission", added = sameCurrency) =>
			formatMinor(
				added.reduce((sum, row) => sum + minorUnits(row[name]), 0n),
				digitsOf(currency),
			);
		const byStatus = Map.groupBy(sameCurrency, ({ status }) => status);
		const commissions = STATUSES.flatMap((status) => {
			const sameStatus = byStatus.get(status);
			return sameStatus === undefined ? [] : [[status, add("commission", sameStatus)] as const];
		});
		return { currency, basket: add("basket_value"), commission: add("commission"), commissions };
	});
	return { tests: rows.length - live.length, sums };
}

/**
 * Returns the number of decimals of a currency. The fallback of 0 only satisfies the compiler, because only valid
 * currencies are stored.
 */
export function digitsOf(currency: string): number {
	const digits = currencyDigits(currency);
	return digits.ok ? digits.value : 0;
}
