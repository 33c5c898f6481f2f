// A call that lists something in pages. Each list has filters of its own, and all lists have the same page
// sizes and cursors.

import * as z from "zod";
import { EXAMPLE_CURSOR } from "#core/api/sale-fields.ts";
import { type Cursor, readCursor, writeCursor } from "#core/domain/cursor.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import type { PageRequest } from "#core/store/queries/list-page.ts";
import { type RouteWords, route, type TokenApiDeps, type TokenCall, type TokenRoute } from "./route.ts";

const DEFAULT_PAGE_ROWS = 50;
/** Maximum number of rows on a page, as in the API of shops. */
const MAX_PAGE_ROWS = 200;

export const LIMIT = z
	.string()
	.meta({
		type: "integer",
		minimum: 1,
		maximum: MAX_PAGE_ROWS,
		default: DEFAULT_PAGE_ROWS,
		description: "Maximum number of items on a page.",
	})
	.optional();

/** Parameters in the query of every list. */
const PAGE_QUERY = {
	limit: LIMIT,
	cursor: z
		.string()
		.meta({
			description:
				"The unchanged `next` of the previous page, with the same filters. Left out for the first page.",
			examples: [EXAMPLE_CURSOR],
		})
		.optional(),
};

interface PageQuery {
	limit?: string | undefined;
	cursor?: string | undefined;
}

/** A list that a call has opened with its filters. */
export interface OpenedList<Item> {
	/** Name of the list with its owner and order. A cursor works only in the list of its name. */
	name: string;
	read(page: PageRequest): Promise<{ items: readonly Item[]; next: Cursor | null }>;
}

interface ListDefinition<Filters extends z.ZodRawShape, Item extends z.ZodType> extends RouteWords {
	filters?: Filters;
	item: Item;
	/** Noun for the items of a page, such as "partners". */
	noun: string;
	/** Checks the filters of a call, and opens the list. */
	open(
		call: TokenCall<z.output<z.ZodObject<Filters>>, unknown>,
		deps: TokenApiDeps,
	): Promise<Result<OpenedList<z.output<Item>>>>;
}

export function list<Item extends z.ZodType, Filters extends z.ZodRawShape = Record<never, never>>({
	filters,
	item,
	noun,
	open,
	faults = [],
	...words
}: ListDefinition<Filters, Item>): TokenRoute {
	const items = z.array(item).describe("At most `limit`.");
	return route({
		...words,
		method: "GET",
		query: z.strictObject({ ...filters, ...PAGE_QUERY }),
		answer: {
			description: "The page.",
			schema: z.strictObject({ items, next: NEXT }).meta({ description: `A page of ${noun}.` }),
		},
		faults: ["cursor", ...faults],
		async handle(call, deps) {
			// The casts are safe, because the schema above has the filters and the query of a page.
			const opened = await open(call as TokenCall<z.output<z.ZodObject<Filters>>, unknown>, deps);
			if (!opened.ok) return opened;
			const { name, read } = opened.value;
			const request = readPage(deps, name, call.query as PageQuery);
			if (!request.ok) return request;
			const page = await read(request.value);
			const next = page.next === null ? null : writeCursor(deps, name, page.next);
			return succeed({ body: { items: [...page.items], next } });
		},
	});
}

const NEXT = z
	.string()
	.nullable()
	.meta({
		description: "Send it as `cursor` to get the next page. Null on the last page.",
		examples: [EXAMPLE_CURSOR],
	});

/** Returns the position and size of the page that a query asks for. */
export function readPage(
	deps: Pick<TokenApiDeps, "keyRing">,
	name: string,
	{ limit = String(DEFAULT_PAGE_ROWS), cursor }: PageQuery,
): Result<PageRequest> {
	const rows = /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
	if (rows < 1 || rows > MAX_PAGE_ROWS) {
		return refuse("invalid_field", `limit must be a whole number from 1 to ${MAX_PAGE_ROWS}.`, "limit");
	}
	if (cursor === undefined) return succeed({ limit: rows });
	const after = readCursor(deps, name, cursor);
	return after === undefined ? foreignCursor("cursor") : succeed({ limit: rows, after });
}

/** Returns the refusal of a cursor that belongs to another list, or to another installation. */
export function foreignCursor(field: string): ReturnType<typeof refuse> {
	const text = `This cursor is not one of this list's. Take next from the page before, as it is and with the same filters, or leave ${field} out to start again.`;
	return refuse("malformed_cursor", text, field);
}
