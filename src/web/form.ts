// What was typed into a form, read once; and where a refused form says why.

import type { Fault } from "../domain/fault.ts";
import { message } from "./components/blocks.ts";
import type { WebContext } from "./env.ts";
import type { Html } from "./html.ts";

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

export interface PlacedFault {
	/** The sentence for this field. */
	at(field: string): string | undefined;
	/** For the top of the form: what is at none of its fields. */
	above: Html | null;
}

/** `fields`: those that the form shows, by the names the fault has for them. */
export function placeFault(fault: Fault | undefined, fields: readonly string[]): PlacedFault {
	const isAtField = fault?.field !== undefined && fields.includes(fault.field);
	return {
		at: (field) => (isAtField && fault.field === field ? fault.detail : undefined),
		above: fault === undefined || isAtField ? null : message("bad", fault.detail),
	};
}
