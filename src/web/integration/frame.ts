// The four tabs of Integration share a header; each has an address of its own. And the way back from their forms: to the
// tab as it was, with its filters and its language, at the part that the form was about, which says what came of it.

import type { Result } from "../../domain/fault.ts";
import type { Right } from "../../domain/roles.ts";
import type { Flash } from "../document.ts";
import { readTextFields } from "../form.ts";
import { answerPage, may, programmeOf, setFlash, type WebContext } from "../page.ts";
import { inboundPath, integrationPath, keysPath, signaturePath } from "../paths.ts";
import { type Content, copyable, html, pageHeader, tabs } from "../ui.ts";

/** `needs`: nothing to see there without it. */
const TABS: Readonly<Record<string, { label: string; path(programmeId: string): string; needs?: Right }>> = {
	callbacks: { label: "Callbacks", path: integrationPath },
	keys: { label: "Keys and snippets", path: keysPath },
	inbound: { label: "Inbound log", path: inboundPath },
	signature: { label: "Check a signature", path: signaturePath, needs: "integrate" },
};

export async function answerTab(
	c: WebContext,
	page: { tab: string; hint: Content; status?: number; body: Content },
): Promise<Response> {
	const { public_id: programmeId } = programmeOf(c);
	return answerPage(c, {
		title: `${TABS[page.tab]?.label} · Integration`,
		active: "integration",
		status: page.status ?? 200,
		body: html`${pageHeader({
			title: "Integration",
			hint: page.hint,
			actions: html`<span class="small soft">Programme ID</span> ${copyable(programmeId, "the programme ID")}`,
		})}${tabs(
			"Integration",
			Object.entries(TABS)
				.filter(([, { needs = "look" }]) => may(c, needs))
				.map(([tab, { label, path }]) => ({ label, href: path(programmeId), isActive: tab === page.tab })),
		)}${page.body}`,
	});
}

/** A part of a tab that has forms: the section's id. */
export interface FormPart {
	path(programmeId: string): string;
	part: "keys" | "callback" | "test" | "deliveries" | "secret";
}

export type HiddenFields = Readonly<Record<string, string>>;

/** What every form of a tab brings along: what of the address is to stay. */
export function hiddenFields(search: string): HiddenFields {
	const back = queryOf(search);
	return back === "" ? {} : { back };
}

/** As it is to stand in an address of ours again. */
export function queryOf(search: string): string {
	const query = new URLSearchParams([...new URLSearchParams(search)].filter(([, value]) => value !== ""));
	return query.size === 0 ? "" : `?${query}`;
}

export type Told = readonly [tone: Flash["tone"], text: string];

/** Back at the part, with what is to be told there. */
export async function finish<Value>(
	c: WebContext,
	{ path, part }: FormPart,
	result: Result<Value>,
	tell: string | ((value: Value) => Told | null),
): Promise<Response> {
	const told = result.ok ? wordsFor(tell, result.value) : (["bad", result.fault.detail] as const);
	if (told !== null) setFlash(c, ...told, part);
	const { back } = await readTextFields(c, ["back"]);
	return c.redirect(`${path(programmeOf(c).public_id)}${queryOf(back)}#${part}`, 303);
}

function wordsFor<Value>(tell: string | ((value: Value) => Told | null), value: Value): Told | null {
	return typeof tell === "string" ? ["good", tell] : tell(value);
}
