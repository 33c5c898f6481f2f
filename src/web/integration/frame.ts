// The four tabs of Integration share a header; each has an address of its own.

import type { Fault, Result } from "../../domain/fault.ts";
import type { Right } from "../../domain/roles.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { readTextFields } from "../form.ts";
import { answerPage, csrfField, may, programmeOf, setFlash, type WebContext } from "../page.ts";
import { inboundPath, integrationPath, keysPath, signaturePath, withQuery } from "../paths.ts";
import { type Content, copyable, type Html, html, pageHeader, tabs } from "../ui.ts";

type Tab = "callbacks" | "keys" | "inbound" | "signature";

const TABS: readonly {
	tab: Tab;
	label: string;
	path(programmeId: string): string;
	/** Nothing to see there without it. */
	needs?: Right;
}[] = [
	{ tab: "callbacks", label: "Callbacks", path: integrationPath },
	{ tab: "keys", label: "Keys and snippets", path: keysPath },
	{ tab: "inbound", label: "Inbound log", path: inboundPath },
	{ tab: "signature", label: "Check a signature", path: signaturePath, needs: "integrate" },
];

export async function answerTab(
	c: WebContext,
	page: { tab: Tab; hint: Content; status?: number; body: Content },
): Promise<Response> {
	const programme = programmeOf(c);
	return answerPage(c, {
		title: `${TABS.find(({ tab }) => tab === page.tab)?.label} · Integration`,
		active: "integration",
		...(page.status === undefined ? {} : { status: page.status }),
		body: html`${pageHeader({ title: "Integration", hint: page.hint, actions: programmeId(programme) })}${tabs(
			"Integration",
			TABS.filter(({ needs = "look" }) => may(c, needs)).map(({ tab, label, path }) => ({
				label,
				href: path(programme.public_id),
				isActive: tab === page.tab,
			})),
		)}${page.body}`,
	});
}

function programmeId({ public_id: publicId }: Programme): Html {
	return html`<span class="small soft">Programme id</span> ${copyable(publicId, "the programme id")}`;
}

// Forms of a tab, and the way back from them: to the tab as it was, with its filters and its language, at the part that
// the form was about, which says what came of it.

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
