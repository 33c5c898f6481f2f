// Filters as they stand in an address. What is not understood there is told at its field, and nothing is listed: the
// whole list would be taken for the answer.

import * as z from "zod";
import { plainWords } from "../domain/fault.ts";
import { parseOrderId } from "../domain/order-id.ts";

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

/** With a question mark in front, or empty. */
export function writeFilters(query: Readonly<Record<string, string | undefined>>): string {
	const search = new URLSearchParams();
	for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, value);
	const text = search.toString();
	return text === "" ? "" : `?${text}`;
}

/** A whole order id. Judged by the intake's own rule: what cannot be there cannot be looked for. */
export function orderIdFilter() {
	return z.string().superRefine((text, context) => refineOrderId(text, context));
}

/** An order id, or how it starts. A space at the end may be one inside of the id, so something may follow it. */
export function orderStartFilter() {
	return z
		.string()
		.superRefine((text, context) => refineOrderId(text.endsWith(" ") ? `${text}-` : text, context));
}

function refineOrderId(text: string, context: z.RefinementCtx): void {
	const parsed = parseOrderId(text);
	if (!parsed.ok) context.addIssue({ code: "custom", message: plainWords(parsed.fault) });
}
