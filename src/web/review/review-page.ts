// Review: the conversions of all programmes, for the staff who look for what should not be paid.

import { html } from "hono/html";
import type { ConversionsDeps } from "../../conversions/deps.ts";
import { STATUSES } from "../../domain/conversion.ts";
import { findProgramme, type Programme } from "../../store/programmes.ts";
import { listForReview, type ReviewPage, type ReviewRow } from "../../store/review-list.ts";
import { emptyState, pageHeader } from "../components/blocks.ts";
import { orderCell, statusCell } from "../components/conversion-cells.ts";
import { STATUS_WORDS } from "../components/conversion-words.ts";
import { decisionBar } from "../components/decision-bar.ts";
import { linkButton, postForm, selectField, textField } from "../components/forms.ts";
import { type Column, dataTable, filterBar, pager } from "../components/lists.ts";
import { selectColumn } from "../components/select-column.ts";
import { amount, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { type Viewer, viewerOf } from "../viewer.ts";
import {
	AGE_OPTIONS,
	parseReviewQuery,
	type ReviewQuery,
	recordedBetween,
	writeReviewQuery,
} from "./review-query.ts";

const PAGE_ROWS = 50;

export async function answerReview(c: WebContext, { store, clock }: ConversionsDeps): Promise<Response> {
	const query = parseReviewQuery(new URL(c.req.url).search);
	const programme =
		query.programme === undefined ? undefined : await findProgramme(store.db, query.programme);
	const isGone = query.programme !== undefined && programme === undefined;
	const page: ReviewPage = isGone
		? { rows: [], nextBeforeId: null, isPartial: false }
		: await listForReview(store.db, {
				programmeId: programme?.id,
				// What can still be rejected, unless asked for something else.
				status: query.status === "" ? undefined : (query.status ?? "RECORDED"),
				minBasket: query.minBasket,
				...recordedBetween(query.age, clock.nowMs()),
				beforeId: query.before === undefined ? undefined : Number(query.before),
				limit: PAGE_ROWS,
			});
	return answerPage(c, {
		title: "Review",
		active: "review",
		body: renderReview(query, page, programme, viewerOf(c), csrfField(c)),
	});
}

function renderReview(
	query: ReviewQuery,
	page: ReviewPage,
	programme: Programme | undefined,
	viewer: Viewer,
	csrf: Html,
): Html {
	const header = pageHeader({
		title: "Review",
		hint: "Conversions of all programmes, the newest first. Reject what should not be paid; the shop is told, with the reason.",
	});
	return html`${header}<div class="card"><h2 class="visually-hidden">The list</h2>${renderFilters(query, programme, viewer)}${
		page.rows.length === 0 ? renderEmpty(page) : renderRows(query, page, csrf)
	}${pager({
		newestHref:
			query.before === undefined ? null : `/review${writeReviewQuery(query, { before: undefined })}`,
		olderHref:
			page.nextBeforeId === null
				? null
				: `/review${writeReviewQuery(query, { before: String(page.nextBeforeId) })}`,
		shown: page.isPartial
			? `${page.rows.length} found so far. Go on to look further back.`
			: `${page.rows.length} on this page`,
	})}</div>`;
}

function renderRows(query: ReviewQuery, page: ReviewPage, csrf: Html): Html {
	return postForm({
		action: "/review/reject",
		csrf,
		className: "list-form",
		body: html`<input type="hidden" name="back" value="${writeReviewQuery(query)}">${decisionBar({
			moves: ["reject"],
			what: "the selected conversions",
			asks: true,
		})}${dataTable({
			caption: "Conversions of all programmes, the newest first",
			columns: columnsFor(query),
			rows: page.rows,
			empty: null,
		})}`,
	});
}

function columnsFor(query: ReviewQuery): readonly Column<ReviewRow>[] {
	return [
		selectColumn<ReviewRow>({
			name: "conversion",
			value: (row) => row.public_id,
			label: (row) => `Select order ${row.order_id} of ${row.programme_name}`,
		}),
		{ title: "Order", cell: (row) => orderCell(row, row.programme_public_id) },
		{
			title: "Programme",
			cell: (row) =>
				html`<a class="cell-clip programme-name" href="/review${writeReviewQuery(query, { programme: row.programme_public_id, before: undefined })}" title="Only ${row.programme_name}">${row.programme_name}</a>`,
		},
		{ title: "Status", cell: statusCell },
		{ title: "Basket", isNumber: true, cell: (row) => amount(row.basket_value, row.currency) },
		{ title: "Commission", isNumber: true, cell: (row) => amount(row.commission, row.currency) },
		{ title: "Recorded", cell: (row) => timeTag(row.created_at_ms) },
	];
}

function renderFilters(query: ReviewQuery, programme: Programme | undefined, viewer: Viewer): Html {
	const listed = viewer.programmes.map(({ publicId, name }) => ({ value: publicId, label: name }));
	// The one that is chosen may be older than those in the menu.
	const isListed = programme === undefined || listed.some(({ value }) => value === programme.public_id);
	const chosen =
		isListed || programme === undefined ? [] : [{ value: programme.public_id, label: programme.name }];
	const fields = [
		selectField({
			name: "programme",
			label: "Programme",
			value: query.programme ?? "",
			options: [{ value: "", label: "All" }, ...chosen, ...listed],
		}),
		selectField({
			name: "status",
			label: "Status",
			value: query.status ?? "RECORDED",
			options: [
				{ value: "", label: "Any" },
				...STATUSES.map((value) => ({ value, label: STATUS_WORDS[value] })),
			],
		}),
		textField({
			name: "minBasket",
			label: "Basket at least",
			value: query.minBasket ?? "",
			inputMode: "decimal",
			placeholder: "1000.00",
		}),
		selectField({
			name: "age",
			label: "Recorded",
			value: query.age ?? "",
			options: [{ value: "", label: "Any time" }, ...AGE_OPTIONS],
		}),
	];
	const isFiltered = Object.keys(query).some((name) => name !== "before");
	return filterBar({
		action: "/review",
		label: "Filter conversions",
		fields,
		...(isFiltered ? { clearHref: "/review" } : {}),
	});
}

function renderEmpty(page: ReviewPage): Content {
	if (page.isPartial) {
		return emptyState({ title: "None among these", text: "Look further back, or lower the amount." });
	}
	return emptyState({
		title: "Nothing to review",
		text: "No conversion matches. New ones show here as shops report them; take a filter away to see older decisions.",
		action: linkButton({ label: "Programmes", href: "/programmes" }),
	});
}
