// Shows the tab "Inbound log". It lists every signed request and pixel call with its result, so that a shop sees why
// an order is missing.

import { CREDIT_SENTENCES } from "#modules/partners/web/credit-section.ts";
import { type FaultCode, isExplained } from "../../domain/fault.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import { type ListedCall, listInboundCalls, resultOf } from "../../store/queries/inbound-calls.ts";
import { ask } from "../ask.ts";
import { choice, REQUEST_ID, WHOLE_ORDER } from "../filters.ts";
import { readRows, showList } from "../list.ts";
import { programmeOf, type WebContext, type WebDeps } from "../page.ts";
import { conversionPath, conversionsPath, inboundPath, problemPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { answerTab } from "./frame.ts";

/**
 * Number of rows on a page. The whole tab may take three screens, and a refused request takes several lines.
 */
const PAGE_ROWS = 25;
const LIMITED: FaultCode = "pixel_limited";

const KIND_WORDS = { api: "Signed request", pixel: "Pixel" };
const RESULT_WORDS = { accepted: "Accepted", refused: "Refused" };

const FILTERS = {
	kind: choice("Came as", "Any kind", ["api", "pixel"], (kind) => KIND_WORDS[kind]),
	result: choice("Outcome", "Any outcome", ["accepted", "refused"], (result) => RESULT_WORDS[result]),
	order: WHOLE_ORDER,
	request: REQUEST_ID,
};

export async function showInbound(c: WebContext, deps: WebDeps): Promise<Response> {
	const { id: programmeId, public_id: publicId } = programmeOf(c);
	const asked = ask(c, { path: inboundPath(publicId), filters: FILTERS });
	const { kind, result, order, request: requestId } = asked.query;
	const filter = { programmeId, kind, result, orderId: order, requestId };
	const page = await readRows(
		deps,
		asked,
		`calls of programme:${programmeId}`,
		(at) => listInboundCalls(deps.store.reader, { ...filter, ...at }),
		PAGE_ROWS,
	);
	const list = showList<ListedCall>({
		asked,
		page,
		noun: "call",
		caption: "Inbound calls",
		isTight: true,
		columns: [
			{ title: "When", namesRow: true, cell: ({ atMs }) => ui.timeTag(atMs) },
			{ title: "Came as", cell: (call) => html`<span class="nowrap">${KIND_WORDS[call.kind]}</span>` },
			{ title: "Order", cell: (call) => orderCell(call, publicId) },
			{ title: "Outcome", cell: outcomeCell },
			{ title: "HTTP status", isNumber: true, cell: ({ httpStatus }) => String(httpStatus) },
			{ title: "Request", cell: requestCell },
		],
		none: {
			title: "Nothing has come in yet",
			text: "Send a signed request or place the pixel. “Keys and snippets” shows how. Every call is listed here, including refused ones.",
		},
		noMatch: order === undefined ? undefined : noCallOf(order, publicId),
	});
	return answerTab(c, {
		tab: "inbound",
		hint: "Every signed request and pixel call for this programme, including refused ones, with the reason. When very many pixel calls come in at once, those that were not accepted are counted in one row per minute.",
		status: asked.status,
		body: ui.section({
			id: "calls",
			title: "Calls",
			hint: "Is an order missing? Search for its ID, or for the X-Request-Id of the answer that your shop logged.",
			body: list,
		}),
	});
}

/** Shows the outcome of a call, and the conversion that it led to. */
function outcomeCell(call: ListedCall): Html {
	const detail =
		call.detail === null ? null : html`<span class="secondary break">${explainCredit(call.detail)}</span>`;
	return html`${outcomeBadge(call)}${detail}`;
}

function requestCell({ method, target, requestId }: ListedCall): Html {
	const id =
		requestId === null
			? null
			: html`<span class="secondary mono small cell-clip" title="${requestId}">${requestId}</span>`;
	return html`<div class="mono small cell-clip" title="${method} ${target}">${method} ${target}</div>${id}`;
}

/** Replaces the API's word for a credit result, such as NO_SIGNAL, by a sentence. */
function explainCredit(detail: string): string {
	return detail.replace(/^Credit: ([A-Z_]+)\.?/, (text, word: string) => CREDIT_SENTENCES.get(word) ?? text);
}

/** Shows the outcome of a request. A refusal links to the page that explains its code. */
function outcomeBadge(call: ListedCall): Html {
	const shown = ui.badge(toneOf(call), call.outcome);
	return isExplained(call.outcome) ? html`<a href="${problemPath(call.outcome)}">${shown}</a>` : shown;
}

/**
 * Returns the colour of the outcome. A pixel call above the rate limit is only a warning, because it is not
 * the shop's mistake.
 */
function toneOf(call: ListedCall): "good" | "warn" | "bad" {
	if (resultOf(call) === "accepted") return "good";
	return call.outcome === LIMITED ? "warn" : "bad";
}

function orderCell({ orderId, conversionId }: ListedCall, programmeId: string): Content {
	if (orderId === null) return html`<span class="faint">—</span>`;
	const text = html`<span class="mono cell-clip" title="${showOrderId(orderId)}">${showOrderId(orderId)}</span>`;
	return conversionId === null
		? text
		: html`<a href="${conversionPath(programmeId, conversionId)}">${text}</a>`;
}

function noCallOf(order: string, programmeId: string): ui.EmptyState {
	return {
		title: "No call has mentioned this order",
		text: "The log has no call that names it. Check that your shop's code runs for this order, and that it uses this programme's API key. A call that was refused before its content was read is listed without an order.",
		action: ui.linkButton({
			label: "Search the conversions",
			href: withQuery(conversionsPath(programmeId), { orderId: order }),
		}),
	};
}
