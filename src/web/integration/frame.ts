// The four tabs of Integration share a header; each has an address of its own. And the way back from their forms: to the
// tab as it was, at the part that the form was about, which says what came of it. The filters and the language of a tab
// are the query of its address, and go along in the addresses of its forms.

import type { Result } from "../../domain/fault.ts";
import type { Right } from "../../domain/roles.ts";
import type { Flash } from "../document.ts";
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
	page: { tab: string; hint: Content; status?: number | undefined; body: Content },
): Promise<Response> {
	const { public_id: programmeId } = programmeOf(c);
	return answerPage(c, {
		title: `${TABS[page.tab]?.label} · Integration`,
		active: "integration",
		status: page.status,
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

/** The query of the address, as it is to stand in one of ours again. */
export function queryHere(c: WebContext): string {
	return queryOf(new URL(c.req.url).search);
}

export function queryOf(search: string): string {
	const query = new URLSearchParams([...new URLSearchParams(search)].filter(([, value]) => value !== ""));
	return query.size === 0 ? "" : `?${query}`;
}

export type Told = readonly [tone: Flash["tone"], text: string];

/** Back at the part, with what is to be told there. */
export function finish<Value>(
	c: WebContext,
	{ path, part }: FormPart,
	result: Result<Value>,
	tell: string | ((value: Value) => Told),
): Response {
	const say = typeof tell === "string" ? (): Told => ["good", tell] : tell;
	setFlash(c, ...(result.ok ? say(result.value) : (["bad", result.fault.detail] as const)), part);
	return c.redirect(`${path(programmeOf(c).public_id)}${queryHere(c)}#${part}`, 303);
}
