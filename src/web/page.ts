// A page as an answer: the document around it knows the reader, the message of the last form, and the token
// of the next.

import type { StatusCode } from "hono/utils/http-status";
import { csrfField } from "./csrf.ts";
import { type Area, type DocumentProgramme, renderDocument, renderPlainDocument } from "./document.ts";
import type { WebContext } from "./env.ts";
import type { Content } from "./html.ts";
import { viewerOf } from "./viewer.ts";

export interface Page {
	title: string;
	body: Content;
	/** 200 unless something in the form is wrong. */
	status?: number;
}

export async function answerPage(
	c: WebContext,
	page: Page & { active: Area; programme?: DocumentProgramme | undefined },
): Promise<Response> {
	const { email, role, programmeCount, awaitsAuthenticator } = viewerOf(c);
	const document = renderDocument({
		title: page.title,
		viewer: { email, role, programmeCount, awaitsAuthenticator },
		active: page.active,
		programme: page.programme,
		flash: c.get("flashCookie").take(c),
		csrf: csrfField(c),
		allowsPrivateRanges: c.get("allowsPrivateRanges"),
		warnings: c.get("warnings"),
		body: page.body,
	});
	return answerHtml(c, await document, page.status);
}

/** For signing in and everything before it. */
export async function answerPlainPage(c: WebContext, page: Page): Promise<Response> {
	const flash = c.get("flashCookie")?.take(c);
	return answerHtml(c, await renderPlainDocument({ title: page.title, flash, body: page.body }), page.status);
}

function answerHtml(c: WebContext, html: string, status = 200): Response | Promise<Response> {
	c.status(status as StatusCode);
	return c.html(html);
}

/** Only paths of our own: whoever writes a link must not choose where people land after signing in. */
export function ownPath(text: string | undefined): string | null {
	if (text === undefined || text.includes("\\") || /\p{Cc}/u.test(text)) return null;
	// Two slashes at the start would name another host, and browsers take a backslash for a slash.
	return /^\/(?!\/)/.test(text) ? text : null;
}
