// The page "Conversions", the same for everybody: a programme's own sales for its people and staff, below /programmes;
// and for staff those of all programmes, below /conversions. Filters above, what they find in all, a row each with a box
// to tick, a bar that stays in sight with the buttons that decide, and pages.

import * as z from "zod";
import { exportConversions } from "../../conversions/export.ts";
import { utcDay } from "../../domain/time.ts";
import { decideTicked } from "../../jobs/decide-from-page.ts";
import { listConversions } from "../../store/queries/conversion-list.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import type { ListPage } from "../../store/queries/list-page.ts";
import { findProgramme, findProgrammesById, type Programme } from "../../store/queries/programmes.ts";
import type { Db } from "../../store/store.ts";
import {
	decisionBar,
	orderCell,
	type RefusedDecision,
	refusalMessage,
	STATUS_WORDS,
	statusCell,
} from "../conversion-ui.ts";
import {
	cursorOf,
	notUnderstood,
	type PagedList,
	pager,
	pagesOf,
	type ReadFilters,
} from "../filter-query.ts";
import {
	answerPage,
	csrfField,
	may,
	type PageDeps,
	programmeOf,
	setFlash,
	standingOf,
	type WebContext,
} from "../page.ts";
import {
	ALL_CONVERSIONS_PATH,
	bulkPath,
	conversionsPath,
	integrationPath,
	PROGRAMMES_PATH,
	withQuery,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { answerCsv } from "./csv-answer.ts";
import { deciderOf, describeDecided, movesFor } from "./deciding.ts";
import {
	addressOf,
	type ConversionList,
	filterForm,
	type ListQuery,
	NO_PROGRAMME,
	parseListQuery,
	readTotals,
	SORT_NAMES,
	SORTS,
	type SortName,
	sortOf,
	type Totals,
	toConversionFilter,
} from "./list-query.ts";

/** Two screens: enough to decide about, quick to read. */
const PAGE_ROWS = 50;

/** What the form around the rows sends. */
export const SELECTION_FORM = z.object({
	reason: z.string().catch(""),
	/** The filters of the list it comes from. */
	back: z.string().optional().catch(undefined),
	/** Everything that they find, ticked or not. */
	all: z.literal("yes").optional().catch(undefined),
	conversion: z.union([z.string().transform((id) => [id]), z.array(z.string())]).catch([]),
});

export function showConversions(c: WebContext, deps: PageDeps): Promise<Response> {
	return showListOf(c, deps, parseListQuery(new URL(c.req.url).search));
}

/** Where staff's list was before. It began with what can still be rejected. */
export function showReview(c: WebContext): Response {
	const { programme, orderId, status } = c.req.query();
	return c.redirect(
		withQuery(ALL_CONVERSIONS_PATH, { programme, orderId, status: status ?? "RECORDED" }),
		301,
	);
}

/** The list as a file: the same filters and order, every row. */
export function showExport(c: WebContext, deps: PageDeps): Response | Promise<Response> {
	const { store, clock } = deps;
	const programme = programmeOf(c);
	const filters = parseListQuery(new URL(c.req.url).search);
	// The page that says which filter is not understood: a file of everything would be taken for the answer.
	if (Object.keys(filters.problems).length > 0) return showListOf(c, deps, filters);
	const { query } = filters;
	const separator = c.req.query("csv") === "semicolon" ? ";" : ",";
	const filter = toConversionFilter(programme.id, query);
	const lines = exportConversions(store.db, filter, sortOf(query), separator);
	return answerCsv(c, deps, `conversions-${programme.public_id}-${utcDay(clock.nowMs())}.csv`, lines);
}

/** The review team rejects what it ticked, in whatever programmes it is. */
export async function rejectSelected(c: WebContext, deps: PageDeps): Promise<Response> {
	const form = SELECTION_FORM.parse(await c.req.parseBody({ all: true }));
	const rejected = await decideTicked(deps, deciderOf(c), {
		programmeId: null,
		conversionIds: form.conversion,
		move: "reject",
		reason: form.reason,
	});
	const filters = parseListQuery(form.back ?? "");
	if (!rejected.ok) {
		const refused = { ticked: form.conversion, reason: form.reason, fault: rejected.fault };
		return showListOf(c, deps, filters, refused);
	}
	setFlash(c, ...describeDecided("reject", rejected.value));
	return c.redirect(withQuery(ALL_CONVERSIONS_PATH, addressOf(filters.query)), 303);
}

export async function showListOf(
	c: WebContext,
	deps: PageDeps,
	read: ReadFilters<ListQuery>,
	refused?: RefusedDecision,
): Promise<Response> {
	const { db } = deps.store;
	const own: Programme | null = c.get("programme") ?? null;
	const { programme: chosen, sort } = read.query;
	const programme = own ?? (chosen === undefined ? null : ((await findProgramme(db, chosen)) ?? null));
	const filters = own === null ? judgeNetwork(read, programme) : read;
	const list: ConversionList = {
		name: `conversions${programme === null ? "" : ` of programme:${programme.id}`}${sort === undefined ? "" : ` ${sort}`}`,
		path: own === null ? ALL_CONVERSIONS_PATH : conversionsPath(own.public_id),
		query: addressOf(filters.query),
		cursorName: "cursor",
		own,
		programme,
		filters,
		refused,
	};
	const isUnderstood = Object.keys(filters.problems).length === 0;
	return answerPage(c, {
		title: "Conversions",
		active: own === null ? "all-conversions" : "conversions",
		status: refused?.fault.httpStatus ?? (isUnderstood ? 200 : 422),
		body: html`${ui.pageHeader({
			title: "Conversions",
			hint:
				own === null
					? "Sales of all programmes. Reject what should not be paid: the shop gets a callback with the reason."
					: "All reported sales and their status.",
			actions: own === null ? null : fileLinks(c, own, list, isUnderstood),
		})}${refusalMessage(refused)}<div class="card"><h2 class="visually-hidden">The list</h2>${await filterForm(db, list)}${
			isUnderstood
				? await renderPage(c, deps, list)
				: notUnderstood(
						"Correct the field marked above. Nothing is listed until then.",
						ui.linkButton({ label: "Show all conversions", href: list.path }),
					)
		}</div>`,
	});
}

/** Over all programmes there is an index for when they were recorded, and for nothing else. */
function judgeNetwork(filters: ReadFilters<ListQuery>, programme: Programme | null): ReadFilters<ListQuery> {
	const { query } = filters;
	if (programme !== null) return filters;
	const needsProgramme =
		"Choose a programme first. All programmes together are listed by when they were recorded.";
	const isSorted = query.sort !== undefined && SORTS[query.sort].by !== "recorded";
	const problems = {
		...(query.programme === undefined ? {} : { programme: NO_PROGRAMME }),
		...(query.dates === undefined ? {} : { dates: needsProgramme }),
		...(isSorted ? { sort: needsProgramme } : {}),
		...filters.problems,
	};
	return { ...filters, problems };
}

/** A conversion is opened with the filters of its list, so that the way back leads there. */
function listedOf({ query: { cursor: _, ...listed } }: PagedList): string {
	return withQuery("", listed);
}

function fileLinks(
	c: WebContext,
	{ public_id: publicId }: Programme,
	list: ConversionList,
	isUnderstood: boolean,
): Content {
	const listed = listedOf(list);
	const exportHref = (csv?: string) => {
		const { cursor: _, ...query } = list.query;
		return withQuery(`${list.path}/export.csv`, { ...query, csv });
	};
	return [
		may(c, "decide")
			? ui.linkButton({
					label: "Approve or reject by CSV",
					href: withQuery(bulkPath(publicId), { list: listed || undefined }),
				})
			: null,
		isUnderstood
			? [
					ui.linkButton({ label: "Export CSV", href: exportHref() }),
					ui.linkButton({ label: "Export CSV (for Excel)", tone: "quiet", href: exportHref("semicolon") }),
				]
			: null,
	];
}

const CAPTIONS: Readonly<Record<SortName | "newest", string>> = {
	newest: "Conversions, the newest first",
	"recorded-asc": "Conversions, the oldest first",
	"sale-desc": "Conversions, the latest sale first",
	"sale-asc": "Conversions, the earliest sale first",
	"basket-desc": "Conversions, the largest basket first",
	"basket-asc": "Conversions, the smallest basket first",
};

/** The heading of a column: sorts by it, the largest or latest first, and pressed again the other way round. */
function sortLink(
	{ path, filters: { query } }: ConversionList,
	by: "recorded" | "sale" | "basket",
): ui.SortedColumn {
	const present = sortOf(query);
	const direction = present.by === by ? present.direction : null;
	const next = direction === "desc" ? "asc" : "desc";
	const sort = SORT_NAMES.find((name) => SORTS[name].by === by && SORTS[name].direction === next);
	return { direction, href: withQuery(path, addressOf({ ...query, sort, cursor: undefined })) };
}

async function renderPage(c: WebContext, deps: PageDeps, list: ConversionList): Promise<Html> {
	const { query } = list.filters;
	const filter = toConversionFilter(list.programme?.id, query);
	const request = { after: cursorOf(deps, list), limit: PAGE_ROWS };
	const page = await listConversions(deps.store.db, { ...filter, sort: sortOf(query), ...request });
	const shown = page.isPartial
		? `${page.rows.length} found so far. Go on to look further.`
		: `${page.rows.length} on this page`;
	const words = query.sort === undefined ? (["Newest", "Older"] as const) : (["First", "Next"] as const);
	const pages = pager(pagesOf(deps, list, page, shown), words);
	if (page.rows.length === 0) return html`${nothingFound(list, page)}${pages}`;
	const totals = await readTotals(deps, filter, list.programme);
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
	const { own, refused, filters } = list;
	const { columns, rowName } =
		own === null ? await networkTable(store.db, list, rows) : programmeTable(own, list);
	const table = (select: readonly ui.Column<Conversion>[]) =>
		ui.dataTable({
			caption: CAPTIONS[filters.query.sort ?? "newest"],
			columns: [...select, ...columns],
			rows,
			empty: null,
			stacks: true,
		});
	const bar =
		own === null
			? { moves: ["reject"] as const, confirm: "Reject the selected conversions? This cannot be undone." }
			: { moves: movesFor(standingOf(c)) };
	// Whoever may decide nothing has nothing to tick.
	if (bar.moves.length === 0) return html`${table([])}${pages}`;
	// A job is of one programme: it is made on that programme's own page.
	const hasMore = own !== null && (totals.count > rows.length || !totals.isAll);
	return ui.postForm({
		action: `${list.path}/${own === null ? "reject" : "decide"}`,
		csrf: csrfField(c),
		className: "list-form",
		body: html`<input type="hidden" name="back" value="${withQuery("", list.query)}">${table([
			selectColumn(rowName, refused?.ticked),
		])}${pages}<div class="selection-bar"><div class="selection"><p data-selection role="status">Select conversions, then choose what to do.</p>${
			hasMore ? allBox(totals, refused) : null
		}</div>${decisionBar({ ...bar, refused })}</div>`,
	});
}

interface ConversionTable {
	/** Besides the boxes to tick. */
	columns: readonly ui.Column<Conversion>[];
	/** For those who hear a box without its row. */
	rowName(row: Conversion): string;
}

const LIST_COLUMNS = {
	status: { title: "Status", cell: statusCell },
	basket: { title: "Basket", isNumber: true, cell: (row) => ui.amount(row.basket_value, row.currency) },
	commission: { title: "Commission", isNumber: true, cell: (row) => ui.amount(row.commission, row.currency) },
	fee: { title: "Fee", isNumber: true, cell: (row) => ui.amount(row.network_fee, row.currency) },
	sold: { title: "Sold", cell: (row) => ui.timeTag(row.occurred_at_ms) },
	recorded: { title: "Recorded", cell: (row) => ui.timeTag(row.created_at_ms) },
} as const satisfies Readonly<Record<string, ui.Column<Conversion>>>;

function programmeTable({ public_id: publicId }: Programme, list: ConversionList): ConversionTable {
	const { status, basket, commission, fee, sold, recorded } = LIST_COLUMNS;
	const from = { list: listedOf(list) || undefined };
	return {
		columns: [
			{ title: "Order", namesRow: true, cell: (row) => orderCell(row, publicId, from) },
			status,
			{ ...basket, sorted: sortLink(list, "basket") },
			commission,
			fee,
			{ ...sold, sorted: sortLink(list, "sale") },
			{ ...recorded, sorted: sortLink(list, "recorded") },
		],
		rowName: (row) => `order ${row.order_id}`,
	};
}

async function networkTable(
	db: Db,
	list: ConversionList,
	rows: readonly Conversion[],
): Promise<ConversionTable> {
	const programmes = await findProgrammesById(db, [...new Set(rows.map((row) => row.programme_id))]);
	const nameOf = (row: Conversion) => programmes.get(row.programme_id)?.name ?? "";
	const publicIdOf = (row: Conversion) => programmes.get(row.programme_id)?.public_id ?? "";
	const only = (row: Conversion) =>
		withQuery(list.path, { ...list.query, cursor: undefined, programme: publicIdOf(row) });
	const { status, basket, commission } = LIST_COLUMNS;
	return {
		columns: [
			{
				title: "Order",
				namesRow: true,
				cell: (row) => orderCell(row, publicIdOf(row), { network: listedOf(list) }),
			},
			{
				title: "Programme",
				cell: (row) =>
					html`<a class="cell-clip" href="${only(row)}" title="Only ${nameOf(row)}">${nameOf(row)}</a>`,
			},
			status,
			basket,
			commission,
			// One below the other: beside the programme there is no room for both.
			{
				title: "Recorded",
				sorted: sortLink(list, "recorded"),
				cell: (row) =>
					html`${ui.timeTag(row.created_at_ms)}<span class="secondary">sold ${ui.timeTag(row.occurred_at_ms)}</span>`,
			},
		],
		rowName: (row) => `order ${row.order_id} of ${nameOf(row)}`,
	};
}

function nothingFound({ own, path, filters }: ConversionList, { isPartial }: ListPage<unknown>): Html {
	const { zone: _, sort: __, ...query } = filters.query;
	if (isPartial) {
		return ui.emptyState({
			title: "None found so far",
			text: "Many orders had to be looked at. Look further, or narrow the filters.",
		});
	}
	if (query.orderId !== undefined && query.status !== undefined) {
		return ui.emptyState({
			title: `No ${STATUS_WORDS[query.status].toLowerCase()} conversion with this ID`,
			text: "It may have another status by now, or not fit another filter.",
			action: ui.linkButton({
				label: "Look in every status",
				href: withQuery(path, addressOf({ ...filters.query, status: undefined, cursor: undefined })),
			}),
		});
	}
	if (Object.values(query).some((value) => value !== undefined)) {
		return ui.emptyState({
			title: "No conversion matches",
			text: "Check the order ID, or remove a filter. Calls that were refused are in the inbound log on Integration.",
			action: ui.linkButton({ label: "Show all conversions", href: path }),
		});
	}
	return own === null
		? ui.emptyState({
				title: "No conversions yet",
				text: "They appear here as shops report them.",
				action: ui.linkButton({ label: "Programmes", href: PROGRAMMES_PATH }),
			})
		: ui.emptyState({
				title: "No conversions yet",
				text: "Issue an API key on Integration, then send a test conversion or your first signed request. It appears here right away.",
				action: ui.linkButton({
					label: "Go to Integration",
					tone: "primary",
					href: integrationPath(own.public_id),
				}),
			});
}

/** Also without scripts: what is ticked besides does not matter then. */
function allBox(totals: Totals, refused: RefusedDecision | undefined): Html {
	const words = totals.isAll ? `all ${ui.count(totals.count)} that match` : "all that match";
	const sums = totals.sums.map(({ basket, currency }) => `${ui.thousands(basket)} ${currency}`);
	const all = `${totals.isAll ? `All ${ui.count(totals.count)}` : "All"} that match`;
	const data = [all, ...sums, ...(totals.isAll ? testWords(totals.tests) : [])].join(" · ");
	return html`<label class="check"><input type="checkbox" name="all" value="yes" data-all-matching="${data}"${
		refused?.isAll === true ? html` checked` : null
	}><span>Select ${words} the filters</span></label>`;
}

/** Boxes to tick, with one above that ticks them all. That one needs scripts, and shows only with them. */
function selectColumn(
	rowName: (row: Conversion) => string,
	/** Ticked before, on a form that was refused. */
	ticked: readonly string[] = [],
): ui.Column<Conversion> {
	return {
		title: html`<input type="checkbox" hidden data-select-all="conversion" aria-label="Select all on this page"><span class="visually-hidden">Select</span>`,
		cell: (row) =>
			html`<input type="checkbox" name="conversion" value="${row.public_id}" data-basket="${row.basket_value}" data-currency="${row.currency}"${row.test === 1 ? html` data-test` : null} aria-label="Select ${rowName(row)}"${ticked.includes(row.public_id) ? html` checked` : null}>`,
	};
}

/** "1 240 conversions, 3 of them tests", "More than 10 000 conversions". */
function countWords({ count: found, isAll, tests }: Totals): string {
	if (!isAll) return `More than ${ui.count(found)} conversions`;
	if (tests === found) return ui.countOf(found, "test conversion");
	return tests === 0
		? ui.countOf(found, "conversion")
		: `${ui.countOf(found, "conversion")}, ${ui.count(tests)} of them ${tests === 1 ? "a test" : "tests"}`;
}

/** None where no test is among them. */
function testWords(tests: number): string[] {
	return tests === 0 ? [] : [`${ui.countOf(tests, "test")} not in the sum`];
}

function totalsLine(totals: Totals): Html {
	const sums = totals.sums.map(
		({ currency, basket, commission }) =>
			html`<span>Basket ${ui.amount(basket, currency)}</span><span>Commission ${ui.amount(commission, currency)}</span>`,
	);
	return html`<p class="totals" role="status"><strong>${countWords(totals)}</strong>${sums}${sumHint(totals)}</p>`;
}

function sumHint({ isAll, tests }: Totals): Html | null {
	if (!isAll) return html`<span class="faint">Narrow the filters to see the sums.</span>`;
	return tests === 0 ? null : html`<span class="faint">Sums leave tests out.</span>`;
}
