// Reads the filters of the page "Conversions" from its address, converts them for the database, and computes
// the totals of the matching conversions.

import * as z from "zod";
import { EVENT_TYPES, STATUSES, type Status } from "../../domain/conversion.ts";
import { currencyDigits, formatMinor, minorUnits } from "../../domain/money.ts";
import { readOrderSearch } from "../../domain/order-id.ts";
import { dayEndMs, dayStartMs, isTimeZone } from "../../domain/zone-day.ts";
import {
	type ConversionFilter,
	type ConversionSort,
	collectMatches,
	MAX_COLLECTED,
	NEWEST_FIRST,
} from "../../store/queries/conversion-list.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import { findPartnerships } from "../../store/queries/partners.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import type { Db } from "../../store/store.ts";
import { STATUS_WORDS, titleCase } from "../conversion-ui.ts";
import {
	choice,
	declareFilters,
	type Filter,
	filterBar,
	PART_OF_ORDER,
	type PagedList,
	type ReadFilters,
	UNSEEN,
} from "../filter-query.ts";
import type { PageDeps } from "../page.ts";
import { ALL_CONVERSIONS_PATH, conversionsPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";

/**
 * Sort orders by their names in the address, with their words on the page. The default is the newest first
 * and has no name.
 */
export const SORTS = {
	"recorded-asc": { by: "recorded", direction: "asc", words: "the oldest first" },
	"sale-desc": { by: "sale", direction: "desc", words: "the latest sale first" },
	"sale-asc": { by: "sale", direction: "asc", words: "the earliest sale first" },
	"basket-desc": { by: "basket", direction: "desc", words: "the largest basket first" },
	"basket-asc": { by: "basket", direction: "asc", words: "the smallest basket first" },
} as const satisfies Readonly<Record<string, ConversionSort & { words: string }>>;

type SortName = keyof typeof SORTS;
export const SORT_NAMES = Object.keys(SORTS) as SortName[];

/** Explains the filters From and To, charts and totals. All these pages show it. */
export const BY_DAY = "The day is the one on which a conversion was recorded here or imported.";

export function day(label: string): Filter<string> {
	return {
		schema: z.iso.date({ error: "Enter a day such as 2026-03-01." }),
		field: ({ zone = "", ...own }) =>
			ui.textField({
				...own,
				// Browsers do not show an invalid day, and warn about it.
				value: own.error === undefined ? own.value : "",
				// The time zone is for readers without scripts or with somebody else's link. The script hides it if
				// it is the reader's own.
				label: html`${label}<span class="zone-mark"> (${isTimeZone(zone) ? zone : "UTC"})</span>`,
				type: "date",
			}),
	};
}

/** Time zone of the days. An unknown one counts as UTC, and the fields then show UTC. */
export const ZONE: Filter<string | undefined> = {
	schema: z.string().refine(isTimeZone).optional().catch(undefined),
	field: ({ name, value }) => html`<input type="hidden" name="${name}" value="${value}" data-zone>`,
};

const FILTERS = declareFilters({
	orderId: PART_OF_ORDER,
	status: choice("Status", "Any", STATUSES, (status) => STATUS_WORDS[status]),
	from: day("From"),
	to: day("To"),
	/** Time to which From and To apply. By default this is the time of recording. */
	dates: choice("Dates", "Recorded or imported", ["sale"], () => "Sold"),
	eventType: choice("Event type", "Any", EVENT_TYPES, titleCase),
	partner: {
		schema: z.string().trim(),
		field: (own) =>
			ui.textField({ ...own, label: "Partner", type: "search", placeholder: "Name or ID", maxLength: 100 }),
	},
	/** Tests are hidden by default. */
	test: choice("Tests", "Hidden", ["all", "yes"], (which) => (which === "all" ? "Shown" : "Only tests")),
	zone: ZONE,
	/** Sort order, which is chosen in the heading of a column and stays when a filter is changed. */
	sort: {
		schema: z.enum(SORT_NAMES).optional().catch(undefined),
		field: ({ name, value }) =>
			value === "" ? null : html`<input type="hidden" name="${name}" value="${value}">`,
	},
	/** Position of the page in the list. With an invalid cursor, the list starts at the beginning. */
	cursor: UNSEEN,
});

type ListQuery = ReturnType<typeof FILTERS.read>["query"];

export interface ReadList extends ReadFilters<ListQuery> {
	/** Filter for the database. It is used only if there are no problems. */
	filter: ConversionFilter;
}

/**
 * Maximum number of partnerships that a filter may match. The list reads a separate range of an index for
 * each of them.
 */
const MAX_PARTNERSHIPS = 100;

/**
 * Reads the filters of a programme's list, or of the list of all programmes if it is null. The latter cannot
 * be filtered by the time of the sale, because the only index over all programmes is by the time of
 * recording.
 */
export async function readList(db: Db, programme: Programme | null, search: string): Promise<ReadList> {
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
		"Open a programme's own list for this. All programmes together are listed by when they were recorded.";
	const problems = {
		...(programme === null && dates !== undefined ? { dates: needsProgramme } : {}),
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
		filter: { ...toConversionFilter(programme?.id, query), partnershipIds },
	};
}

/** Returns the filters for an address. The time zone is included only if there are days. */
export function addressOf({ zone, ...query }: ListQuery): Readonly<Record<string, string | undefined>> {
	return query.from === undefined && query.to === undefined ? query : { ...query, zone };
}

/**
 * Returns the sort order that is used. The sales of a partner are always sorted by the time of the sale. The
 * list of all programmes is otherwise sorted by the time of recording.
 */
function judgeSort({ partner, sort }: ListQuery, programme: Programme | null): SortName | undefined {
	if (partner !== undefined) return sort === "sale-asc" ? sort : "sale-desc";
	return programme === null && sort !== "recorded-asc" ? undefined : sort;
}

/** Returns the address of the programme's list, or of the list of all programmes. */
export function listPath(programme: Programme | null | undefined): string {
	return programme == null ? ALL_CONVERSIONS_PATH : conversionsPath(programme.public_id);
}

export function sortOf({ sort }: ListQuery): ConversionSort {
	return sort === undefined ? NEWEST_FIRST : SORTS[sort];
}

/** Converts the filters for the database. The last day is included. */
function toConversionFilter(programmeId: number | undefined, query: ListQuery): ConversionFilter {
	const { from, to, zone = "UTC", test } = query;
	const fromMs = from === undefined ? undefined : dayStartMs(from, zone);
	const beforeMs = to === undefined ? undefined : dayEndMs(to, zone);
	// A search for an order also finds tests.
	const showsTests = test === "all" || (test === undefined && query.orderId !== undefined);
	return {
		programmeId,
		status: query.status,
		eventType: query.eventType,
		isTest: showsTests ? undefined : test === "yes",
		...(query.dates === "sale" ? { soldFromMs: fromMs, soldBeforeMs: beforeMs } : { fromMs, beforeMs }),
		search: query.orderId === undefined ? undefined : readOrderSearch(query.orderId),
	};
}

// Totals of the conversions that match a filter. They are added up from the rows if there are not too many.
// Otherwise the counts of the overview are used, if they can answer the filter.

export interface Totals extends Sums {
	/** Number of conversions, including test conversions. If `isAll` is false, there are more. */
	count: number;
	isAll: boolean;
}

interface Sums {
	tests: number;
	/** Sums by currency without tests. Empty if there are too many conversions to add them up. */
	sums: readonly CurrencySum[];
}

interface CurrencySum {
	currency: string;
	basket: string;
	commission: string;
	/** Commission by status, because only the commission of approved conversions is owed. */
	commissions: readonly (readonly [status: Status, commission: string])[];
}

export async function readTotals(
	{ store, tallies }: Pick<PageDeps, "store" | "tallies">,
	filter: ConversionFilter,
	/** Null for the list of all programmes. */
	programme: Programme | null,
	/** Rows of the page, and whether they are all that match. */
	shown: { rows: readonly Conversion[]; isAll: boolean },
): Promise<Totals> {
	if (shown.isAll) return sumOf(shown.rows);
	const known = programme === null ? null : await readTally(tallies, filter, programme);
	if (known !== null) return known;
	const { rows, count } = await collectMatches(store.reader, filter);
	if (rows !== null) return sumOf(rows);
	return { count: Math.max(count, shown.rows.length), isAll: false, tests: 0, sums: [] };
}

function sumOf(rows: readonly Conversion[]): Totals {
	return { count: rows.length, isAll: true, ...sumUp(rows) };
}

/**
 * Returns null if the overview's counts cannot answer the filter, or if there are few enough conversions to
 * add them up.
 */
async function readTally(
	tallies: PageDeps["tallies"],
	{ programmeId: _, status, isTest, ...others }: ConversionFilter,
	{ id, currency }: Programme,
): Promise<Totals | null> {
	if (isTest !== false || Object.values(others).some((value) => value !== undefined)) return null;
	const { count: tally } = await tallies.look(id);
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

/** Returns the number of decimals. Stored currencies were valid when they were stored. */
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
	// The cursor, the time zone and the sort order are not filters.
	const isSet = Object.keys(typed).some((name) => !["cursor", "zone", "sort"].includes(name));
	const isRareSet = rare.some((name) => typed[name] !== undefined);
	return filterBar({
		action: path,
		label: "Filter conversions",
		search: FILTERS.fields(filters, ["orderId"]),
		fields: [
			FILTERS.fields(filters, ["status", "from", "to", "zone", "sort"]),
			html`<details class="more filter-more"${ui.attrs({ open: isRareSet })}><summary>More</summary><div class="filter-rare">${FILTERS.fields(filters, rare)}</div></details>`,
		],
		...(isSet ? { clearHref: path } : {}),
	});
}
