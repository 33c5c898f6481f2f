// The tab "Inbound log". It lists every signed request and pixel call with its result. A shop sees here why
// an order is missing.

import { CREDIT_SENTENCES } from "#modules/partners/web/credit-section.ts";
import { type FaultCode, isExplained } from "../../domain/fault.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import { type ListedCall, listInboundCalls, resultOf } from "../../store/queries/inbound-calls.ts";
import {
	choice,
	cursorOf,
	declareFilters,
	filterBar,
	notUnderstood,
	pager,
	pagesOf,
	REQUEST_ID,
	UNSEEN,
	WHOLE_ORDER,
} from "../filter-query.ts";
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

const FILTERS = declareFilters({
	kind: choice("Came as", "Any kind", ["api", "pixel"], (kind) => KIND_WORDS[kind]),
	result: choice("Outcome", "Any outcome", ["accepted", "refused"], (result) => RESULT_WORDS[result]),
	order: WHOLE_ORDER,
	request: REQUEST_ID,
	after: UNSEEN,
});

export async function showInbound(c: WebContext, deps: WebDeps): Promise<Response> {
	const { id: programmeId, public_id: publicId } = programmeOf(c);
	const filters = FILTERS.read(new URL(c.req.url).search);
	const path = inboundPath(publicId);
	const { query } = filters;
	const { kind, result, order, request: requestId } = query;
	const list = { name: `calls of programme:${programmeId}`, path, query, cursorName: "after" };
	const isUnderstood = Object.keys(filters.problems).length === 0;
	const request = {
		programmeId,
		kind,
		result,
		orderId: order,
		requestId,
		after: cursorOf(deps, list),
		limit: PAGE_ROWS,
	};
	const page = isUnderstood ? await listInboundCalls(deps.store.reader, request) : null;
	return answerTab(c, {
		tab: "inbound",
		hint: "Every signed request and pixel call for this programme, including refused ones, with the reason. When very many pixel calls come in at once, those that were not accepted are counted in one row per minute.",
		status: isUnderstood ? 200 : 422,
		body: ui.section({
			id: "calls",
			title: "Calls",
			hint: "Is an order missing? Search for its ID, or for the X-Request-Id of the answer that your shop logged.",
			body: html`${filterBar({
				action: path,
				label: "Filter the inbound log",
				fields: FILTERS.fields(filters, ["kind", "result", "order", "request"]),
				...(Object.keys(filters.typed).length === 0 ? {} : { clearHref: path }),
			})}${
				page === null
					? notUnderstood(html`Correct it above, or <a href="${path}">see all calls</a>.`)
					: html`${table(page.rows, emptyOf(query, publicId, page.next === null), publicId)}${pager(pagesOf(deps, list, page))}`
			}`,
		}),
	});
}

function table(rows: readonly ListedCall[], empty: Html, programmeId: string): Html {
	return ui.dataTable<ListedCall>({
		caption: "Inbound calls",
		rows,
		empty,
		stacks: "tight",
		columns: [
			{ title: "When", namesRow: true, cell: ({ atMs }) => ui.timeTag(atMs) },
			{ title: "Came as", cell: ({ kind }) => html`<span class="nowrap">${KIND_WORDS[kind]}</span>` },
			{ title: "Order", cell: (call) => orderCell(call, programmeId) },
			{
				title: "Outcome",
				cell: (call) =>
					html`${outcomeBadge(call)}${
						call.detail === null
							? null
							: html`<span class="secondary break">${explainCredit(call.detail)}</span>`
					}`,
			},
			{ title: "HTTP status", isNumber: true, cell: ({ httpStatus }) => String(httpStatus) },
			{
				title: "Request",
				cell: ({ method, target, requestId }) =>
					html`<div class="mono small cell-clip" title="${method} ${target}">${method} ${target}</div>${
						requestId === null
							? null
							: html`<span class="secondary mono small cell-clip" title="${requestId}">${requestId}</span>`
					}`,
			},
		],
	});
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

function emptyOf({ order, ...query }: Query, programmeId: string, isEnd: boolean): Html {
	const isFiltered = Object.values(query).some((value) => value !== undefined);
	if (!isEnd || isFiltered) {
		const text = isEnd
			? "Choose other filters, or clear them."
			: "None found so far. Choose “Older” to look further back.";
		return ui.emptyState({ title: "No call matches", text });
	}
	if (order === undefined) {
		return ui.emptyState({
			title: "Nothing has come in yet",
			text: "Send a signed request or place the pixel. “Keys and snippets” shows how. Every call is listed here, including refused ones.",
		});
	}
	return ui.emptyState({
		title: "No call has mentioned this order",
		text: "The log has no call that names it. Check that your shop's code runs for this order, and that it uses this programme's API key. A call that was refused before its content was read is listed without an order.",
		action: ui.linkButton({
			label: "Search the conversions",
			href: withQuery(conversionsPath(programmeId), { orderId: order }),
		}),
	});
}

type Query = ReturnType<typeof FILTERS.read>["query"];
