// The page "Conversions": every sale of a programme, what became of it, and the buttons to decide.

import { html } from "hono/html";
import * as z from "zod";
import { exportConversions } from "../../conversions/export.ts";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { utcDay } from "../../domain/time.ts";
import { dayEndMs, dayStartMs, isTimeZone } from "../../domain/zone-day.ts";
import { type ConversionFilter, listConversions } from "../../store/conversion-list.ts";
import { emptyState } from "../components/blocks.ts";
import { STATUS_WORDS, titleCase } from "../components/conversion-words.ts";
import type { RefusedDecision } from "../components/decision-bar.ts";
import { linkButton, selectField, textField } from "../components/forms.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { orderStartFilter, type ReadFilters, readFilters } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { bulkPath, conversionsPath, integrationPath, withQuery } from "../paths.ts";
import { may, programmeOf, standingOf } from "../viewer.ts";
import { answerCsv } from "./csv-answer.ts";
import { movesFor } from "./deciding.ts";
import { answerConversionList, LIST_COLUMNS, orderColumn } from "./list-view.ts";

const DAY = z.iso.date({ error: "Enter a day such as 2026-03-01." }).optional();

const QUERY = z.object({
	status: z.enum(STATUSES, { error: "There is no such status. Choose one." }).optional(),
	eventType: z.enum(EVENT_TYPES, { error: "There is no such event type. Choose one." }).optional(),
	test: z.enum(["yes", "no"], { error: "Choose one of these." }).optional(),
	from: DAY,
	to: DAY,
	/** Whose days they are. One that is not known here is UTC, as the fields then say. */
	zone: z.string().refine(isTimeZone).optional().catch(undefined),
	orderId: orderStartFilter().optional(),
	/** Where the page before ended. One that no list of ours wrote begins at the beginning. */
	cursor: z.string().optional(),
});

type ListQuery = z.output<typeof QUERY>;

export function parseListQuery(search: string): ReadFilters<ListQuery> {
	return readFilters(QUERY, search);
}

/** The filters for an address: a time zone only with the days that it is for. */
export function addressOf({ zone, ...query }: ListQuery): Readonly<Record<string, string | undefined>> {
	return query.from === undefined && query.to === undefined ? query : { ...query, zone };
}

/** The last day is included. */
function toConversionFilter(programmeId: number, query: ListQuery): ConversionFilter {
	const { from, to, zone = "UTC" } = query;
	return {
		programmeId,
		status: query.status,
		eventType: query.eventType,
		isTest: query.test === undefined ? undefined : query.test === "yes",
		fromMs: from === undefined ? undefined : dayStartMs(from, zone),
		beforeMs: to === undefined ? undefined : dayEndMs(to, zone),
		orderStart: query.orderId,
	};
}

export function showConversions(c: WebContext, deps: PageDeps): Promise<Response> {
	return showListOf(c, deps, parseListQuery(new URL(c.req.url).search));
}

/** The list as a file: the same filters, every row. */
export function showExport(c: WebContext, deps: PageDeps): Response | Promise<Response> {
	const { store, clock } = deps;
	const programme = programmeOf(c);
	const filters = parseListQuery(new URL(c.req.url).search);
	// The page that says which filter is not understood: a file of everything would be taken for the answer.
	if (Object.keys(filters.problems).length > 0) return showListOf(c, deps, filters);
	const day = utcDay(clock.nowMs());
	const lines = exportConversions(store.db, toConversionFilter(programme.id, filters.query));
	return answerCsv(c, deps, `conversions-${programme.public_id}-${day}.csv`, lines);
}

export function showListOf(
	c: WebContext,
	deps: PageDeps,
	filters: ReadFilters<ListQuery>,
	refused?: RefusedDecision,
): Promise<Response> {
	const { id, public_id: publicId } = programmeOf(c);
	const { query, problems } = filters;
	const path = conversionsPath(publicId);
	const { status, basket, commission, fee, recorded } = LIST_COLUMNS;
	return answerConversionList(c, deps, {
		area: "conversions",
		title: "Conversions",
		hint: "Every sale that was reported, and what became of it.",
		actions: [
			may(c, "decide") ? linkButton({ label: "Decide by CSV", href: bulkPath(publicId) }) : null,
			Object.keys(problems).length > 0
				? null
				: linkButton({
						label: "Export CSV",
						href: withQuery(`${path}/export.csv`, { ...addressOf(query), cursor: undefined }),
					}),
		],
		list: { name: `conversions of programme:${id}`, path, query: addressOf(query), cursorName: "cursor" },
		filters,
		filterFields: filterFields(filters),
		read: (page) => listConversions(deps.store.db, { ...toConversionFilter(id, query), ...page }),
		caption: query.orderId === undefined ? "Conversions, the newest first" : "Conversions by order id",
		table: async () => ({
			columns: [orderColumn(() => publicId), status, basket, commission, fee, recorded],
			rowName: (row) => `order ${row.order_id}`,
		}),
		decidePath: `${path}/decide`,
		bar: { moves: movesFor(standingOf(c)) },
		empty: (isPartial) => (isPartial ? noneAmongThese() : noConversions(publicId, query)),
		allLabel: "Show all conversions",
		refused,
	});
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
			options: [anything, { value: "no", label: "Real ones" }, { value: "yes", label: "Tests" }],
		}),
		textField({ ...day("from"), label: dayLabel("From", query.zone), type: "date" }),
		textField({ ...day("to"), label: dayLabel("To", query.zone), type: "date" }),
		html`<input type="hidden" name="zone" value="${query.zone ?? ""}" data-zone>`,
	];
}

/** Whose day it is, for whoever has no scripts or came by somebody else's link: the page's script hides one's own. */
function dayLabel(text: string, zone: string | undefined): Html {
	return html`${text}<span class="zone-mark"> (${zone ?? "UTC"})</span>`;
}

function noneAmongThese(): Html {
	return emptyState({
		title: "None among these orders",
		text: "Many orders start like this. Look further, or type more of the order id.",
	});
}

function noConversions(publicId: string, { zone: _, ...query }: ListQuery): Html {
	if (Object.values(query).some((value) => value !== undefined)) {
		return emptyState({
			title: "No conversion matches",
			text: "Check the order id, or take a filter away. Whatever came in and was refused is in the inbound log on Integration.",
			action: linkButton({ label: "Show all conversions", href: conversionsPath(publicId) }),
		});
	}
	return emptyState({
		title: "No conversions yet",
		text: "Issue an API key on Integration, then send a test conversion or your first postback. It shows here at once.",
		action: linkButton({ label: "Go to Integration", tone: "primary", href: integrationPath(publicId) }),
	});
}
