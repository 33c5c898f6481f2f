// Forms of a tab, and the way back from them: to the tab as it was, with its filters and its language, at the part that
// the form was about, which says what came of it.

import { html } from "hono/html";
import type { Fault, Result } from "../../domain/fault.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import type { Html } from "../html.ts";
import { integrationPath, keysPath, withQuery } from "../paths.ts";
import { programmeOf } from "../viewer.ts";

/** A part of a tab that has forms: the section's id. */
export type FormPart =
	| { tab: "callbacks"; part: "keys" | "callback" | "test" | "deliveries" }
	| { tab: "keys"; part: "keys" | "secret" };

/** What of an address belongs to the reader: the filters of the list and where it goes on; the snippets' language. */
const KEPT: Readonly<Record<FormPart["tab"], readonly string[]>> = {
	callbacks: ["state", "event", "order", "after"],
	keys: ["lang"],
};

const PATHS = { callbacks: integrationPath, keys: keysPath } as const;

/** What every form of a tab brings along: its token, and what of the address is to stay. */
export function hiddenFields(c: WebContext, tab: FormPart["tab"], search: string): Html {
	const back = keptOf(tab, search);
	return html`${csrfField(c)}${back === "" ? null : html`<input type="hidden" name="back" value="${back}">`}`;
}

/** As it is to stand in the address again; nothing of it is trusted further. */
export function keptOf(tab: FormPart["tab"], search: string): string {
	const given = new URLSearchParams(search);
	return withQuery("", Object.fromEntries(KEPT[tab].map((name) => [name, given.get(name) || undefined])));
}

export async function backTo(c: WebContext, { tab, part }: FormPart): Promise<Response> {
	const { back } = await readTextFields(c, ["back"]);
	return c.redirect(`${PATHS[tab](programmeOf(c).public_id)}${keptOf(tab, back)}#${part}`, 303);
}

export function backWithFault(c: WebContext, at: FormPart, { detail }: Fault): Promise<Response> {
	setFlash(c, "bad", detail, at.part);
	return backTo(c, at);
}

export function finish(
	c: WebContext,
	at: FormPart,
	result: Result<unknown>,
	text: string,
): Promise<Response> {
	if (!result.ok) return backWithFault(c, at, result.fault);
	setFlash(c, "good", text, at.part);
	return backTo(c, at);
}
