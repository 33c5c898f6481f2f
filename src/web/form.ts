// What was typed into a form: text by name, read once.

import type { WebContext } from "./env.ts";

/** What is missing, or is a file, is empty text: the use case says what it needs. */
export async function readTextFields<Name extends string>(
	c: WebContext,
	names: readonly Name[],
): Promise<Record<Name, string>> {
	const body = await c.req.parseBody();
	const texts = names.map((name) => [name, textOf(body[name])] as const);
	return Object.fromEntries(texts) as Record<Name, string>;
}

function textOf(value: unknown): string {
	return typeof value === "string" ? value : "";
}
