// The page "Conversions". Below /programmes it lists the sales of one programme, for its people and for
// staff. Below /conversions it lists the sales of all programmes, for staff only. It has filters, totals,
// rows with checkboxes, and a bar with the buttons to decide.

import { findNamedCredits } from "#modules/partners/store/credits.ts";
import { exportAllConversions, exportConversions } from "../../conversions/export.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import { dayIn } from "../../domain/zone-day.ts";
import { type ConversionSort, listConversions } from "../../store/queries/conversion-list.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import { findProgrammesById, type Programme } from "../../store/queries/programmes.ts";
import type { Db } from "../../store/store.ts";
import { orderCell, STATUS_WORDS, selectAll, statusCell } from "../conversion-ui.ts";
import { cursorOf, notUnderstood, pager, pagesOf } from "../filter-query.ts";
import { answerPage, may, type PageDeps, standingOf, type WebContext } from "../page.ts";
import { bulkPath, conversionsPath, integrationPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { answerCsv, csvFormFor } from "./csv-answer.ts";
import { decisionBar, movesFor } from "./decide-action.ts";
import {
	BY_DAY,
	type ConversionList,
	filterForm,
	listPath,
	readList,
	readTotals,
	SORT_NAMES,
	SORTS,
	sortOf,
	type Totals,
} from "./list-query.ts";

/** Number of rows on a page, about two screens. */
const PAGE_ROWS = 50;

/** Sends the list as a CSV file. It has the filters and the order of the page, but contains every row. */
export async function showExport(c: WebContext, deps: PageDeps): Promise<Response> {
	const { store, clock } = deps;
	const programme: Programme | null = c.get("programme") ?? null;
	const zone = c.get("network").timeZone;
	const filters = await readList(store.db, programme, new URL(c.req.url).search, zone);
	// An unfiltered file could be mistaken for the filtered one. So the page is shown instead, and says which
	// filter is invalid.
	if (Object.keys(filters.problems).length > 0) return showConversions(c, deps);
	const { query, filter } = filters;
	const [sort, form, day] = [sortOf(query), csvFormFor(c), dayIn(clock.nowMs(), zone)];
	if (programme === null) {
		const all = exportAllConversions(store.reader, filter, sort, form);
		return answerCsv(c, deps, `conversions-${day}.csv`, all);
	}
	const namesPartners = programme.credits_partners === 1;
	const lines = exportConversions(store.reader, filter, sort, form, namesPartners);
	return answerCsv(c, deps, `conversions-${programme.public_id}-${day}.csv`, lines);
}

export async function showConversions(c: WebContext, deps: PageDeps): Promise<Response> {
	const { search } = new URL(c.req.url);
	const programme: Programme | null = c.get("programme") ?? null;
	const filters = await readList(deps.store.db, programme, search, c.get("network").timeZone);
	const { sort } = filters.query;
	const list: ConversionList = {
		name: `conversions${programme === null ? "" : ` of programme:${programme.id}`}${sort === undefined ? "" : ` ${sort}`}`,
		path: listPath(programme),
		query: filters.query,
		cursorName: "cursor",
		programme,
		filters,
	};
	const isUnderstood = Object.keys(filters.problems).length === 0;
	const listed = withQuery("", { ...list.query, cursor: undefined });
	const actions = [
		programme !== null && may(c, "decide")
			? ui.linkButton({
					label: "Decide by CSV",
					href: withQuery(bulkPath(programme.public_id), {
						back: listed === "" ? undefined : `${list.path}${listed}`,
					}),
				})
			: null,
		isUnderstood ? ui.linkButton({ label: "Export", href: `${list.path}/export.csv${listed}` }) : null,
	];
	return answerPage(c, {
		title: "Conversions",
		active: programme === null ? "all-conversions" : "conversions",
		status: isUnderstood ? 200 : 422,
		body: html`${ui.pageHeader({
			title: "Conversions",
			hint:
				programme === null
					? `Sales of all programmes. Reject sales that should not be paid. The shop gets a callback with the reason. Only the shop approves and reverses, because it knows what was paid and returned. ${sayDay(filters.query.dates)}`
					: `All reported sales and their status. ${sayDay(filters.query.dates)}`,
			actions,
		})}<div class="card"><h2 class="visually-hidden">The list</h2>${filterForm(list)}${
			isUnderstood
				? await renderPage(c, deps, list)
				: notUnderstood(
						"Correct the field marked above. Nothing is listed until then.",
						ui.linkButton({ label: "Show all conversions", href: list.path }),
					)
		}</div>`,
	});
}

/** Returns the sentence that explains which day the filters are about. */
function sayDay(dates: ConversionList["filters"]["query"]["dates"]): string {
	switch (dates) {
		case undefined:
			return BY_DAY;
		case "sale":
			return "The day is when the sale was made.";
		case "decision":
			return "Only decided ones are listed, by the day of the last decision.";
		default:
			return dates satisfies never;
	}
}

/**
 * Returns the link in a column's heading, which sorts the list by this column. The first click puts the
 * largest or latest first, and the second click reverses the order.
 */
function sortLink(
	{ path, filters: { query } }: ConversionList,
	by: ConversionSort["by"],
): { sorted?: ui.SortedColumn } {
	const isFixed = query.partner !== undefined || query.dates === "decision";
	const fixed = query.partner !== undefined ? "sale" : "decision";
	if (isFixed ? by !== fixed : by === "decision") return {};
	const present = sortOf(query);
	const direction = present.by === by ? present.direction : null;
	const next = direction === "desc" ? "asc" : "desc";
	const sort = SORT_NAMES.find((name) => SORTS[name].by === by && SORTS[name].direction === next);
	return { sorted: { direction, href: withQuery(path, { ...query, sort, cursor: undefined }) } };
}

async function renderPage(c: WebContext, deps: PageDeps, list: ConversionList): Promise<Html> {
	const { query, filter } = list.filters;
	const request = { after: cursorOf(deps, list), limit: PAGE_ROWS };
	const page = await listConversions(deps.store.reader, { ...filter, sort: sortOf(query), ...request });
	const shown = page.isPartial
		? `${page.rows.length} found so far. Open the next page to search further.`
		: `${page.rows.length} on this page`;
	const words = query.sort === undefined ? (["Newest", "Older"] as const) : (["First", "Next"] as const);
	const pages = pager(pagesOf(deps, list, page, shown), words);
	if (page.rows.length === 0) return html`${nothingFound(list, page.isPartial)}${pages}`;
	const isAll = request.after === undefined && page.next === null;
	const totals = await readTotals(deps, list.filters, list.programme, { rows: page.rows, isAll });
	return html`${totalsLine(totals)}${await renderRows(c, deps, list, page.rows, totals, pages)}`;
}

async function renderRows(
	c: WebContext,
	{ store }: PageDeps,
	list: ConversionList,
	rows: readonly Conversion[],
	totals: Totals,
	pages: Content,
): Promise<Html> {
	const { programme } = list;
	const { sort } = list.filters.query;
	const moves = movesFor(programme === null ? "staff" : standingOf(c));
	const columns = await columnsOf(store.db, list, rows, moves.length > 0);
	const rowTable = ui.dataTable({
		caption: `Conversions, ${sort === undefined ? "the newest first" : SORTS[sort].words}`,
		columns,
		rows,
		empty: null,
		stacks: true,
	});
	const table = html`${rowTable}${ui.zoneNote(list.filters.zone)}`;
	if (moves.length === 0) return html`${table}${pages}`;
	// The checkbox "all" is only on the list of one programme, because the job that it creates belongs to one
	// programme.
	const hasMore = programme !== null && (totals.count > rows.length || !totals.isAll);
	return ui.postForm({
		action: `${list.path}/decide`,
		className: "list-form",
		body: html`<input type="hidden" name="back" value="${withQuery(list.path, list.query)}">${table}${pages}<div class="selection-bar"><div class="selection"><p data-selection role="status">Select conversions, then choose what to do.</p>${
			hasMore ? allBox(totals) : null
		}</div>${decisionBar(moves)}</div>`,
	});
}

type ConversionColumn = ui.Column<Conversion>;

/** Returns the columns of the table. Only people who may decide get the column of checkboxes. */
async function columnsOf(
	db: Db,
	list: ConversionList,
	rows: readonly Conversion[],
	mayDecide: boolean,
): Promise<readonly ConversionColumn[]> {
	const { programme: listProgramme } = list;
	const programmes = await findListedProgrammes(db, listProgramme, rows);
	const creditsPartners = [...programmes.values()].some(({ credits_partners }) => credits_partners === 1);
	const order: ConversionColumn = {
		title: "Order",
		namesRow: true,
		cell: (row) => orderCell(row, programmes.get(row.programme_id)?.public_id ?? "", backPath(list)),
	};
	return [
		...(mayDecide ? [selectColumn(list, programmes)] : []),
		order,
		...(listProgramme === null ? [programmeColumn(list, programmes)] : []),
		...(creditsPartners ? [await partnerColumn(db, list, rows)] : []),
		{ title: "Status", cell: (row) => statusCell(row, list.filters.zone) },
		...amountColumns(list),
		recordedColumn(list),
	];
}

type ListedProgrammes = ReadonlyMap<number, Programme>;

async function findListedProgrammes(
	db: Db,
	listProgramme: Programme | null,
	rows: readonly Conversion[],
): Promise<ListedProgrammes> {
	if (listProgramme !== null) return new Map([[listProgramme.id, listProgramme]]);
	return findProgrammesById(db, [...new Set(rows.map((row) => row.programme_id))]);
}

/**
 * Returns the address of this list for the link back from a conversion's page, or undefined for the
 * unfiltered list of a programme.
 */
function backPath(list: ConversionList): string | undefined {
	const address = withQuery(list.path, firstPageQuery(list));
	return list.programme !== null && address === list.path ? undefined : address;
}

function firstPageQuery(list: ConversionList): ConversionList["query"] {
	return { ...list.query, cursor: undefined };
}

function selectColumn(
	{ programme: listProgramme }: ConversionList,
	programmes: ListedProgrammes,
): ConversionColumn {
	return {
		title: selectAll("conversion"),
		cell: (row) => {
			const name = programmes.get(row.programme_id)?.name ?? "";
			// The label names the order, because a screen reader may announce the checkbox without its row.
			const label = `Select order ${showOrderId(row.order_id)}${listProgramme === null ? ` of ${name}` : ""}`;
			return html`<input type="checkbox" name="conversion"${ui.attrs({
				value: row.public_id,
				"aria-label": label,
			})}>`;
		},
	};
}

/**
 * Returns the column with the name of the programme. The name links to that programme's list with the same
 * filters.
 */
function programmeColumn(list: ConversionList, programmes: ListedProgrammes): ConversionColumn {
	return {
		title: "Programme",
		cell: (row) => {
			const { public_id: publicId = "", name = "" } = programmes.get(row.programme_id) ?? {};
			const href = withQuery(conversionsPath(publicId), firstPageQuery(list));
			return html`<a class="cell-clip" href="${href}" title="Only ${name}">${name}</a>`;
		},
	};
}

async function partnerColumn(
	db: Db,
	list: ConversionList,
	rows: readonly Conversion[],
): Promise<ConversionColumn> {
	const credits = await findNamedCredits(
		db,
		rows.map(({ id }) => id),
	);
	return {
		title: "Partner",
		cell: (row) => {
			const credit = credits.get(row.id);
			if (credit === undefined) return null;
			if (credit.partnership === null) return html`<span class="faint">nobody</span>`;
			const { partner_name: name, partner_public_id: partnerId } = credit.partnership;
			const href = withQuery(list.path, { ...firstPageQuery(list), sort: undefined, partner: partnerId });
			return html`<a class="cell-clip" href="${href}" title="Only ${name}">${name}</a>`;
		},
	};
}

/**
 * Returns the columns with amounts. The list of all programmes has no room for the fee and the time of the
 * sale.
 */
function amountColumns(list: ConversionList): ConversionColumn[] {
	const amountColumn = (
		title: string,
		name: "basket_value" | "commission" | "network_fee",
	): ConversionColumn => ({
		title,
		isNumber: true,
		cell: (row) => ui.amount(row[name], row.currency),
	});
	const basket = amountColumn("Basket", "basket_value");
	const commission = amountColumn("Commission", "commission");
	if (list.programme === null) return [basket, commission];
	return [
		{ ...basket, ...sortLink(list, "basket") },
		commission,
		amountColumn("Fee", "network_fee"),
		{ title: "Sold", ...sortLink(list, "sale"), cell: (row) => timeIn(list, row.occurred_at_ms) },
	];
}

/** Shows a time in the zone of the list's days. */
function timeIn({ filters: { zone } }: ConversionList, atMs: number): Html {
	return ui.timeTag(atMs, zone);
}

/** Returns the last column, which has the time by which the list is filtered. */
function recordedColumn(list: ConversionList): ConversionColumn {
	if (list.filters.query.dates === "decision") return decidedColumn(list);
	return {
		title: "Recorded",
		...sortLink(list, "recorded"),
		cell: (row) => {
			const sold = html`<span class="secondary">sold ${timeIn(list, row.occurred_at_ms)}</span>`;
			return html`${timeIn(list, row.created_at_ms)}${list.programme === null ? sold : null}`;
		},
	};
}

function decidedColumn(list: ConversionList): ConversionColumn {
	return {
		title: "Decided",
		...sortLink(list, "decision"),
		cell: ({ decided_at_ms: decidedAtMs, created_at_ms }) =>
			html`${decidedAtMs === null ? null : timeIn(list, decidedAtMs)}<span class="secondary">recorded ${timeIn(list, created_at_ms)}</span>`,
	};
}

function nothingFound({ programme, path, filters: { query } }: ConversionList, isPartial: boolean): Html {
	const { sort: _, ...set } = query;
	const isFiltered = Object.values(set).some((value) => value !== undefined);
	const look = {
		label: isFiltered ? "Show all conversions" : "Show tests",
		href: withQuery(path, { test: "all" }),
	};
	const start =
		programme === null
			? ""
			: html` Begin with an API key on <a href="${integrationPath(programme.public_id)}">Integration</a>.`;
	const text = isFiltered
		? "Check the order ID, or remove a filter. Calls that were refused are in the inbound log on Integration."
		: html`They appear here as soon as a shop's server reports them.${start} Tests are hidden.`;
	return ui.emptyState({
		title: isPartial ? "None found so far" : isFiltered ? "No conversion matches" : "No conversions yet",
		text: isPartial
			? "Many orders had to be searched. Open the next page to search further, or narrow the filters."
			: text,
		...(isPartial ? {} : { action: ui.linkButton(look) }),
	});
}

/**
 * Returns the checkbox that applies a decision to everything that matches. Without scripts it works as well,
 * and then overrides the checkboxes of the rows.
 */
function allBox({ isAll, count }: Totals): Html {
	const all = isAll ? `all ${ui.count(count)}` : "all";
	return html`<label class="check"><input type="checkbox" name="all" value="yes"><span>Select ${all} that match the filters</span></label>`;
}

function totalsLine({ count: found, isAll, tests, sums }: Totals): Html {
	const words = isAll ? ui.countOf(found, "conversion") : `More than ${ui.count(found)} conversions`;
	const testWords = tests === 0 ? null : `${ui.countOf(tests, "test")} not in the sum`;
	const hint = isAll ? testWords : "Narrow the filters to see the sums.";
	return html`<p class="totals" role="status"><strong>${words}</strong>${sums.map(
		({ currency, basket, commissions }) =>
			html`<span>Basket ${ui.amount(basket, currency)}</span><span>Commission: ${commissions.map(
				([status, commission], at) =>
					html`${at === 0 ? null : ", "}${ui.amount(commission, currency)} ${STATUS_WORDS[status].toLowerCase()}`,
			)}</span>`,
	)}<span class="faint">${hint}</span></p>`;
}
