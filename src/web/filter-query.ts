// A list's filters and pages as they stand in its address. What is not understood there is told at its field, and
// nothing is listed: the whole list would be taken for the answer.

import * as z from "zod";
import { type Cursor, type CursorSeal, readCursor, writeCursor } from "../domain/cursor.ts";
import { plainWords } from "../domain/fault.ts";
import { parseOrderId } from "../domain/order-id.ts";
import type { ListPage } from "../store/list-page.ts";
import type { Pages } from "./components/lists.ts";
import { withQuery } from "./paths.ts";

export interface ReadFilters<Query> {
	/** What is understood. */
	query: Query;
	/** By field: what is wrong with it, and what to do. */
	problems: Readonly<Record<string, string>>;
	/** By field, as it stands in the address. */
	typed: Readonly<Record<string, string>>;
}

/** Every field of the schema is optional, and its error is the sentence at the field. An empty one is left out. */
export function readFilters<Query>(
	schema: z.ZodType<Query>,
	search: string,
	/** Fields that say something by being empty. */
	keptEmpty: readonly string[] = [],
): ReadFilters<Query> {
	const entries = [...new URLSearchParams(search)];
	const typed = Object.fromEntries(
		entries.filter(([name, value]) => value.trim() !== "" || keptEmpty.includes(name)),
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

/** A whole order id. Judged by the intake's own rule: what cannot be there cannot be looked for. */
export function orderIdFilter() {
	return z.string().superRefine((text, context) => refineOrderId(text, context));
}

/**
 * Any part of an order id, or a conversion id. White space at its ends is not part of it: people paste it along, and no
 * order id begins or ends with it.
 */
export function orderPartFilter() {
	return z
		.string()
		.transform((text) => text.trim())
		.superRefine((text, context) => refineOrderId(text, context));
}

function refineOrderId(text: string, context: z.RefinementCtx): void {
	const parsed = parseOrderId(text);
	if (!parsed.ok) context.addIssue({ code: "custom", message: plainWords(parsed.fault) });
}
