// Review: the conversions of all programmes, for the staff who look for what should not be paid.

import { html } from "hono/html";
import { listConversions } from "../../store/conversion-list.ts";
import type { Conversion } from "../../store/conversions.ts";
import type { ListPage } from "../../store/list-page.ts";
import { listNewestProgrammes, type ProgrammeName } from "../../store/programme-access.ts";
import { findProgramme, findProgrammesById, type Programme } from "../../store/programmes.ts";
import { emptyState, pageHeader } from "../components/blocks.ts";
import { orderCell, statusCell } from "../components/conversion-cells.ts";
import { STATUS_WORDS } from "../components/conversion-words.ts";
import { decisionBar, type RefusedDecision, refusalMessage } from "../components/decision-bar.ts";
import { linkButton, postForm } from "../components/forms.ts";
import { type Column, dataTable, type Pages, pager } from "../components/lists.ts";
import { selectColumn } from "../components/select-column.ts";
import { amount, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { cursorOf, pagesOf, type ReadFilters } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { reviewFilters } from "./review-filters.ts";
import { parseReviewQuery, type ReviewQuery, recordedBetween, writeReviewQuery } from "./review-query.ts";

const PAGE_ROWS = 50;
/** More do not fit into a menu; an older programme's conversions are found on its own page. */
const PROGRAMMES_IN_MENU = 50;
const NO_ROWS: ListPage<Conversion> = { rows: [], next: null, isPartial: false };

interface ReviewRow extends Conversion {
	programme_public_id: string;
	programme_name: string;
}

interface ReviewPage extends ListPage<ReviewRow> {
	links: Pages;
}

interface ReviewView {
	filters: ReadFilters<ReviewQuery>;
	/** Null when a filter is not understood: nothing is listed then. */
	page: ReviewPage | null;
	programme: Programme | undefined;
	newest: readonly ProgrammeName[];
	csrf: Html;
	refused: RefusedDecision | undefined;
}

export function showReview(c: WebContext, deps: WebDeps): Promise<Response> {
	return showReviewOf(c, deps, parseReviewQuery(new URL(c.req.url).search));
}

export async function showReviewOf(
	c: WebContext,
	deps: WebDeps,
	filters: ReadFilters<ReviewQuery>,
	refused?: RefusedDecision,
): Promise<Response> {
	const { query, problems } = filters;
	const isUnderstood = Object.keys(problems).length === 0;
	const programme =
		query.programme === undefined ? undefined : await findProgramme(deps.store.db, query.programme);
	const page = isUnderstood ? await readPage(deps, query, programme) : null;
	const newest = await listNewestProgrammes(deps.store.db, PROGRAMMES_IN_MENU);
	return answerPage(c, {
		title: "Review",
		active: "review",
		status: refused?.fault.httpStatus ?? (isUnderstood ? 200 : 422),
		body: renderReview({ filters, page, programme, newest, csrf: csrfField(c), refused }),
	});
}

async function readPage(
	deps: WebDeps,
	query: ReviewQuery,
	programme: Programme | undefined,
): Promise<ReviewPage> {
	const { store, clock } = deps;
	const list = { name: "review", path: "/review", query, cursorName: "after" };
	const isUnknown = query.programme !== undefined && programme === undefined;
	const page = isUnknown
		? NO_ROWS
		: await listConversions(store.db, {
				programmeId: programme?.id,
				orderStart: query.orderId,
				// What can still be rejected, unless asked for something else.
				status: query.status === "" ? undefined : (query.status ?? "RECORDED"),
				minBasket: query.minBasket,
				...recordedBetween(query.age, clock.nowMs()),
				after: cursorOf(deps, list),
				limit: PAGE_ROWS,
			});
	const programmes = await findProgrammesById(store.db, [
		...new Set(page.rows.map((row) => row.programme_id)),
	]);
	const rows = page.rows.map((row) => ({
		...row,
		programme_public_id: programmes.get(row.programme_id)?.public_id ?? "",
		programme_name: programmes.get(row.programme_id)?.name ?? "",
	}));
	const shown = page.isPartial
		? `${page.rows.length} found so far. Go on to look further.`
		: `${page.rows.length} on this page`;
	return { ...page, rows, links: pagesOf(deps, list, page, shown) };
}

function renderReview(view: ReviewView): Html {
	const { filters, page } = view;
	const header = pageHeader({
		title: "Review",
		hint: "Conversions of all programmes. Reject what should not be paid; the shop is told, with the reason.",
	});
	return html`${header}${refusalMessage(view.refused)}<div class="card"><h2 class="visually-hidden">The list</h2>${reviewFilters(
		filters,
		view.programme,
		view.newest,
	)}${page === null ? renderNotUnderstood() : renderPage(view, page)}</div>`;
}

function renderNotUnderstood(): Html {
	return emptyState({
		title: "This filter is not understood",
		text: "Nothing is listed, so that nothing is taken for what you asked for. Correct the field marked above.",
		action: linkButton({ label: "Show what can be rejected", href: "/review" }),
	});
}

function renderPage(view: ReviewView, page: ReviewPage): Html {
	const { query } = view.filters;
	return html`${page.rows.length === 0 ? renderEmpty(query, page) : renderRows(view, page.rows)}${pager(page.links)}`;
}

function renderRows({ filters: { query }, csrf, refused }: ReviewView, rows: readonly ReviewRow[]): Html {
	return postForm({
		action: "/review/reject",
		csrf,
		className: "list-form",
		body: html`<input type="hidden" name="back" value="${writeReviewQuery(query)}">${decisionBar({
			moves: ["reject"],
			refused,
			confirm: "Reject the selected conversions? This cannot be undone.",
		})}${dataTable({
			caption: "Conversions of all programmes",
			columns: columnsFor(query, refused?.ticked),
			rows,
			empty: null,
			stacks: true,
		})}`,
	});
}

function columnsFor(query: ReviewQuery, ticked: readonly string[] | undefined): readonly Column<ReviewRow>[] {
	return [
		selectColumn<ReviewRow>({
			name: "conversion",
			value: (row) => row.public_id,
			label: (row) => `Select order ${row.order_id} of ${row.programme_name}`,
			...(ticked === undefined ? {} : { ticked }),
		}),
		{ title: "Order", namesRow: true, cell: (row) => orderCell(row, row.programme_public_id) },
		{
			title: "Programme",
			cell: (row) =>
				html`<a class="cell-clip" href="/review${writeReviewQuery(query, { programme: row.programme_public_id, after: undefined })}" title="Only ${row.programme_name}">${row.programme_name}</a>`,
		},
		{ title: "Status", cell: statusCell },
		{ title: "Basket", isNumber: true, cell: (row) => amount(row.basket_value, row.currency) },
		{ title: "Commission", isNumber: true, cell: (row) => amount(row.commission, row.currency) },
		{ title: "Recorded", cell: (row) => timeTag(row.created_at_ms) },
	];
}

function renderEmpty(query: ReviewQuery, page: ReviewPage): Content {
	if (page.isPartial) {
		return emptyState({ title: "None among these", text: "Look further, or change a filter." });
	}
	if (query.status !== "" && query.orderId !== undefined) {
		const status = STATUS_WORDS[query.status ?? "RECORDED"].toLowerCase();
		return emptyState({
			title: `No ${status} conversion with this order id`,
			text: "It may have been decided already, or be of another shop than the one chosen.",
			action: linkButton({
				label: "Look in every status",
				href: `/review${writeReviewQuery(query, { status: "", after: undefined })}`,
			}),
		});
	}
	return emptyState({
		title: "Nothing to review",
		text: "No conversion matches. New ones show here as shops report them; take a filter away to see older decisions.",
		action: linkButton({ label: "Programmes", href: "/programmes" }),
	});
}
