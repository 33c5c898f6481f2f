// The filters and the position of a list, which are in the address of its page. An invalid filter is reported
// at its field, and nothing is listed, because an unfiltered list could be mistaken for the filtered one.

import * as z from "zod";
import { type Cursor, type CursorSeal, readCursor, writeCursor } from "../domain/cursor.ts";
import { plainWords } from "../domain/fault.ts";
import { parseKnownOrderId } from "../domain/order-id.ts";
import { DEFAULT_ZONE, dayEndMs, dayStartMs, isDay } from "../domain/zone-day.ts";
import type { ListPage } from "../store/queries/list-page.ts";
import { withQuery } from "./paths.ts";
import { type Content, emptyState, type Html, html, selectField, textField } from "./ui.ts";

export interface ReadFilters<Query> {
	/** Filters that are valid. */
	query: Query;
	/** Messages about invalid filters, by the name of their field. */
	problems: Readonly<Record<string, string>>;
	/** Values in the address by the name of their field, whether valid or not. */
	typed: Readonly<Record<string, string>>;
}

/**
 * Reads the filters from an address. Every field of the schema is optional, and its error message is shown at
 * the field. Empty fields are ignored.
 */
function readFilters<Query>(schema: z.ZodType<Query>, search: string): ReadFilters<Query> {
	const typed = Object.fromEntries(
		[...new URLSearchParams(search)].filter(([, value]) => value.trim() !== ""),
	);
	const read = schema.safeParse(typed);
	const problems = read.success
		? findReversedDays(typed)
		: Object.fromEntries(read.error.issues.map(({ path, message }) => [String(path[0]), message]));
	if (read.success && Object.keys(problems).length === 0) return { query: read.data, problems, typed };
	const understood = Object.entries(typed).filter(([name]) => !Object.hasOwn(problems, name));
	return { query: schema.parse(Object.fromEntries(understood)), problems, typed };
}

/** Reports a last day that is before the first day. Every list names them `from` and `to`. */
function findReversedDays({ from, to }: Readonly<Record<string, string>>): Record<string, string> {
	const isReversed = from !== undefined && to !== undefined && to < from;
	return isReversed ? { to: "The last day is before the first." } : {};
}

/** A list that is shown in pages. The address of a page contains the cursor at which the page starts. */
export interface PagedList {
	/**
	 * Name of the list and of its owner. A cursor is valid only for the list with this name. See domain/cursor.
	 */
	name: string;
	path: string;
	/** Query of the address, including the cursor. */
	query: Readonly<Record<string, string | undefined>>;
	/** Name of the query parameter that holds the cursor. */
	cursorName: string;
	/** Fragment of the address, such as "#deliveries", if the list is one section of its page. */
	hash?: string;
}

/**
 * Returns the cursor in the address. Returns undefined on the first page, and for a cursor of another list.
 */
export function cursorOf(seal: CursorSeal, { name, query, cursorName }: PagedList): Cursor | undefined {
	return readCursor(seal, name, query[cursorName]);
}

export function pagesOf(
	seal: CursorSeal,
	list: PagedList,
	{ rows, next }: ListPage<unknown>,
	shown = `${rows.length} shown`,
): Pages {
	const { name, path, query, cursorName, hash = "" } = list;
	const href = (cursor: string | undefined) =>
		`${withQuery(path, { ...query, [cursorName]: cursor })}${hash}`;
	return {
		newestHref: cursorOf(seal, list) === undefined ? null : href(undefined),
		olderHref: next === null ? null : href(writeCursor(seal, name, next)),
		shown,
	};
}

/** A filter of a list. It has a schema for its value in the address, and a field for the form. */
export interface Filter<Value> {
	schema: z.ZodType<Value>;
	/** Returns the form's field for this filter. `zone` is the time zone of days. */
	field(field: {
		name: string;
		id: string;
		value: string;
		error: string | undefined;
		zone: string;
	}): Html | null;
}

type Declared = Readonly<Record<string, Filter<unknown>>>;
type QueryOf<Filters extends Declared> = {
	[Name in keyof Filters]?: z.output<Filters[Name]["schema"]> | undefined;
};

export function declareFilters<Filters extends Declared>(declared: Filters) {
	const schemas = Object.entries(declared).map(([name, { schema }]) => [name, schema.optional()]);
	const schema = z.object(Object.fromEntries(schemas)) as unknown as z.ZodType<QueryOf<Filters>>;
	return {
		read: (search: string) => readFilters(schema, search),
		/**
		 * Returns the form's fields for the named filters. `prefix` makes their ids unique on a page with several
		 * forms. `zone` is the time zone that the labels of days name.
		 */
		fields(
			{ typed, problems }: ReadFilters<unknown>,
			names: readonly (keyof Filters & string)[],
			{ prefix = "", zone = DEFAULT_ZONE }: { prefix?: string; zone?: string } = {},
		) {
			return names.map((name) =>
				declared[name]?.field({
					name,
					id: `${prefix}${name}`,
					value: typed[name] ?? "",
					error: problems[name],
					zone,
				}),
			) as readonly Html[];
		},
	};
}

/** Returns a filter with a fixed list of values. `any` is the label of the choice that does not filter. */
export function choice<const Value extends string>(
	label: string,
	any: string,
	values: readonly Value[],
	wordOf: (value: Value) => string = String,
): Filter<Value> {
	const options = values.map((value) => ({ value, label: wordOf(value) }));
	return {
		schema: z.enum(values, { error: "Choose one of these." }),
		field: (field) => selectField({ ...field, label, options: [{ value: "", label: any }, ...options] }),
	};
}

