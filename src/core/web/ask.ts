// Reads from an address which part of a list to show: the filters, the order, and the position of the page. list.ts
// reads and shows the rows. Every list has the parameters `sort` and `cursor`, so no filter may have these names.

import type { Filter } from "./filters.ts";
import type { WebContext } from "./page.ts";
import { withQuery } from "./paths.ts";
import type { SortedColumn } from "./ui.ts";

/** Parameters of an address. Undefined parameters are left out. */
export type Texts = Readonly<Record<string, string | undefined>>;

/** Filters of a list, by their parameter names. */
export type Filters = Readonly<Record<string, Filter<unknown>>>;

/** Values of the filters that are set and valid. */
export type QueryOf<From extends Filters> = {
	readonly [Name in keyof From]?: (From[Name] extends Filter<infer Value> ? Value : never) | undefined;
};

type Direction = "asc" | "desc";

/** Orders of a list, each with its first direction. The first order is the default. */
export type Orders<By extends string> = Readonly<Partial<Record<By, Direction>>>;

export interface ListOrder<By extends string = string> {
	by: By;
	direction: Direction;
	isDefault: boolean;
}

/** Declaration of a list on a page: which parameters its address may have. */
export interface DeclaredList<From extends Filters, By extends string> {
	path: string;
	/** Fragment of the addresses, such as "#deliveries", if the list is one section of its page. */
	hash?: string;
	filters?: From;
	/** Filters that this reader must not use. The form does not show them, and the address cannot set them. */
	without?: readonly (keyof From & string)[];
	/**
	 * Returns the orders that an index supports with these filters. By default a list has only one order, the newest row
	 * first.
	 */
	orders?(query: QueryOf<From>): Orders<By>;
	/**
	 * Values of filters that apply if the address has none of them. Links contain these values, so that their meaning
	 * never changes.
	 */
	defaults?: Texts;
	/** Parameters that are not filters, such as `archived`. Every address of the list has them. */
	fixed?: Texts;
	/** Prefix of the fields' ids, if another form of the page has fields with the same names. */
	idPrefix?: string;
	/** Query to read instead of the query of the request. */
	search?: string;
}

/** List that an address asks for, after its parameters were read. */
export interface Asked<Query = unknown, By extends string = string> {
	query: Query;
	order: ListOrder<By>;
	/** Cursor of the page, or undefined for the first page. */
	cursor: string | undefined;
	/** Messages about invalid filters, by the name of the field. If there is a message, nothing is listed. */
	problems: Texts;
	isUnderstood: boolean;
	/** True if a person has chosen a filter. */
	isFiltered: boolean;
	/**
	 * HTTP status of the page, or undefined if all filters are valid. It is never 200, because a refused form may
	 * already have set another status.
	 */
	status: 422 | undefined;
	/**
	 * Returns the address of the first page with these filters and the given changes. `path` replaces the list's own
	 * path.
	 */
	href(changes?: Texts, path?: string): string;
	/** Returns the address of this page with its filters and position. */
	here(path?: string): string;
	/** Address of the list without any filter. */
	clearHref: string;
	/** Returns the link for the heading of a column, or undefined if the list cannot be sorted by it. */
	sorted(by: By): SortedColumn | undefined;
	/** Data for the form with the filters. */
	form: {
		action: string;
		filters: Filters;
		/** Values as they were typed, even if they are invalid. */
		typed: Texts;
		/** Hidden fields that the form sends unchanged. */
		hidden: Texts;
		idPrefix: string;
		/** Time zone of the days in filters, which is the network's. */
		zone: string;
	};
}

