// The inbound log: every postback and pixel, refused ones too, with the reason; and "why is an order not here?".

import { html } from "hono/html";
import * as z from "zod";
import { explainOrder } from "../../conversions/explain-order.ts";
import { readCursor, writeCursor } from "../../store/cursor-pair.ts";
import { type InboundPage, type ListedCall, listInboundCalls, resultOf } from "../../store/inbound-list.ts";
import { emptyState, section } from "../components/blocks.ts";
import { selectField, textField } from "../components/forms.ts";
import { dataTable, filterBar, pager } from "../components/lists.ts";
import { badge, timeTag } from "../components/text.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { programmeOf } from "../viewer.ts";
import { answerIntegrationPage } from "./frame.ts";
import { orderAnswer } from "./order-answer.ts";
import { conversionPath, integrationPath, withQuery } from "./paths.ts";

const PAGE_ROWS = 50;

const QUERY = z.object({
	kind: z.enum(["api", "pixel"]).optional().catch(undefined),
	result: z.enum(["accepted", "refused"]).optional().catch(undefined),
	order: z.string().trim().min(1).max(128).optional().catch(undefined),
	after: z.string().optional(),
});
type InboundQuery = z.infer<typeof QUERY>;

export async function answerInbound(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const query = QUERY.parse(c.req.query());
	const path = `${integrationPath(programme.public_id)}/inbound`;
	const { kind, result, order, after } = query;
	const page = await listInboundCalls(db, {
		programmeId: programme.id,
		kind,
		result,
		orderId: order,
		after: readCursor(after),
		limit: PAGE_ROWS,
	});
	const explained = order === undefined ? null : await explainOrder(db, programme.id, order);
	return answerIntegrationPage(c, deps, programme, {
		tab: "inbound",
		title: "Inbound log",
		hint: "Every postback and pixel that named this programme, refused ones too, with the reason.",
		body: html`${explained === null ? null : orderAnswer(explained, programme.public_id)}${section({
			id: "calls",
			title: "Calls",
			hint: "Why is an order not here? Search for its id.",
			body: html`${filters(path, query)}${table(page, query, path, programme.public_id)}`,
		})}`,
	});
}

function filters(path: string, { kind, result, order }: InboundQuery): Html {
	return filterBar({
		action: path,
		label: "Filter the inbound log",
		fields: html`${selectField({
			name: "kind",
			label: "Came as",
			value: kind ?? "",
			options: [
				{ value: "", label: "Postback or pixel" },
				{ value: "api", label: "Postback" },
				{ value: "pixel", label: "Pixel" },
			],
		})}${selectField({
			name: "result",
			label: "Outcome",
			value: result ?? "",
			options: [
				{ value: "", label: "Any outcome" },
				{ value: "accepted", label: "Accepted" },
				{ value: "refused", label: "Refused" },
			],
		})}${textField({
			name: "order",
			label: "Order id",
			type: "search",
			value: order ?? "",
			placeholder: "The whole order id",
			maxLength: 128,
		})}`,
		...((kind ?? result ?? order) === undefined ? {} : { clearHref: path }),
	});
}

function table(page: InboundPage, query: InboundQuery, path: string, programmeId: string): Html {
	const { after, ...shown } = query;
	return html`${dataTable<ListedCall>({
		caption: "Inbound calls",
		rows: page.rows,
		empty: emptyOf(page, query),
		columns: [
			{ title: "When", cell: ({ atMs }) => timeTag(atMs) },
			{ title: "Came as", cell: ({ kind }) => (kind === "api" ? "Postback" : "Pixel") },
			{ title: "Order", cell: (call) => orderCell(call, programmeId) },
			{
				title: "Outcome",
				cell: (call) =>
					html`${badge(resultOf(call) === "accepted" ? "good" : "bad", call.outcome)}${
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
	})}${pager({
		newestHref: after === undefined ? null : withQuery(path, shown),
		olderHref: page.next === null ? null : withQuery(path, { ...shown, after: writeCursor(page.next) }),
		shown: `${page.rows.length} shown`,
	})}`;
}

function orderCell({ orderId, conversionId }: ListedCall, programmeId: string): Content {
	if (orderId === null) return html`<span class="faint">not read</span>`;
	const text = html`<span class="mono cell-clip" title="${orderId}">${orderId}</span>`;
	return conversionId === null
		? text
		: html`<a href="${conversionPath(programmeId, conversionId)}">${text}</a>`;
}

function emptyOf({ next }: InboundPage, { kind, result, order, after }: InboundQuery): Html {
	if ((kind ?? result ?? order ?? after) !== undefined) {
		const text =
			next === null ? "Choose other filters, or clear them." : "None among those looked at: “Older” goes on.";
		return emptyState({ title: "No call matches", text });
	}
	return emptyState({
		title: "Nothing has come in yet",
		text: "Send a signed postback or place the pixel: the ready snippets are on the set-up page. Every call shows here, refused ones too.",
	});
}
