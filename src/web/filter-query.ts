// A list's filters and pages as they stand in its address. What is not understood there is told at its field, and
// nothing is listed: the whole list would be taken for the answer.

import * as z from "zod";
import { type Cursor, type CursorSeal, readCursor, writeCursor } from "../domain/cursor.ts";
import { plainWords } from "../domain/fault.ts";
import { MAX_ORDER_ID_CHARACTERS, parseKnownOrderId } from "../domain/order-id.ts";
import type { ListPage } from "../store/queries/list-page.ts";
import { withQuery } from "./paths.ts";
import { type Content, emptyState, type Html, html, selectField, textField } from "./ui.ts";

export interface ReadFilters<Query> {
	/** What is understood. */
	query: Query;
	/** By field: what is wrong with it, and what to do. */
	problems: Readonly<Record<string, string>>;
	/** By field, as it stands in the address. */
	typed: Readonly<Record<string, string>>;
}

/** Every field of the schema is optional, and its error is the sentence at the field. An empty one is left out. */
function readFilters<Query>(schema: z.ZodType<Query>, search: string): ReadFilters<Query> {
	const typed = Object.fromEntries(
		[...new URLSearchParams(search)].filter(([, value]) => value.trim() !== ""),
	);
	const read = schema.safeParse(typed);
	if (read.success) return { query: read.data, problems: {}, typed };
	const problems = Object.fromEntries(
		read.error.issues.map(({ path, message }) => [String(path[0]), message]),
	);
	const understood = Object.entries(typed).filter(([name]) => !Object.hasOwn(problems, name));
	return { query: schema.parse(Object.fromEntries(understood)), problems, typed };
}

/** A list of which an address shows one page. */
export interface PagedList {
	/** Which list it is, and whose: see domain/cursor. */
	name: string;
	path: string;
	/** As it stands in the address, with the cursor. */
	query: Readonly<Record<string, string | undefined>>;
	/** Which part of the query the cursor is. */
	cursorName: string;
	/** Where on the page the list is: "#deliveries". */
	hash?: string;
}

/** Undefined for the first page, which is also what a cursor shows that no list of ours wrote. */
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

/** A filter as a list declares it, once: what the address may say, and the field in which people say it. */
export interface Filter<Value> {
	schema: z.ZodType<Value>;
	/** `zone`: whose days the address speaks of, if it says so. */
	field(own: {
		name: string;
		id: string;
		value: string;
		error: string | undefined;
		zone: string | undefined;
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
		/** `prefix`: before the ids, where other forms of the page have fields of these names. */
		fields(
			{ typed, problems }: ReadFilters<unknown>,
			names: readonly (keyof Filters & string)[],
			prefix = "",
		) {
			return names.map((name) =>
				declared[name]?.field({
					name,
					id: `${prefix}${name}`,
					value: typed[name] ?? "",
					error: problems[name],
					zone: typed["zone"],
				}),
			) as readonly Html[];
		},
	};
}

/** `any`: what the field says while the filter is not set. */
export function choice<const Value extends string>(
	label: string,
	any: string,
	values: readonly Value[],
	wordOf: (value: Value) => string = String,
): Filter<Value> {
	const options = values.map((value) => ({ value, label: wordOf(value) }));
	return {
		schema: z.enum(values, { error: "Choose one of these." }),
		field: (own) => selectField({ ...own, label, options: [{ value: "", label: any }, ...options] }),
	};
}

/** Brought along in the address alone, such as where a page went on. */
export const UNSEEN: Filter<string> = { schema: z.string(), field: () => null };

/** Judged by the intake's own rule: what cannot be there cannot be looked for. */
export const WHOLE_ORDER: Filter<string> = {
	schema: z.string().superRefine(refineOrderId),
	field: (own) => textField({ ...own, ...ORDER_FIELD, label: "Order ID", placeholder: "The whole order ID" }),
};

/**
 * Any part of an order id, or a conversion id. White space at its ends is not part of it: people paste it along, and no
 * order id begins or ends with it. The field has the width that is left.
 */
export const PART_OF_ORDER: Filter<string> = {
	schema: z
		.string()
		.transform((text) => text.trim())
		.superRefine(refineOrderId),
	field: (own) =>
		html`<div class="field-search">${textField({
			...own,
			...ORDER_FIELD,
			label: "Order or conversion ID",
			placeholder: "Any part of an order ID",
			isMono: true,
		})}</div>`,
};

const ORDER_FIELD = { type: "search", maxLength: MAX_ORDER_ID_CHARACTERS } as const;

function refineOrderId(text: string, context: z.RefinementCtx): void {
	const parsed = parseKnownOrderId(text);
	if (!parsed.ok) context.addIssue({ code: "custom", message: plainWords(parsed.fault) });
}

/** In place of the rows where a filter is not understood: the whole list would be taken for the answer. */
export function notUnderstood(text: Content, action?: Content): Html {
	return emptyState({ title: "This filter is not understood", text, action });
}

export interface Pages {
	newestHref: string | null;
	olderHref: string | null;
	/** What this page shows, in words. */
	shown: string;
}

/** The links of a list that does not fit onto one page. One that is read from its beginning has its own words. */
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

/** One field that finds something by its name or id. */
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
			maxLength: MAX_SEARCH_LENGTH,
		})}</div>`,
		...(value === "" ? {} : { clearHref: action }),
	});
}

export const MAX_SEARCH_LENGTH = 100;

/** A GET form: filters are part of the address, so that they can be shared and gone back to. */
export function filterBar(bar: {
	action: string;
	label: string;
	/** Always there: the search. */
	search?: Content;
	/** Beside a search, folded away on narrow screens: they would fill one before the first row. */
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
