// The page "Conversions": every sale of a programme, what became of it, and the buttons to decide.

import { html } from "hono/html";
import { exportConversions } from "../../conversions/export.ts";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { utcDay } from "../../domain/time.ts";
import { listConversions } from "../../store/conversion-list.ts";
import { emptyState } from "../components/blocks.ts";
import { STATUS_WORDS, titleCase } from "../components/conversion-words.ts";
import type { RefusedDecision } from "../components/decision-bar.ts";
import { linkButton, selectField, textField } from "../components/forms.ts";
import type { SortedColumn } from "../components/lists.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { ReadFilters } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { bulkPath, conversionsPath, integrationPath, withQuery } from "../paths.ts";
import { may, programmeOf, standingOf } from "../viewer.ts";
import { answerCsv } from "./csv-answer.ts";
import { movesFor } from "./deciding.ts";
import {
	addressOf,
	type ListQuery,
	parseListQuery,
	SORT_NAMES,
	SORTS,
	type SortName,
	sortOf,
	toConversionFilter,
} from "./list-query.ts";
import { answerConversionList, LIST_COLUMNS, orderColumn } from "./list-view.ts";
import { readTotals } from "./totals.ts";

export function showConversions(c: WebContext, deps: PageDeps): Promise<Response> {
	return showListOf(c, deps, parseListQuery(new URL(c.req.url).search));
}

/** The list as a file: the same filters and order, every row. */
export function showExport(c: WebContext, deps: PageDeps): Response | Promise<Response> {
	const { store, clock } = deps;
	const programme = programmeOf(c);
	const filters = parseListQuery(new URL(c.req.url).search);
	// The page that says which filter is not understood: a file of everything would be taken for the answer.
	if (Object.keys(filters.problems).length > 0) return showListOf(c, deps, filters);
	const { query } = filters;
	const separator = c.req.query("csv") === "semicolon" ? ";" : ",";
	const lines = exportConversions(
		store.db,
		toConversionFilter(programme.id, query),
		sortOf(query),
		separator,
	);
	return answerCsv(c, deps, `conversions-${programme.public_id}-${utcDay(clock.nowMs())}.csv`, lines);
}

export function showListOf(
	c: WebContext,
	deps: PageDeps,
	filters: ReadFilters<ListQuery>,
	refused?: RefusedDecision,
): Promise<Response> {
	const programme = programmeOf(c);
	const { id, public_id: publicId } = programme;
	const { query, problems } = filters;
	const path = conversionsPath(publicId);
	const address = addressOf(query);
	const { cursor: _, ...listed } = address;
	const exportHref = (csv?: string) => withQuery(`${path}/export.csv`, { ...listed, csv });
	const filter = toConversionFilter(id, query);
	const { status, basket, commission, fee, sold, recorded } = LIST_COLUMNS;
	const sorted = (by: "recorded" | "sale" | "basket") => sortLink(path, query, by);
	const isUnderstood = Object.keys(problems).length === 0;
	return answerConversionList(c, deps, {
		area: "conversions",
		title: "Conversions",
		hint: "All reported sales and their status.",
		actions: [
			may(c, "decide")
				? linkButton({
						label: "Approve or reject by CSV",
						href: withQuery(bulkPath(publicId), { list: withQuery("", listed) || undefined }),
					})
				: null,
			...(isUnderstood
				? [
						linkButton({ label: "Export CSV", href: exportHref() }),
						linkButton({
							label: "Export CSV (semicolons, 1,50)",
							tone: "quiet",
							href: exportHref("semicolon"),
						}),
					]
				: []),
		],
		list: {
			name: `conversions of programme:${id}${query.sort === undefined ? "" : ` ${query.sort}`}`,
			path,
			query: address,
			cursorName: "cursor",
		},
		filters,
		filterFields: filterFields(filters),
		read: (page) => listConversions(deps.store.db, { ...filter, sort: sortOf(query), ...page }),
		totals: () => readTotals(deps, filter, programme),
		caption: CAPTIONS[query.sort ?? "newest"],
		pageWords: query.sort === undefined ? ["Newest", "Older"] : ["First", "Next"],
		table: async () => ({
			columns: [
				orderColumn(() => publicId, { list: withQuery("", listed) || undefined }),
				status,
				{ ...basket, sorted: sorted("basket") },
				commission,
				fee,
				{ ...sold, sorted: sorted("sale") },
				{ ...recorded, sorted: sorted("recorded") },
			],
			rowName: (row) => `order ${row.order_id}`,
		}),
		decidePath: `${path}/decide`,
		bar: { moves: movesFor(standingOf(c)) },
		offersAll: true,
		empty: (isPartial) => (isPartial ? noneAmongThese() : noConversions(publicId, query)),
		allLabel: "Show all conversions",
		refused,
	});
}