export function ask<From extends Filters = Record<never, never>, By extends string = "newest">(
	c: WebContext,
	list: DeclaredList<From, By>,
): Asked<QueryOf<From>, By> {
	const { path, hash = "", fixed = {}, defaults = {}, without = [], idPrefix = "" } = list;
	const { sort, cursor, ...written } = readTexts(list.search ?? new URL(c.req.url).search);

	const names = Object.keys(list.filters ?? {}).filter((name) => !without.includes(name));
	const filters = pick(list.filters ?? {}, names);
	const chosen = pick(written, names);
	const typed = Object.keys(defaults).some((name) => name in chosen) ? chosen : { ...defaults, ...chosen };
	const { query, problems } = readFilters<From>(filters, typed);

	const orders = (list.orders?.(query) ?? { newest: "desc" }) as Readonly<Record<string, Direction>>;
	const [by = "newest", direction = "desc"] = Object.entries(orders)[0] ?? [];
	const sorts = Object.entries(orders).flatMap(([name, first]) => [
		{ by: name, direction: first, isDefault: name === by },
		{ by: name, direction: reverse(first), isDefault: false },
	]);
	const order = sorts.find((one) => nameOf(one) === sort) ?? { by, direction, isDefault: true };
	const inAddress = (one: ListOrder) => (one.isDefault ? undefined : nameOf(one));

	const parameters = { ...fixed, ...pick(typed, Object.keys(query)), sort: inAddress(order) };
	const href = (changes: Texts = {}, to = path) =>
		`${withQuery(to, { ...parameters, ...changes })}${to === path ? hash : ""}`;
	const isUnderstood = Object.keys(problems).length === 0;
	return {
		query,
		order: order as ListOrder<By>,
		cursor,
		problems,
		isUnderstood,
		isFiltered: names.some((name) => name in chosen && chosen[name] !== defaults[name]),
		status: isUnderstood ? undefined : 422,
		href,
		here: (to = path) => href({ cursor }, to),
		clearHref: `${withQuery(path, fixed)}${hash}`,
		sorted(column) {
			const [first, reversed] = sorts.filter((one) => one.by === column);
			if (first === undefined || reversed === undefined) return undefined;
			const present = order.by === column ? order.direction : null;
			const next = present === first.direction ? reversed : first;
			return { direction: present, href: href({ sort: inAddress(next) }) };
		},
		form: {
			action: `${path}${hash}`,
			filters,
			typed,
			hidden: { ...fixed, sort: inAddress(order) },
			idPrefix,
			zone: c.get("network").timeZone,
		},
	};
}

/** Adds messages about filters whose values are in the right form and name nothing. */
export function withProblems<Query, By extends string>(
	asked: Asked<Query, By>,
	found: Texts,
): Asked<Query, By> {
	const problems = { ...found, ...asked.problems };
	return Object.keys(problems).length === 0
		? asked
		: { ...asked, problems, isUnderstood: false, status: 422 };
}

/**
 * Reads the parameters of an address. Spaces at the ends are removed, because people paste them by accident. Empty
 * parameters are left out, because a form sends its empty fields.
 */
function readTexts(search: string): Record<string, string> {
	const texts = [...new URLSearchParams(search)].map(([name, text]) => [name, text.trim()] as const);
	return Object.fromEntries(texts.filter(([, text]) => text !== ""));
}

function readFilters<From extends Filters>(filters: Filters, typed: Texts) {
	const query: Record<string, unknown> = {};
	const problems: Record<string, string> = {};
	for (const [name, { schema }] of Object.entries(filters)) {
		if (typed[name] === undefined) continue;
		const value = schema.safeParse(typed[name]);
		if (value.success) query[name] = value.data;
		else problems[name] = value.error.issues[0]?.message ?? "";
	}
	// Every list names its days `from` and `to`.
	const { from, to } = query;
	if (typeof from === "string" && typeof to === "string" && to < from) {
		problems["to"] = "The last day is before the first.";
	}
	return { query: query as QueryOf<From>, problems };
}

function reverse(direction: Direction): Direction {
	return direction === "desc" ? "asc" : "desc";
}

/** Returns the text for an order in addresses and cursors, such as "sale-desc". */
export function nameOf({ by, direction }: Pick<ListOrder, "by" | "direction">): string {
	return `${by}-${direction}`;
}

function pick<Value>(from: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> {
	return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
