// Renders the frame of the tabs about callbacks, and redirects after a form to the section that has the form and then
// shows the result. A tab's filters and language are in the query of its address. The addresses of its forms have the
// same query, so that these choices survive the redirect.

import type { Result } from "../../domain/fault.ts";
import type { Right } from "../../domain/roles.ts";
import type { Flash } from "../document.ts";
import { answerPage, may, setFlash, type WebContext } from "../page.ts";
import {
	inboundPath,
	integrationPath,
	keysPath,
	partnerCallbacksPath,
	partnerSignaturePath,
	signaturePath,
} from "../paths.ts";
import { type Content, copyable, html, pageHeader, tabs } from "../ui.ts";
import { calledPagesOf } from "./called.ts";

interface Tab {
	label: string;
	path(ownerId: string): string;
	/** Right that a person needs to see the tab. */
	needs?: Right;
}

/** Tabs of a shop's Integration page. */
const SHOP_TABS: Readonly<Record<string, Tab>> = {
	callbacks: { label: "Callbacks", path: integrationPath },
	keys: { label: "Keys and snippets", path: keysPath },
	inbound: { label: "Inbound log", path: inboundPath },
	signature: { label: "Check a signature", path: signaturePath, needs: "integrate" },
};

/** Tabs of a partner's Callbacks page. */
const PARTNER_TABS: Readonly<Record<string, Tab>> = {
	callbacks: { label: "Callbacks", path: partnerCallbacksPath },
	signature: { label: "Check a signature", path: partnerSignaturePath },
};

export async function answerTab(
	c: WebContext,
	page: { tab: string; hint: Content; status?: number | undefined; body: Content },
): Promise<Response> {
	const { kind, ownerId, area } = calledPagesOf(c);
	const [title, all] = kind === "shop" ? ["Integration", SHOP_TABS] : ["Callbacks", PARTNER_TABS];
	const name = kind === "shop" ? "Programme ID" : "Partner ID";
	return answerPage(c, {
		title: `${all[page.tab]?.label} · ${title}`,
		active: area,
		status: page.status,
		body: html`${pageHeader({
			title,
			hint: page.hint,
			actions: html`<span class="small soft">${name}</span> ${copyable(ownerId, `the ${name.charAt(0).toLowerCase()}${name.slice(1)}`)}`,
		})}${tabs(
			title,
			Object.entries(all)
				.filter(([, { needs }]) => needs === undefined || may(c, needs))
				.map(([tab, { label, path }]) => ({ label, href: path(ownerId), isActive: tab === page.tab })),
		)}${page.body}`,
	});
}

/** Section of a tab that has forms. `part` is the id of the section. */
export interface FormPart {
	path: string;
	part: "keys" | "callback" | "test" | "deliveries" | "secret";
}

/** Returns the query of the current address without empty values, so that other addresses can keep it. */
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
	return c.redirect(`${path}${queryHere(c)}#${part}`, 303);
}
