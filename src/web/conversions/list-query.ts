// The filters of the page "Conversions" as they stand in its address, what the store is asked for, and what it all comes
// to.

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

/** The ways to sort, as the address names them, and the words for them. The newest recorded first has no name. */
export const SORTS = {
	"recorded-asc": { by: "recorded", direction: "asc", words: "the oldest first" },
	"sale-desc": { by: "sale", direction: "desc", words: "the latest sale first" },
	"sale-asc": { by: "sale", direction: "asc", words: "the earliest sale first" },
	"basket-desc": { by: "basket", direction: "desc", words: "the largest basket first" },
	"basket-asc": { by: "basket", direction: "asc", words: "the smallest basket first" },
} as const satisfies Readonly<Record<string, ConversionSort & { words: string }>>;

type SortName = keyof typeof SORTS;
export const SORT_NAMES = Object.keys(SORTS) as SortName[];

/** The rule of From and To, and of every chart and total: said on each of these pages. */
export const BY_DAY = "The day is the one on which a conversion was recorded here or imported.";

export function day(label: string): Filter<string> {
	return {
		schema: z.iso.date({ error: "Enter a day such as 2026-03-01." }),
		field: ({ zone = "", ...own }) =>
			ui.textField({
				...own,
				// A browser shows no day that is none, and complains about it.
				value: own.error === undefined ? own.value : "",
				// Whose day it is, for whoever has no scripts or came by somebody else's link: the script hides one's own.
				label: html`${label}<span class="zone-mark"> (${isTimeZone(zone) ? zone : "UTC"})</span>`,
				type: "date",
			}),
	};
}

/** Whose days they are. One that is not known here is UTC, as the fields then say. */
export const ZONE: Filter<string | undefined> = {
	schema: z.string().refine(isTimeZone).optional().catch(undefined),
	field: ({ name, value }) => html`<input type="hidden" name="${name}" value="${value}" data-zone>`,
};

const FILTERS = declareFilters({
	orderId: PART_OF_ORDER,
	status: choice("Status", "Any", STATUSES, (status) => STATUS_WORDS[status]),
	from: day("From"),
	to: day("To"),
	/** Which day is meant: that of the recording unless told. */
	dates: choice("Dates", "Recorded or imported", ["sale"], () => "Sold"),
	eventType: choice("Event type", "Any", EVENT_TYPES, titleCase),
	partner: {
		schema: z.string().trim(),
		field: (own) =>
			ui.textField({ ...own, label: "Partner", type: "search", placeholder: "Name or ID", maxLength: 100 }),
	},
	/** Hidden until they are asked for. */
	test: choice("Tests", "Hidden", ["all", "yes"], (which) => (which === "all" ? "Shown" : "Only tests")),
	zone: ZONE,
	/** Chosen at the head of a column; stays when a filter is changed. */
	sort: {
		schema: z.enum(SORT_NAMES).optional().catch(undefined),
		field: ({ name, value }) =>
			value === "" ? null : html`<input type="hidden" name="${name}" value="${value}">`,
	},
	/** Where the page before ended. One that no list of ours wrote begins at the beginning. */
	cursor: UNSEEN,
});

type ListQuery = ReturnType<typeof FILTERS.read>["query"];

export interface ReadList extends ReadFilters<ListQuery> {
	/** What the store is asked for, once nothing is wrong. */
	filter: ConversionFilter;
}

/** Each is a stretch of an index that the list walks side by side with the others. */
const MAX_PARTNERSHIPS = 100;

/** Of a programme, or for staff of all: over these there is an index for when they were recorded, and for nothing else. */
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

/** The filters for an address: a time zone only with the days that it is for. */
export function addressOf({ zone, ...query }: ListQuery): Readonly<Record<string, string | undefined>> {
	return query.from === undefined && query.to === undefined ? query : { ...query, zone };
}

/** Sales of a partner are listed by the time of the sale, whoever's programme it is. */
function judgeSort({ partner, sort }: ListQuery, programme: Programme | null): SortName | undefined {
	if (partner !== undefined) return sort === "sale-asc" ? sort : "sale-desc";
	return programme === null && sort !== "recorded-asc" ? undefined : sort;
}

