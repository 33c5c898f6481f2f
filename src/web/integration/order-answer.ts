// "Why is order 1234 not here?", answered in words.

import { html } from "hono/html";
import type { OrderExplanation } from "../../conversions/explain-order.ts";
import type { Status } from "../../domain/conversion.ts";
import type { Conversion } from "../../store/conversions.ts";
import { type ListedCall, resultOf } from "../../store/inbound-list.ts";
import { message } from "../components/blocks.ts";
import { isUnconfirmed, titleCase } from "../components/conversion-words.ts";
import { timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import { conversionPath, integrationPath, withQuery } from "../paths.ts";

const STATUS_WORDS: Readonly<Record<Status, string>> = {
	PARKED: "reported by a pixel and waiting for your server's postback to confirm it",
	EXPIRED:
		"reported by a pixel and expired, because no postback confirmed it in time (a postback sent now records it as a new sale)",
	RECORDED: "recorded, and not decided yet",
	APPROVED: "approved",
	REJECTED: "rejected",
	REVERSED: "reversed",
};

export function orderAnswer(explanation: OrderExplanation, programmeId: string): Html {
	const { orderId, conversions, calls, otherSpelling, unreadCalls } = explanation;
	if (conversions.length > 0) {
		return message(
			"good",
			html`<p>Order <strong class="mono">${orderId}</strong> is here.</p>${conversions.map((conversion) => known(conversion, programmeId))}`,
		);
	}
	const refused = calls.find((call) => resultOf(call) === "refused");
	const parts: Content[] = [
		html`<p>Order <strong class="mono">${orderId}</strong> is not here. ${reason(refused, calls)}</p>`,
	];
	if (otherSpelling !== null) parts.push(spelling(otherSpelling, programmeId));
	if (refused === undefined && unreadCalls.length > 0) parts.push(unread(unreadCalls));
	return message(refused === undefined ? "warn" : "bad", html`<div class="stack-tight">${parts}</div>`);
}

function known(conversion: Conversion, programmeId: string): Html {
	const { public_id: publicId, event_type: eventType, status } = conversion;
	const unconfirmed = isUnconfirmed(conversion)
		? "; only a pixel has reported it, and no postback has confirmed it"
		: "";
	return html`<p>As ${titleCase(eventType).toLowerCase()} it is ${STATUS_WORDS[status]}${unconfirmed}: <a href="${conversionPath(programmeId, publicId)}">see the conversion</a>.</p>`;
}

function reason(refused: ListedCall | undefined, calls: readonly ListedCall[]): Content {
	if (refused !== undefined) {
		return html`A ${refused.kind === "api" ? "postback" : "pixel"} named it on ${timeTag(refused.atMs)} and was refused: ${refused.detail ?? refused.outcome}`;
	}
	if (calls.length > 0) return "Calls named it, but no conversion is left of it.";
	return "No postback and no pixel has named it as far as the log goes back. Check that your shop's code runs for this order, and that it names this programme.";
}

function spelling(otherSpelling: string, programmeId: string): Html {
	const href = withQuery(`${integrationPath(programmeId)}/inbound`, { order: otherSpelling });
	return html`<p>But there is an order <a class="mono" href="${href}">${otherSpelling}</a>: is it the same one?</p>`;
}

function unread(calls: readonly ListedCall[]): Html {
	const [newest] = calls;
	return html`<p>It may be among the calls that were refused before their content was read${
		newest === undefined
			? null
			: html`; the newest came on ${timeTag(newest.atMs)}: ${newest.detail ?? newest.outcome}`
	}</p>`;
}
