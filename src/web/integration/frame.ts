// The frame of the four tabs of Integration, and the redirect after a form. The redirect leads to the section
// that has the form, and this section shows the result. A tab's filters and language are in the query of its
// address. The addresses of its forms have the same query, so that these choices survive the redirect.

import type { Result } from "../../domain/fault.ts";
import type { Right } from "../../domain/roles.ts";
import type { Flash } from "../document.ts";
import { answerPage, may, programmeOf, setFlash, type WebContext } from "../page.ts";
import { inboundPath, integrationPath, keysPath, signaturePath } from "../paths.ts";
import { type Content, copyable, html, pageHeader, tabs } from "../ui.ts";

/** Tabs of Integration. A tab is hidden from people who lack the right in `needs`. */
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

/** A section of a tab that has forms. `part` is the id of the section. */
export interface FormPart {
	path(programmeId: string): string;
	part: "keys" | "callback" | "test" | "deliveries" | "secret";
}

/** Returns the query of the current address without empty values, for use in another address. */
export function queryHere(c: WebContext): string {
	return queryOf(new URL(c.req.url).search);
}

export function queryOf(search: string): string {
	const query = new URLSearchParams([...new URLSearchParams(search)].filter(([, value]) => value !== ""));
	return query.size === 0 ? "" : `?${query}`;
}

export type FormMessage = readonly [tone: Flash["tone"], text: string];

/** Redirects to the section that has the form, which then shows the result. */
export function finish<Value>(
	c: WebContext,
	{ path, part }: FormPart,
	result: Result<Value>,
	success: string | ((value: Value) => FormMessage),
): Response {
	const messageOf = typeof success === "string" ? (): FormMessage => ["good", success] : success;
	setFlash(c, ...(result.ok ? messageOf(result.value) : (["bad", result.fault.detail] as const)), part);
	return c.redirect(`${path(programmeOf(c).public_id)}${queryHere(c)}#${part}`, 303);
}
