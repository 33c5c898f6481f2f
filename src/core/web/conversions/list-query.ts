// Reads the filters of the page "Conversions" from its address, converts them for the database, and computes
// the totals of the matching conversions.

import * as z from "zod";
import { findPartnerships } from "#modules/partners/store/partnerships.ts";
import { EVENT_TYPES, STATUSES, type Status } from "../../domain/conversion.ts";
import { currencyDigits, formatMinor, minorUnits } from "../../domain/money.ts";
import { readOrderSearch } from "../../domain/order-id.ts";
import {
	type ConversionFilter,
	type ConversionSort,
	collectMatches,
	MAX_COLLECTED,
	NEWEST_FIRST,
} from "../../store/queries/conversion-list.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import type { Db } from "../../store/store.ts";
import { STATUS_WORDS, titleCase } from "../conversion-ui.ts";
import {
	choice,
	day,
	declareFilters,
	filterBar,
	PART_OF_ORDER,
	type PagedList,
	type ReadFilters,
	spanOfDays,
	UNSEEN,
} from "../filter-query.ts";
import type { PageDeps } from "../page.ts";
import { ALL_CONVERSIONS_PATH, conversionsPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";

/**
 * Sort orders by their name in the address, with their description on the page. The default order, newest
 * first, has no name.
 */
export const SORTS = {
	"recorded-asc": { by: "recorded", direction: "asc", words: "the oldest first" },
	"sale-desc": { by: "sale", direction: "desc", words: "the latest sale first" },
	"sale-asc": { by: "sale", direction: "asc", words: "the earliest sale first" },
	"decision-desc": { by: "decision", direction: "desc", words: "the latest decision first" },
	"decision-asc": { by: "decision", direction: "asc", words: "the earliest decision first" },
	"basket-desc": { by: "basket", direction: "desc", words: "the largest basket first" },
	"basket-asc": { by: "basket", direction: "asc", words: "the smallest basket first" },
} as const satisfies Readonly<Record<string, ConversionSort & { words: string }>>;

type SortName = keyof typeof SORTS;
export const SORT_NAMES = Object.keys(SORTS) as SortName[];

/** Sentence that explains which day counts. Every page with days in filters, charts or totals shows it. */
export const BY_DAY =
	"The day is when a conversion was recorded here or imported, not when the sale was made.";

const FILTERS = declareFilters({
	orderId: PART_OF_ORDER,
	status: choice("Status", "Any", STATUSES, (status) => STATUS_WORDS[status]),
	from: day("From"),
	to: day("To"),
	/**
	 * Selects which time the filters From and To apply to. The default is the time at which a conversion was
	 * recorded. With the time of the decision, only conversions that were decided are listed.
	 */
	dates: choice("Dates", "Recorded or imported", ["sale", "decision"], (which) =>
		which === "sale" ? "Sold" : "Decided",
	),
	eventType: choice("Event type", "Any", EVENT_TYPES, titleCase),
	partner: {
		schema: z.string().trim(),
		field: (field) => ui.textField({ ...field, label: "Partner", type: "search", placeholder: "Name or ID" }),
	},
	/** Selects whether test conversions are listed. They are hidden by default. */
	test: choice("Tests", "Hidden", ["all", "yes"], (which) => (which === "all" ? "Shown" : "Only tests")),
	/** Sort order, which is chosen in a column's heading. It does not change when a filter changes. */
	sort: {
		schema: z.enum(SORT_NAMES).optional().catch(undefined),
		field: ({ name, value }) =>
			value === "" ? null : html`<input type="hidden" name="${name}" value="${value}">`,
	},
	/**
	 * Position at which this page of the list starts. If the cursor is invalid, the list starts at the
	 * beginning.
	 */
	cursor: UNSEEN,
});

type ListQuery = ReturnType<typeof FILTERS.read>["query"];

export interface ReadList extends ReadFilters<ListQuery> {
	/** Filter for the database. Callers must use it only if `problems` is empty. */
	filter: ConversionFilter;
	/** Time zone of the days, which is the network's. */
	zone: string;
}

/**
 * Maximum number of partnerships that a filter may match. The list scans a separate range of an index for
 * each partnership.
 */
const MAX_PARTNERSHIPS = 100;

/**
 * Reads the filters of a programme's list, or of the list of all programmes if `programme` is null. The list of all
 * programmes cannot be filtered by the time of the sale, because no index has the sales of all programmes by it.
 */
export async function readList(
	db: Db,
	programme: Programme | null,
	search: string,
	zone: string,
): Promise<ReadList> {
	const read = FILTERS.read(search);
	const { partner, dates } = read.query;
	const found =
		partner === undefined
			? undefined
			: await findPartnerships(db, {
					programmeId: programme?.id,
					search: partner,
					limit: MAX_PARTNERSHIPS + 1,
				});
	const needsProgramme =
		"Open a programme's own list for this. All programmes together are listed by when they were recorded or decided.";
	const problems = {
		...(programme === null && dates === "sale" ? { dates: needsProgramme } : {}),
		...(found !== undefined && found.length > MAX_PARTNERSHIPS
			? { partner: "Many partners match. Enter more of the name, or open a programme's own list." }
			: {}),
		...read.problems,
	};
	const query = { ...read.query, sort: judgeSort(read.query, programme) };
	const partnershipIds = found?.map(({ id }) => id);
	return {
		...read,
		problems,
		query,
		filter: { ...toConversionFilter(programme?.id, query, zone), partnershipIds },
		zone,
	};
}

/**
 * Returns the sort order that takes effect. The sales of a partner are always sorted by the time of sale. A list by the
 * day of the decision is sorted by decision, and no other list is, because its index contains only decided conversions.
 * The list of all programmes is otherwise always sorted by the time of recording.
 */
function judgeSort({ partner, sort, dates }: ListQuery, programme: Programme | null): SortName | undefined {
	if (partner !== undefined) return sort === "sale-asc" ? sort : "sale-desc";
	if (dates === "decision") return sort === "decision-asc" ? sort : "decision-desc";
	if (programme === null) return sort === "recorded-asc" ? sort : undefined;
	return sort === "decision-asc" || sort === "decision-desc" ? undefined : sort;
}

/** Returns the address of the programme's list, or of the list of all programmes if no programme is given. */
export function listPath(programme: Programme | null | undefined): string {
	return programme == null ? ALL_CONVERSIONS_PATH : conversionsPath(programme.public_id);
}

export function sortOf({ sort }: ListQuery): ConversionSort {
	return sort === undefined ? NEWEST_FIRST : SORTS[sort];
}

/** Converts the filters for the database. The day in the filter To is included. */
function toConversionFilter(
	programmeId: number | undefined,
	query: ListQuery,
	zone: string,
): ConversionFilter {
	const { test, dates } = query;
	// A search for an order id also finds tests, unless the filter for tests says otherwise.
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
	{ filter, zone }: Pick<ReadList, "filter" | "zone">,
	/** Programme of the list, or null for the list of all programmes. */
	programme: Programme | null,
	/** Rows on the page, and whether they are all the rows that match. */
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
 * Returns the number of decimals of a currency. The fallback of 0 is never used, because only valid
 * currencies are stored.
 */
export function digitsOf(currency: string): number {
	const digits = currencyDigits(currency);
	return digits.ok ? digits.value : 0;
}

export interface ConversionList extends PagedList {
	/** Programme whose conversions are listed, or null for all programmes. */
	programme: Programme | null;
	filters: ReadList;
}

export function filterForm({ filters, path, programme }: ConversionList): Html {
	const { typed } = filters;
	const namesPartners = programme?.credits_partners !== 0 || typed["partner"] !== undefined;
	const rare = [...(namesPartners ? (["partner"] as const) : []), "dates", "eventType", "test"] as const;
	// The cursor and the sort order are not filters.
	const isSet = Object.keys(typed).some((name) => !["cursor", "sort"].includes(name));
	const isRareSet = rare.some((name) => typed[name] !== undefined);
	return filterBar({
		action: path,
		label: "Filter conversions",
		search: FILTERS.fields(filters, ["orderId"]),
		fields: [
			FILTERS.fields(filters, ["status", "from", "to", "sort"], { zone: filters.zone }),
			html`<details class="more filter-more"${ui.attrs({ open: isRareSet })}><summary>More</summary><div class="filter-rare">${FILTERS.fields(filters, rare)}</div></details>`,
		],
		...(isSet ? { clearHref: path } : {}),
	});
}