const CAPTIONS: Readonly<Record<SortName | "newest", string>> = {
	newest: "Conversions, the newest first",
	"recorded-asc": "Conversions, the oldest first",
	"sale-desc": "Conversions, the latest sale first",
	"sale-asc": "Conversions, the earliest sale first",
	"basket-desc": "Conversions, the largest basket first",
	"basket-asc": "Conversions, the smallest basket first",
};

const SORT_LABELS: Readonly<Record<SortName, string>> = {
	"recorded-asc": "Recorded, oldest first",
	"sale-desc": "Sold, latest first",
	"sale-asc": "Sold, earliest first",
	"basket-desc": "Basket, largest first",
	"basket-asc": "Basket, smallest first",
};

/** The heading of a column: sorts by it, the largest or latest first, and pressed again the other way round. */
function sortLink(path: string, query: ListQuery, by: "recorded" | "sale" | "basket"): SortedColumn {
	const present = sortOf(query);
	const direction = present.by === by ? present.direction : null;
	const next = direction === "desc" ? "asc" : "desc";
	const sort = SORT_NAMES.find((name) => SORTS[name].by === by && SORTS[name].direction === next);
	return { direction, href: withQuery(path, addressOf({ ...query, sort, cursor: undefined })) };
}

function filterFields({ query, problems, typed }: ReadFilters<ListQuery>): Content {
	const field = (name: keyof ListQuery) => ({ name, value: typed[name] ?? "", error: problems[name] });
	// A browser shows no day that is none, and complains about it.
	const day = (name: "from" | "to") => ({ ...field(name), value: query[name] ?? "" });
	const anything = { value: "", label: "Any" };
	return [
		selectField({
			...field("status"),
			label: "Status",
			options: [anything, ...STATUSES.map((value) => ({ value, label: STATUS_WORDS[value] }))],
		}),
		selectField({
			...field("eventType"),
			label: "Event type",
			options: [anything, ...EVENT_TYPES.map((value) => ({ value, label: titleCase(value) }))],
		}),
		selectField({
			...field("test"),
			label: "Test",
			options: [anything, { value: "no", label: "Live only" }, { value: "yes", label: "Tests only" }],
		}),
		selectField({
			...field("dates"),
			label: "Dates",
			options: [
				{ value: "", label: "Recorded" },
				{ value: "sale", label: "Sold" },
			],
		}),
		textField({ ...day("from"), label: dayLabel("From", query.zone), type: "date" }),
		textField({ ...day("to"), label: dayLabel("To", query.zone), type: "date" }),
		html`<input type="hidden" name="zone" value="${query.zone ?? ""}" data-zone>`,
		selectField({
			...field("sort"),
			label: "Sort by",
			options: [
				{ value: "", label: "Recorded, newest first" },
				...SORT_NAMES.map((value) => ({ value, label: SORT_LABELS[value] })),
			],
		}),
	];
}

/** Whose day it is, for whoever has no scripts or came by somebody else's link: the page's script hides one's own. */
function dayLabel(text: string, zone: string | undefined): Html {
	return html`${text}<span class="zone-mark"> (${zone ?? "UTC"})</span>`;
}

function noneAmongThese(): Html {
	return emptyState({
		title: "None found so far",
		text: "Many orders had to be looked at. Look further, or narrow the filters.",
	});
}

function noConversions(publicId: string, { zone: _, sort: __, ...query }: ListQuery): Html {
	if (Object.values(query).some((value) => value !== undefined)) {
		return emptyState({
			title: "No conversion matches",
			text: "Check the order ID, or remove a filter. Calls that were refused are in the inbound log on Integration.",
			action: linkButton({ label: "Show all conversions", href: conversionsPath(publicId) }),
		});
	}
	return emptyState({
		title: "No conversions yet",
		text: "Issue an API key on Integration, then send a test conversion or your first signed request. It appears here right away.",
		action: linkButton({ label: "Go to Integration", tone: "primary", href: integrationPath(publicId) }),
	});
}
