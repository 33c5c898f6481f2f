// The filters of the page "Conversions" as they stand in its address, what the store is asked for, and what it all comes
// to.

import * as z from "zod";
import { EVENT_TYPES, STATUSES, type Status } from "../../domain/conversion.ts";
import { currencyDigits, formatMinor } from "../../domain/money.ts";
import { readOrderSearch } from "../../domain/order-search.ts";
import { dayEndMs, dayStartMs, isTimeZone } from "../../domain/zone-day.ts";
import {
	type ConversionFilter,
	type ConversionSort,
	collectMatches,
	MAX_COLLECTED,
	NEWEST_FIRST,
} from "../../store/queries/conversion-list.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import { listNewestProgrammes } from "../../store/queries/programme-people.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import type { Db } from "../../store/store.ts";
import { orderSearch, type RefusedDecision, STATUS_WORDS, titleCase } from "../conversion-ui.ts";
import { orderPartFilter, type PagedList, type ReadFilters, readFilters } from "../filter-query.ts";
import type { PageDeps } from "../page.ts";
import { withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const DAY = z.iso.date({ error: "Enter a day such as 2026-03-01." }).optional();

export const NO_PROGRAMME = "There is no such programme. Choose one.";

/** The ways to sort, as the address names them. The newest recorded first is the one without a name. */
export const SORTS = {
	"recorded-asc": { by: "recorded", direction: "asc" },
	"sale-desc": { by: "sale", direction: "desc" },
	"sale-asc": { by: "sale", direction: "asc" },
	"basket-desc": { by: "basket", direction: "desc" },
	"basket-asc": { by: "basket", direction: "asc" },
} as const satisfies Readonly<Record<string, ConversionSort>>;

export type SortName = keyof typeof SORTS;
export const SORT_NAMES = [
	"recorded-asc",
	"sale-desc",
	"sale-asc",
	"basket-desc",
	"basket-asc",
] as const satisfies readonly SortName[];

const QUERY = z.object({
	/** Of the network's list; a programme's own has no other. */
	programme: z
		.string()
		.regex(/^[0-9A-Za-z_]{1,64}$/, { error: NO_PROGRAMME })
		.optional(),
	status: z.enum(STATUSES, { error: "There is no such status. Choose one." }).optional(),
	eventType: z.enum(EVENT_TYPES, { error: "There is no such event type. Choose one." }).optional(),
	test: z.enum(["yes", "no"], { error: "Choose one of these." }).optional(),
	from: DAY,
	to: DAY,
	/** Which day is meant: that of the recording unless told. */
	dates: z.enum(["sale"], { error: "Choose one of these." }).optional(),
	/** Whose days they are. One that is not known here is UTC, as the fields then say. */
	zone: z.string().refine(isTimeZone).optional().catch(undefined),
	/** Any part of an order id, or a conversion id. */
	orderId: orderPartFilter().optional(),
	sort: z.enum(SORT_NAMES, { error: "Choose one of these." }).optional(),
	/** Where the page before ended. One that no list of ours wrote begins at the beginning. */
	cursor: z.string().optional(),
});

export type ListQuery = z.output<typeof QUERY>;

export function parseListQuery(search: string): ReadFilters<ListQuery> {
	return readFilters(QUERY, search);
}

/** The filters for an address: a time zone only with the days that it is for. */
export function addressOf({ zone, ...query }: ListQuery): Readonly<Record<string, string | undefined>> {
	return query.from === undefined && query.to === undefined ? query : { ...query, zone };
}

/** What an address brought along of the list that somebody came from, checked. */
export function listAddress(path: string, listQuery: string | undefined | null): string {
	return withQuery(path, addressOf(parseListQuery(listQuery ?? "").query));
}

export function sortOf({ sort }: ListQuery): ConversionSort {
	return sort === undefined ? NEWEST_FIRST : SORTS[sort];
}

/** The last day is included. */
export function toConversionFilter(programmeId: number | undefined, query: ListQuery): ConversionFilter {
	const { from, to, zone = "UTC" } = query;
	const fromMs = from === undefined ? undefined : dayStartMs(from, zone);
	const beforeMs = to === undefined ? undefined : dayEndMs(to, zone);
	return {
		programmeId,
		status: query.status,
		eventType: query.eventType,
		isTest: query.test === undefined ? undefined : query.test === "yes",
		...(query.dates === "sale" ? { soldFromMs: fromMs, soldBeforeMs: beforeMs } : { fromMs, beforeMs }),
		search: query.orderId === undefined ? undefined : readOrderSearch(query.orderId),
	};
}

// What the conversions that a filter finds come to: how many, tests included, as a list shows them and a decision takes
// them; and sums without tests, on which no money hangs. Counted one by one up to a limit; beyond it, the overview's
// count is taken where the filter asks for no more than it knows.

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
	programme?: Programme | null,
): Promise<Totals> {
	const known =
		programme === undefined || programme === null ? null : await readTally(deps, filter, programme);
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

function sumUp(rows: readonly Conversion[]): MoneySum[] {
	const byCurrency = Map.groupBy(rows, ({ currency }) => currency);
	return [...byCurrency].map(([currency, own]) => {
		const add = (pick: (row: Conversion) => string) =>
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

// The fields in which people filter.

/** More do not fit into a menu; an older programme's conversions are found on its own page. */
const PROGRAMMES_IN_MENU = 50;

export interface ConversionList extends PagedList {
	/** Whose page it is; null on the network's. */
	own: Programme | null;
	/** Whose conversions are listed; null for those of all programmes. */
	programme: Programme | null;
	filters: ReadFilters<ListQuery>;
	refused: RefusedDecision | undefined;
}

export async function filterForm(db: Db, list: ConversionList): Promise<Html> {
	const { typed, problems } = list.filters;
	// The days' time zone is no filter by itself.
	const isSet = Object.keys(typed).some((name) => ![list.cursorName, "zone", "sort"].includes(name));
	return ui.filterBar({
		action: list.path,
		label: "Filter conversions",
		search: orderSearch({ name: "orderId", value: typed["orderId"] ?? "", error: problems["orderId"] }),
		fields: [list.own === null ? await programmeField(db, list) : null, filterFields(list)],
		...(isSet ? { clearHref: list.path } : {}),
	});
}

async function programmeField(
	db: Db,
	{ filters: { typed, problems }, programme }: ConversionList,
): Promise<Html> {
	const newest = await listNewestProgrammes(db, PROGRAMMES_IN_MENU);
	// The one that is chosen may be older than those in the menu.
	const isListed = newest.some(({ publicId }) => publicId === programme?.public_id);
	const chosen =
		programme === null || isListed ? [] : [{ publicId: programme.public_id, name: programme.name }];
	const listed = [...chosen, ...newest].map(({ publicId, name }) => ({ value: publicId, label: name }));
	return ui.selectField({
		name: "programme",
		value: typed["programme"] ?? "",
		error: problems["programme"],
		label: "Programme",
		options: [{ value: "", label: "All" }, ...listed],
	});
}

function filterFields({ programme, filters: { query, problems, typed } }: ConversionList): Content {
	const field = (name: keyof ListQuery) => ({ name, value: typed[name] ?? "", error: problems[name] });
	// A browser shows no day that is none, and complains about it.
	const day = (name: "from" | "to") => ({ ...field(name), value: query[name] ?? "" });
	const anything = { value: "", label: "Any" };
	return [
		ui.selectField({
			...field("status"),
			label: "Status",
			options: [anything, ...STATUSES.map((value) => ({ value, label: STATUS_WORDS[value] }))],
		}),
		ui.selectField({
			...field("eventType"),
			label: "Event type",
			options: [anything, ...EVENT_TYPES.map((value) => ({ value, label: titleCase(value) }))],
		}),
		ui.selectField({
			...field("test"),
			label: "Test",
			options: [anything, { value: "no", label: "Live only" }, { value: "yes", label: "Tests only" }],
		}),
		ui.selectField({
			...field("dates"),
			label: "Dates",
			options: [
				{ value: "", label: "Recorded" },
				{ value: "sale", label: "Sold" },
			],
		}),
		ui.textField({ ...day("from"), label: dayLabel("From", query.zone), type: "date" }),
		ui.textField({ ...day("to"), label: dayLabel("To", query.zone), type: "date" }),
		html`<input type="hidden" name="zone" value="${query.zone ?? ""}" data-zone>`,
		ui.selectField({
			...field("sort"),
			label: "Sort by",
			options: [
				{ value: "", label: "Recorded, newest first" },
				...SORT_NAMES.filter((name) => programme !== null || SORTS[name].by === "recorded").map((value) => ({
					value,
					label: SORT_LABELS[value],
				})),
			],
		}),
	];
}

/** Whose day it is, for whoever has no scripts or came by somebody else's link: the page's script hides one's own. */
function dayLabel(text: string, zone: string | undefined): Html {
	return html`${text}<span class="zone-mark"> (${zone ?? "UTC"})</span>`;
}

const SORT_LABELS: Readonly<Record<SortName, string>> = {
	"recorded-asc": "Recorded, oldest first",
	"sale-desc": "Sold, latest first",
	"sale-asc": "Sold, earliest first",
	"basket-desc": "Basket, largest first",
	"basket-asc": "Basket, smallest first",
};