/** Of a programme, or for staff of all. */
export function listPath(programme: Programme | null | undefined): string {
	return programme == null ? ALL_CONVERSIONS_PATH : conversionsPath(programme.public_id);
}

export function sortOf({ sort }: ListQuery): ConversionSort {
	return sort === undefined ? NEWEST_FIRST : SORTS[sort];
}

/** The last day is included. */
function toConversionFilter(programmeId: number | undefined, query: ListQuery): ConversionFilter {
	const { from, to, zone = "UTC", test } = query;
	const fromMs = from === undefined ? undefined : dayStartMs(from, zone);
	const beforeMs = to === undefined ? undefined : dayEndMs(to, zone);
	// Whoever looks for an order finds it, test or not.
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

// What the conversions that a filter finds come to, added up from the rows if they are not too many. Otherwise the
// overview's count is taken where the filter asks for no more than it knows.

export interface Totals extends Sums {
	/** How many, tests included; more than that where not all are counted. */
	count: number;
	isAll: boolean;
}

interface Sums {
	tests: number;
	/** By currency, without tests, on which no money hangs. Empty where there are too many to be added up. */
	sums: readonly CurrencySum[];
}

interface CurrencySum {
	currency: string;
	basket: string;
	commission: string;
	/** The commission of each status that some have: only what is approved is owed. */
	commissions: readonly (readonly [status: Status, commission: string])[];
}

export async function readTotals(
	{ store, tallies }: Pick<PageDeps, "store" | "tallies">,
	filter: ConversionFilter,
	/** Null where the list is of all programmes. */
	programme: Programme | null,
	/** A page of them, and whether it is all. */
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

/** Null where there are few enough to be counted now, or the tally does not know. */
async function readTally(
	tallies: PageDeps["tallies"],
	{ programmeId: _, status, isTest, ...others }: ConversionFilter,
	{ id, currency }: Programme,
): Promise<Totals | null> {
	if (isTest !== false || Object.values(others).some((value) => value !== undefined)) return null;
	const { count: tally } = await tallies.look(id);
	const found = [...(tally?.totals ?? [])].filter(([of]) => status === undefined || of === status);
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
		.map(([of, total]) => [of, formatMinor(total.commissionMinor, digitsOf(currency))] as const);
	const sums = [{ currency, basket: add("basketMinor"), commission: add("commissionMinor"), commissions }];
	return { count, isAll: true, tests: 0, sums };
}

export function sumUp(rows: readonly Conversion[]): Sums {
	const live = rows.filter(({ test }) => test === 0);
	const byCurrency = Map.groupBy(live, ({ currency }) => currency);
	const sums = [...byCurrency].map(([currency, own]) => {
		const add = (name: "basket_value" | "commission", of = own) =>
			formatMinor(
				of.reduce((sum, row) => sum + minorUnits(row[name]), 0n),
				digitsOf(currency),
			);
		const byStatus = Map.groupBy(own, ({ status }) => status);
		const commissions = STATUSES.flatMap((status) => {
			const of = byStatus.get(status);
			return of === undefined ? [] : [[status, add("commission", of)] as const];
		});
		return { currency, basket: add("basket_value"), commission: add("commission"), commissions };
	});
	return { tests: rows.length - live.length, sums };
}

/** Every currency on record is one that was known when it came in. */
export function digitsOf(currency: string): number {
	const digits = currencyDigits(currency);
	return digits.ok ? digits.value : 0;
}

// The fields in which people filter.

export interface ConversionList extends PagedList {
	/** Whose conversions are listed; null for those of all programmes. */
	programme: Programme | null;
	filters: ReadList;
}

export function filterForm({ filters, path, programme }: ConversionList): Html {
	const { typed } = filters;
	const namesPartners = programme?.credits_partners !== 0 || typed["partner"] !== undefined;
	const rare = [...(namesPartners ? (["partner"] as const) : []), "dates", "eventType", "test"] as const;
	// The days' time zone is no filter by itself.
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