/** Filter by a day in the network's time zone, which the label names. */
export function day(label: string): Filter<string> {
	return {
		schema: z.iso.date({ error: "Enter a day such as 2026-03-01." }),
		field: ({ zone, ...field }) =>
			textField({
				...field,
				// Browsers cannot show text that is not a day.
				value: isDay(field.value) ? field.value : "",
				label: `${label} (${zone})`,
				type: "date",
			}),
	};
}

/** Returns the span of the days of a filter, both of which are included. A missing day leaves its end open. */
export function spanOfDays(
	{ from, to }: { from?: string | undefined; to?: string | undefined },
	zone: string,
): { fromMs: number | undefined; beforeMs: number | undefined } {
	return {
		fromMs: from === undefined ? undefined : dayStartMs(from, zone),
		beforeMs: to === undefined ? undefined : dayEndMs(to, zone),
	};
}

/** A filter without a field, such as a cursor. It is only in the address. */
export const UNSEEN: Filter<string> = { schema: z.string(), field: () => null };

/**
 * Filter by a complete order id. An id that the API would refuse is refused here as well, because no order
 * can have it.
 */
export const WHOLE_ORDER: Filter<string> = {
	schema: z.string().superRefine(refineOrderId),
	field: (field) =>
		textField({ ...field, ...ORDER_FIELD, label: "Order ID", placeholder: "The whole order ID" }),
};

/**
 * Filter by the X-Request-Id header of a response. White space at the ends is removed, because people paste
 * it by accident.
 */
export const REQUEST_ID: Filter<string> = {
	schema: z
		.string()
		.transform((text) => text.trim())
		.refine((text) => /^[\w.:-]{8,64}$/.test(text), "Enter the whole X-Request-Id of an answer."),
	field: (own) =>
		textField({
			...own,
			type: "search",
			label: "Request ID",
			placeholder: "X-Request-Id of the answer",
		}),
};

/**
 * Filter by any part of an order id, or by a conversion id. White space at the ends is removed, because
 * people paste it by accident, and no order id starts or ends with it.
 */
export const PART_OF_ORDER: Filter<string> = {
	schema: z
		.string()
		.transform((text) => text.trim())
		.superRefine(refineOrderId),
	field: (field) =>
		html`<div class="field-search">${textField({
			...field,
			...ORDER_FIELD,
			label: "Order or conversion ID",
			placeholder: "Any part of an order ID",
			isMono: true,
		})}</div>`,
};

const ORDER_FIELD = { type: "search" } as const;

function refineOrderId(text: string, context: z.RefinementCtx): void {
	const parsed = parseKnownOrderId(text);
	if (!parsed.ok) context.addIssue({ code: "custom", message: plainWords(parsed.fault) });
}

/** Returns the message that replaces the rows if a filter is invalid. */
export function notUnderstood(text: Content, action?: Content): Html {
	return emptyState({ title: "This filter is not understood", text, action });
}

export interface Pages {
	newestHref: string | null;
	olderHref: string | null;
	/** Text that describes the rows on this page, such as "50 shown". */
	shown: string;
}

/**
 * Returns links to the first and the next page, or null if the list fits on one page. By default the labels
 * are for a list that starts with the newest row.
 */
export function pager(
	{ newestHref, olderHref, shown }: Pages,
	[newest, older]: readonly [string, string] = ["Newest", "Older"],
): Html | null {
	if (newestHref === null && olderHref === null) return null;
	return html`<nav class="pager" aria-label="Pages"><span class="small faint">${shown}</span><span class="row">${
		newestHref === null ? null : html`<a class="button button-small" href="${newestHref}">${newest}</a>`
	}${
		olderHref === null
			? null
			: html`<a class="button button-small" href="${olderHref}" rel="next">${older}</a>`
	}</span></nav>`;
}

/** Returns a form with one field, which searches by name or id. */
export function searchBar(bar: {
	action: string;
	label: string;
	name: string;
	value: string;
	fieldLabel?: string;
}): Html {
	const { action, label, name, value, fieldLabel = "Name or ID" } = bar;
	return filterBar({
		action,
		label,
		fields: html`<div class="field-search">${textField({
			name,
			id: `find-${name}`,
			label: fieldLabel,
			type: "search",
			value,
		})}</div>`,
		...(value === "" ? {} : { clearHref: action }),
	});
}

export const MAX_SEARCH_LENGTH = 100;

/**
 * Returns the form with the filters of a list. It uses GET, so that the address contains the filters and can
 * be shared and bookmarked.
 */
export function filterBar(bar: {
	action: string;
	label: string;
	/** Search field, which is always visible. */
	search?: Content;
	/**
	 * All other fields. If there is a search field, these are folded on narrow screens, because they would fill
	 * the screen.
	 */
	fields: Content;
	clearHref?: string;
	send?: string;
}): Html {
	const isOpen = bar.clearHref !== undefined;
	const fold =
		bar.search === undefined
			? null
			: html`<label class="filter-fold"><input type="checkbox" ${isOpen ? html`checked` : null}> More filters</label>`;
	return html`<form method="get" action="${bar.action}" class="filter-bar" role="search" aria-label="${bar.label}">${bar.search}${fold}${bar.fields}
	<div class="row"><button type="submit" class="button">${bar.send ?? "Apply filters"}</button>${
		bar.clearHref === undefined
			? null
			: html`<a class="button button-quiet" href="${bar.clearHref}">Clear</a>`
	}</div></form>`;
}
