// Where a person is signed in, on their account page, and the buttons that end it.

import { html } from "hono/html";
import { type AuthSession, IDLE_SESSION_DAYS } from "../../accounts/auth.ts";
import { revokeOtherSessions, revokeSession } from "../../accounts/sessions.ts";
import type { Result } from "../../domain/fault.ts";
import { MAX_SESSION_DAYS } from "../../store/sign-in.ts";
import { section } from "../components/blocks.ts";
import { button, postForm } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { badge, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import type { Content, Html } from "../html.ts";
import { ACCOUNT_PATH } from "../paths.ts";
import { viewerOf } from "../viewer.ts";

export function sessionsSection(c: WebContext, sessions: readonly AuthSession[]): Html {
	const ownId = c.get("sessionId");
	const others = sessions.filter(({ id }) => id !== ownId);
	const endOthers = postForm({
		action: `${ACCOUNT_PATH}/sessions/end-others`,
		csrf: csrfField(c),
		className: "row",
		body: button({ label: "Sign out everywhere else", isSmall: true }),
	});
	return section({
		id: "sessions",
		title: "Where you are signed in",
		hint: `A session ends after ${IDLE_SESSION_DAYS} days without use, and ${MAX_SESSION_DAYS} days after signing in.`,
		...(others.length === 0 ? {} : { actions: endOthers }),
		body: dataTable<AuthSession>({
			caption: "Sessions",
			rows: sessions,
			stacks: true,
			empty: null,
			columns: [
				{ title: "Browser", namesRow: true, cell: ({ userAgent }) => describeBrowser(userAgent) },
				{ title: "Address", cell: ({ address }) => html`<span class="mono">${address}</span>` },
				{ title: "Signed in", cell: ({ createdAtMs }) => timeTag(createdAtMs) },
				{
					title: "End it",
					isTitleHidden: true,
					isNumber: true,
					cell: (session) => (session.id === ownId ? badge("info", "This one") : endForm(c, session)),
				},
			],
		}),
	});
}

function endForm(c: WebContext, { id, userAgent }: AuthSession): Content {
	return postForm({
		action: `${ACCOUNT_PATH}/sessions/end`,
		csrf: csrfField(c),
		className: "row",
		body: html`<input type="hidden" name="sessionId" value="${id}">${button({
			label: "Sign out",
			isSmall: true,
			ariaLabel: `Sign out the session of ${describeBrowser(userAgent)}`,
		})}`,
	});
}

export async function endSession(c: WebContext, deps: WebDeps): Promise<Response> {
	const { sessionId } = await readTextFields(c, ["sessionId"]);
	const ended = await revokeSession(deps, viewerOf(c).personId, sessionId, c.get("visitor"));
	return answerEnded(c, ended, "The session has ended.");
}

export async function endOtherSessions(c: WebContext, deps: WebDeps): Promise<Response> {
	const ended = await revokeOtherSessions(deps, viewerOf(c).personId, c.get("visitor"));
	return answerEnded(c, ended, "All your other sessions have ended.");
}

function answerEnded(c: WebContext, ended: Result<true>, text: string): Response {
	if (ended.ok) setFlash(c, "good", text);
	else setFlash(c, "bad", ended.fault.detail);
	return c.redirect(`${ACCOUNT_PATH}#sessions`, 303);
}

/** In this order: Edge also calls itself Chrome, and Chrome also calls itself Safari. */
const BROWSERS: readonly (readonly [mark: RegExp, name: string])[] = [
	[/\bEdgA?\//, "Edge"],
	[/\bOPR\//, "Opera"],
	[/\bFirefox\/|\bFxiOS\//, "Firefox"],
	[/Chrome\/|\bCriOS\//, "Chrome"],
	[/\bSafari\//, "Safari"],
	[/^curl\//, "curl"],
];

const SYSTEMS: readonly (readonly [mark: RegExp, name: string])[] = [
	[/\biPhone\b|\biPad\b/, "iOS"],
	[/\bAndroid\b/, "Android"],
	[/\bWindows\b/, "Windows"],
	[/\bMac OS X\b/, "macOS"],
	[/\bLinux\b/, "Linux"],
];

/** A browser as people know it: "Firefox on Linux". Good enough to recognise one's own; nothing depends on it. */
export function describeBrowser(userAgent: string): string {
	const browser = BROWSERS.find(([mark]) => mark.test(userAgent))?.[1] ?? "Unknown browser";
	const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1];
	return system === undefined ? browser : `${browser} on ${system}`;
}
