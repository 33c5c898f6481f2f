// Reads what an address asks of a list: its filters, its order, and the position of the page. list.ts reads and shows
// the rows. Every list has the parameters `sort` and `cursor`, so no filter may have these names.

import type { Filter } from "./filters.ts";
import type { WebContext } from "./page.ts";
import { withQuery } from "./paths.ts";
import type { SortedColumn } from "./ui.ts";

/** Parameters of an address. An undefined one is left out. */
export type Texts = Readonly<Record<string, string | undefined>>;

/** The filters of a list, by their names in the address. */
export type Filters = Readonly<Record<string, Filter<unknown>>>;

/** Values of the filters that are set and valid. */
export type QueryOf<From extends Filters> = {
	readonly [Name in keyof From]?: (From[Name] extends Filter<infer Value> ? Value : never) | undefined;
};

type Direction = "asc" | "desc";

/** Orders of a list, each with the direction in which it begins. The first one is the default. */
export type Orders<By extends string> = Readonly<Partial<Record<By, Direction>>>;

export interface ListOrder<By extends string = string> {
	by: By;
	direction: Direction;
	isDefault: boolean;
}

/** What the page of a list declares about its address. */
export interface DeclaredList<From extends Filters, By extends string> {
	path: string;
	/** Fragment of the addresses, such as "#deliveries", if the list is one section of its page. */
	hash?: string;
	filters?: From;
	/** Filters that this reader must not use. They are not shown, and the address cannot set them. */
	without?: readonly (keyof From & string)[];
	/** Returns the orders that an index serves with these filters. By default a list has only one, the newest first. */
	orders?(query: QueryOf<From>): Orders<By>;
	/** Values of filters that apply if the address has none of them. Links have them, so that they stay what they are. */
	defaults?: Texts;
	/** Parameters that are not filters, such as `archived`. Every address of the list has them. */
	fixed?: Texts;
	/** Prefix of the fields' ids, if another form of the page has fields with the same names. */
	idPrefix?: string;
	/** Query to read instead of the query of the request. */
	search?: string;
}

/** What an address asks of a list. */
export interface Asked<Query = unknown, By extends string = string> {
	query: Query;
	order: ListOrder<By>;
	/** Text of the cursor, which says where the page begins. Undefined for the first page. */
	cursor: string | undefined;
	/** Messages about invalid filters, by the name of their field. While there is one, nothing is listed. */
	problems: Texts;
	isUnderstood: boolean;
	/** True if a person has chosen a filter. */
	isFiltered: boolean;
	/** HTTP status of the page. It is not 200 if all is well, because a refused form has already set another one. */
	status: 422 | undefined;
	/** Returns the address of the first page with these filters and changes, of the list or of another path. */
	href(changes?: Texts, path?: string): string;
	/** Returns the same address with the position of this page. */
	here(path?: string): string;
	/** Address of the whole list. */
	clearHref: string;
	/** Returns the link for the heading of a column, or undefined if the list cannot be sorted by it. */
	sorted(by: By): SortedColumn | undefined;
	/** What the form with the filters shows. */
	form: {
		action: string;
		filters: Filters;
		/** Values as they were typed, whether valid or not. */
		typed: Texts;
		/** Parameters that the form keeps without a field. */
		hidden: Texts;
		idPrefix: string;
		/** Time zone of days, which is that of the network. */
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
 * Reads the parameters of an address. Spaces at the ends are removed, because people paste them by accident, and empty
 * ones are left out, because a form sends its empty fields.
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

/** Returns the name of an order in addresses and cursors, such as "sale-desc". */
export function nameOf({ by, direction }: Pick<ListOrder, "by" | "direction">): string {
	return `${by}-${direction}`;
}

function pick<Value>(from: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> {
	return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
