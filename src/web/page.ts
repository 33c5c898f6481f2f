// A page as an answer: the document around it knows the reader, the programme of the address, the message of the
// last form, and the token of the next.

import { html } from "hono/html";
import type { StatusCode } from "hono/utils/http-status";
import type { Warning } from "../domain/warning.ts";
import type { Programme } from "../store/programmes.ts";
import { csrfField } from "./csrf.ts";
import { type Area, renderDocument, renderPlainDocument, STAFF_AREAS } from "./document.ts";
import type { WebContext } from "./env.ts";
import { restOfFlash } from "./flash.ts";
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
	page: Page & {
		active: Area;
		/** True where nothing of the programme in the address is to be told, not even its name. */
		isOutsideProgramme?: boolean;
		/** True on the page of the set-up itself. */
		isSetUp?: boolean;
	},
): Promise<Response> {
	const programme: Programme | undefined = c.get("programme");
	const isFramed = programme !== undefined && page.isOutsideProgramme !== true;
	const isSetUp = page.isSetUp === true;
	const setUp = STAFF_AREAS.includes(page.active) && !isSetUp ? await c.get("readSetUp")() : null;
	const document = renderDocument({
		title: page.title,
		network: c.get("network"),
		viewer: viewerOf(c),
		active: page.active,
		programme: isFramed ? await c.get("readFrame")(programme) : undefined,
		flash: restOfFlash(c),
		csrf: csrfField(c),
		allowsPrivateRanges: c.get("allowsPrivateRanges"),
		warnings: warningsBeside(isSetUp || setUp !== null, c.get("warnings")),
		setUp,
		body: page.body,
	});
	return answerHtml(c, await document, page.status);
}

/** While there is the set-up, that mail is off is one of its steps. */
function warningsBeside(hasSetUp: boolean, warnings: readonly Warning[]): readonly Warning[] {
	return hasSetUp ? warnings.filter(({ kind }) => kind !== "mail_off") : warnings;
}

/** For signing in and everything before it: a card below its heading, which is the title unless it has another. */
export async function answerPlainPage(c: WebContext, page: Page & { heading?: string }): Promise<Response> {
	const flash = restOfFlash(c);
	const body = html`<div class="stack">
		<h1>${page.heading ?? page.title}</h1>
		${page.body}
	</div>`;
	const network = c.get("network");
	return answerHtml(c, await renderPlainDocument({ title: page.title, network, flash, body }), page.status);
}

function answerHtml(c: WebContext, document: string, status = 200): Response | Promise<Response> {
	c.status(status as StatusCode);
	return c.html(document);
}
