// The inbound log: every signed request and pixel call, refused ones too, with the reason; and "why is an order not here?".

import * as z from "zod";
import { explainOrder, type OrderExplanation } from "../../conversions/explain-order.ts";
import type { Status } from "../../domain/conversion.ts";
import { type FaultCode, isExplained } from "../../domain/fault.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import { type ListedCall, listInboundCalls, resultOf } from "../../store/queries/inbound-calls.ts";
import type { ListPage } from "../../store/queries/list-page.ts";
import { isUnconfirmed, titleCase, wholeOrderSearch } from "../conversion-ui.ts";
import {
	cursorOf,
	notUnderstood,
	orderIdFilter,
	type Pages,
	pager,
	pagesOf,
	type ReadFilters,
	readFilters,
} from "../filter-query.ts";
import { programmeOf, type WebContext, type WebDeps } from "../page.ts";
import { conversionPath, inboundPath, problemPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { answerTab } from "./frame.ts";

/** A screenful: the whole tab is to be three at most, and a refusal takes several lines. */
const PAGE_ROWS = 25;
const LIMITED: FaultCode = "pixel_limited";

const QUERY = z.object({
	kind: z.enum(["api", "pixel"], { error: "Choose one of these." }).optional(),
	result: z.enum(["accepted", "refused"], { error: "Choose one of these." }).optional(),
	order: orderIdFilter().optional(),
	/** Where a page went on. One that no list of ours wrote begins at the beginning. */
	after: z.string().optional(),
});
type InboundQuery = z.output<typeof QUERY>;

export async function showInbound(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const filters = readFilters(QUERY, new URL(c.req.url).search);
	const path = inboundPath(programme.public_id);
	const { query } = filters;
	const { kind, result, order } = query;
	const list = { name: `calls of programme:${programme.id}`, path, query, cursorName: "after" };
	const isUnderstood = Object.keys(filters.problems).length === 0;
	const page = isUnderstood
		? await listInboundCalls(db, {
				programmeId: programme.id,
				kind,
				result,
				orderId: order,
				after: cursorOf(deps, list),
				limit: PAGE_ROWS,
			})
		: null;
	const explained = page === null || order === undefined ? null : await explainOrder(db, programme.id, order);
	return answerTab(c, {
		tab: "inbound",
		hint: "Every signed request and pixel call for this programme, including refused ones, with the reason. When very many pixel calls come in at once, those that were not accepted are counted in one row per minute.",
		status: isUnderstood ? 200 : 422,
		body: html`${explained === null ? null : orderAnswer(explained, programme.public_id)}${ui.section({
			id: "calls",
			title: "Calls",
			hint: "Why is an order not here? Search for its id.",
			body: html`${filterForm(path, filters)}${
				page === null
					? notUnderstood(html`Correct it above, or <a href="${path}">see all calls</a>.`)
					: table(page, query, pagesOf(deps, list, page), programme.public_id)
			}`,
		})}`,
	});
}

function filterForm(path: string, { typed, problems }: ReadFilters<InboundQuery>): Html {
	const field = (name: keyof InboundQuery) => ({ name, value: typed[name] ?? "", error: problems[name] });
	const { kind, result, order } = typed;
	return ui.filterBar({
		action: path,
		label: "Filter the inbound log",
		fields: html`${ui.selectField({
			...field("kind"),
			label: "Came as",
			options: [
				{ value: "", label: "Any kind" },
				{ value: "api", label: "Signed request" },
				{ value: "pixel", label: "Pixel" },
			],
		})}${ui.selectField({
			...field("result"),
			label: "Outcome",
			options: [
				{ value: "", label: "Any outcome" },
				{ value: "accepted", label: "Accepted" },
				{ value: "refused", label: "Refused" },
			],
		})}${wholeOrderSearch(field("order"))}`,
		...((kind ?? result ?? order) === undefined ? {} : { clearHref: path }),
	});
}

function table(page: ListPage<ListedCall>, query: InboundQuery, pages: Pages, programmeId: string): Html {
	return html`${ui.dataTable<ListedCall>({
		caption: "Inbound calls",
		rows: page.rows,
		empty: emptyOf(page, query),
		stacks: "tight",
		columns: [
			{ title: "When", namesRow: true, cell: ({ atMs }) => ui.timeTag(atMs) },
			{
				title: "Came as",
				cell: ({ kind }) => html`<span class="nowrap">${kind === "api" ? "Signed request" : "Pixel"}</span>`,
			},
			{ title: "Order", cell: (call) => orderCell(call, programmeId) },
			{
				title: "Outcome",
				cell: (call) =>
					html`${outcomeBadge(call)}${
						call.detail === null ? null : html`<span class="secondary break">${call.detail}</span>`
					}`,
			},
			{ title: "HTTP status", isNumber: true, cell: ({ httpStatus }) => String(httpStatus) },
			{
				title: "Request",
				cell: ({ method, target }) =>
					html`<div class="mono small cell-clip" title="${method} ${target}">${method} ${target}</div>`,
			},
		],
	})}${pager(pages)}`;
}

/** Of a refusal, with the way to what its code means. */
function outcomeBadge(call: ListedCall): Html {
	const shown = ui.badge(toneOf(call), call.outcome);
	return isExplained(call.outcome) ? html`<a href="${problemPath(call.outcome)}">${shown}</a>` : shown;
}

/** Calls that were not taken are no mistake of the shop's. */
function toneOf(call: ListedCall): "good" | "warn" | "bad" {
	if (resultOf(call) === "accepted") return "good";
	return call.outcome === LIMITED ? "warn" : "bad";
}

function orderCell({ orderId, conversionId }: ListedCall, programmeId: string): Content {
	if (orderId === null) return html`<span class="faint">not read</span>`;
	const text = html`<span class="mono cell-clip" title="${orderId}">${orderId}</span>`;
	return conversionId === null
		? text
		: html`<a href="${conversionPath(programmeId, conversionId)}">${text}</a>`;
}

function emptyOf({ next }: ListPage<ListedCall>, { kind, result, order, after }: InboundQuery): Html {
	if ((kind ?? result ?? order ?? after) !== undefined) {
		const text =
			next === null
				? "Choose other filters, or clear them."
				: "None found so far. Choose “Older” to look further back.";
		return ui.emptyState({ title: "No call matches", text });
	}
	return ui.emptyState({
		title: "Nothing has come in yet",
		text: "Send a signed request or place the pixel: start from “Keys and snippets”. Every call shows here, refused ones too.",
	});
}

const STATUS_WORDS: Readonly<Record<Status, string>> = {
	PARKED: "reported by a pixel and waiting for your server's signed request to confirm it",
	EXPIRED:
		"reported by a pixel and expired, because no signed request confirmed it in time (one sent now records it as a new sale)",
	RECORDED: "recorded, and not decided yet",
	APPROVED: "approved",
	REJECTED: "rejected",
	REVERSED: "reversed",
};

function orderAnswer(explanation: OrderExplanation, programmeId: string): Html {
	const { orderId, conversions, calls, otherSpelling, unreadCalls } = explanation;
	if (conversions.length > 0) {
		return ui.message(
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
	return ui.message(refused === undefined ? "warn" : "bad", html`<div class="stack-tight">${parts}</div>`);
}

function known(conversion: Conversion, programmeId: string): Html {
	const { public_id: publicId, event_type: eventType, status } = conversion;
	const unconfirmed = isUnconfirmed(conversion)
		? "; only a pixel has reported it, and no signed request has confirmed it"
		: "";
	return html`<p>As ${titleCase(eventType).toLowerCase()} it is ${STATUS_WORDS[status]}${unconfirmed}: <a href="${conversionPath(programmeId, publicId)}">see the conversion</a>.</p>`;
}

function reason(refused: ListedCall | undefined, calls: readonly ListedCall[]): Content {
	if (refused !== undefined) {
		return html`A ${refused.kind === "api" ? "signed request" : "pixel call"} for it came on ${ui.timeTag(refused.atMs)} and was refused: ${refused.detail ?? refused.outcome}`;
	}
	if (calls.length > 0) return "Calls mentioned it, but there is no conversion for it any more.";
	return "No signed request and no pixel call has mentioned it, as far back as the log goes. Check that your shop's code runs for this order, and that it uses this programme's API key.";
}

function spelling(otherSpelling: string, programmeId: string): Html {
	const href = withQuery(inboundPath(programmeId), { order: otherSpelling });
	return html`<p>But there is an order <a class="mono" href="${href}">${otherSpelling}</a>: is it the same one?</p>`;
}

function unread(calls: readonly ListedCall[]): Html {
	const [newest] = calls;
	return html`<p>It may be among the calls that were refused before their content was read${
		newest === undefined
			? null
			: html`; the newest came on ${ui.timeTag(newest.atMs)}: ${newest.detail ?? newest.outcome}`
	}</p>`;
}
