// Lists that are shown in pages. A page asks the address (ask.ts), reads the rows, and shows the list:
//
//   const asked = ask(c, { path: AUDIT_PATH, filters: FILTERS });
//   const page = await readRows(deps, asked, "audit log", (at) => listAudit(deps.store.reader, filter, at));
//   const list = showList({ asked, page, noun: "entry", plural: "entries", columns, … });
//
// A page that needs something between these parts uses filterForm, listRows, listTable and pager, of which showList
// consists.

import { type CursorSeal, readCursor, writeCursor } from "../domain/cursor.ts";
import { type ListPage, MOST_COUNTED, type PageRequest } from "../store/queries/list-page.ts";
import { type Asked, nameOf } from "./ask.ts";
import * as ui from "./ui.ts";
import { type Content, type Html, html } from "./ui.ts";

/** Default number of rows on a page, which is about two screens. */
const PAGE_ROWS = 50;

/** One page of a list, with the addresses of other pages. */
export interface Listed<Row> extends ListPage<Row> {
	/** Address of the first page, or null on the first page. */
	firstHref: string | null;
	/** Address of the next page, or null on the last page. */
	nextHref: string | null;
}

/**
 * Reads the page that the address asks for. If a filter is invalid, the page is empty. `name` names the list and its
 * owner, because a cursor is valid only for one list in one order (see domain/cursor.ts).
 */
export async function readRows<Row>(
	seal: CursorSeal,
	asked: Asked,
	name: string,
	read: (request: PageRequest) => Promise<ListPage<Row>>,
	limit = PAGE_ROWS,
): Promise<Listed<Row>> {
	if (!asked.isUnderstood) return { rows: [], next: null, isPartial: false, firstHref: null, nextHref: null };
	const list = `${name} ${nameOf(asked.order)}`;
	const after = readCursor(seal, list, asked.cursor);
	const page = await read({ after, limit, isCounted: true });
	return {
		...page,
		firstHref: after === undefined ? null : asked.href(),
		nextHref: page.next === null ? null : asked.href({ cursor: writeCursor(seal, list, page.next) }),
	};
}

/** Word for a row, such as "callback". */
interface Noun {
	noun: string;
	/** Plural of the noun. By default it ends in "s". */
	plural?: string;
}

export interface ShownList<Row> extends Noun {
	asked: Asked;
	page: Listed<Row>;
	/** Name of the table for screen readers. */
	caption: string;
	columns: readonly ui.Column<Row>[];
	rowId?(row: Row): string;
	/** True if several short cells of a row share a line on a phone. */
	isTight?: boolean;
	/**
	 * True if the times in the rows are in the time zone of the filters' days. A note below the rows then names the
	 * zone.
	 */
	namesZone?: boolean;
	/** True if the list has never had a row, so that the form with the filters is left out. */
	isNew?: boolean;
	/** Message for a list without rows if no filter is set. */
	none: ui.EmptyState;
	/** Message if no row matches the filters. By default it asks for other filters. */
	noMatch?: ui.EmptyState | undefined;
	/** Sums that follow the number of rows. */
	sums?: Content;
	/** Checkboxes of the rows, and the form to which they belong. */
	selection?: Selection<Row> | null;
}

/** Form about the rows that a person selects. */
export interface Selection<Row> {
	action: string;
	hidden?: Readonly<Record<string, string>>;
	name: string;
	/** Returns the checkbox of a row, or null if the row cannot be selected. */
	box(row: Row): { value: string; label: string; id?: string; isTicked?: boolean } | null;
	/** Buttons that stand above the rows. */
	above?: Content;
	/** Hint and buttons for the selected rows, in a bar that stays in sight. */
	below?: { hint: string; all?: Content; bar: Content };
}

/** Shows the form with the filters, and the rows. */
export function showList<Row>(list: ShownList<Row>): Html {
	const form = list.isNew === true ? null : filterForm(list.asked, `Filter ${pluralOf(list)}`);
	return html`${form}${listRows(list)}`;
}

/** Shows the rows with their count and pages, without the form. */
export function listRows<Row>(list: ShownList<Row>): Html {
	const { asked, page, namesZone = false, selection = null, sums = null } = list;
	if (!asked.isUnderstood) return notUnderstood(asked);
	const zone = namesZone && page.rows.length > 0 ? ui.zoneNote(asked.form.zone) : null;
	const rows = html`${totalsLine(page, list, sums)}${listTable(list)}${zone}${pager(page)}`;
	if (selection === null) return rows;
	const { action, hidden = {}, above = null, below } = selection;
	return ui.postForm({
		action,
		hidden,
		className: "list-form",
		body: [above, rows, below === undefined ? null : selectionBar(below)],
	});
}

/** Shows only the table, or the message for a list without rows. */
export function listTable<Row>(list: ShownList<Row>): Html {
	const { page, columns, caption, rowId, isTight = false, selection = null } = list;
	return ui.dataTable<Row>({
		caption,
		columns: selection === null ? columns : [boxColumn(selection), ...columns],
		rows: page.rows,
		empty: ui.emptyState(emptyOf(list)),
		stacks: isTight ? "tight" : true,
		...(rowId === undefined ? {} : { rowId }),
	});
}

/** Shows the number of rows and their sums. Shows nothing if there are no rows, or if they were not counted. */
export function totalsLine({ count = 0 }: ListPage<unknown>, named: Noun, sums: Content = null): Html | null {
	if (count === 0 && sums === null) return null;
	const words =
		count > MOST_COUNTED
			? `More than ${ui.count(MOST_COUNTED)} ${pluralOf(named)}`
			: ui.countOf(count, named.noun, pluralOf(named));
	return html`<p class="totals" role="status">${count === 0 ? null : html`<strong>${words}</strong>`}${sums}</p>`;
}

function pluralOf({ noun, plural = `${noun}s` }: Noun): string {
	return plural;
}

/** Returns true if this page has no rows because of a filter or a cursor, so that the whole list may have some. */
function isNarrowed<Row>({ asked, page }: ShownList<Row>): boolean {
	return asked.isFiltered || page.firstHref !== null || page.isPartial;
}

function emptyOf<Row>(list: ShownList<Row>): ui.EmptyState {
	if (list.page.isPartial) {
		return {
			title: "None found so far",
			text: "Many rows had to be searched. Open the next page to search further, or narrow the filters.",
		};
	}
	if (!isNarrowed(list)) return list.none;
	const text = "Choose other filters, or clear them.";
	return { title: `No ${list.noun} matches`, text, ...list.noMatch };
}

/** Returns the message that replaces the rows if a filter is invalid. */
export function notUnderstood({ clearHref }: Pick<Asked, "clearHref">): Html {
	return ui.emptyState({
		title: "This filter is not understood",
		text: "Correct the field marked above. Nothing is listed until then.",
		action: ui.linkButton({ label: "Show all", href: clearHref }),
	});
}

/** Returns links to other pages, or null if the list fits on one page. */
export function pager({ rows, isPartial, firstHref, nextHref }: Listed<unknown>): Html | null {
	const count = ui.count(rows.length);
	const shown = isPartial ? `${count} found so far. Open the next page to search further.` : `${count} shown`;
	return pageLinks({ shown, firstHref, nextHref });
}

/** Returns links to the first and the next page, with words about the rows of the current page. */
export function pageLinks(
	links: Pick<Listed<unknown>, "firstHref" | "nextHref"> & { shown: string },
): Html | null {
	const { shown, firstHref, nextHref } = links;
	if (firstHref === null && nextHref === null) return null;
	return html`<nav class="pager" aria-label="Pages"><span class="small faint">${shown}</span><span class="row">${
		firstHref === null ? null : html`<a class="button button-small" href="${firstHref}">First</a>`
	}${
		nextHref === null ? null : html`<a class="button button-small" href="${nextHref}" rel="next">Next</a>`
	}</span></nav>`;
}

/**
 * Shows the form with the filters of a list, or nothing if the list has no filters. The form uses GET, so that the
 * address contains the filters and can be shared and bookmarked.
 */
export function filterForm({ form, problems, isFiltered, clearHref }: Asked, label: string): Html | null {
	const { action, filters, typed, hidden, idPrefix, zone } = form;
	const placed = Object.entries(filters).map(([name, { place = "main", field }]) => ({
		place,
		isSet: typed[name] !== undefined,
		field: field({ name, id: `${idPrefix}${name}`, value: typed[name] ?? "", error: problems[name], zone }),
	}));
	if (placed.length === 0) return null;
	const at = (place: (typeof placed)[number]["place"]) => placed.filter((one) => one.place === place);
	const [search, main, more] = [at("search"), at("main"), at("more")];
	const fieldsOf = (some: typeof placed) => some.map(({ field }) => field);
	const hasFold = search.length > 0 && main.length + more.length > 0;
	return html`<form method="get" action="${action}" class="filter-bar" role="search" aria-label="${label}">${Object.entries(
		hidden,
	).map(([name, value]) =>
		value === undefined ? null : html`<input type="hidden" name="${name}" value="${value}">`,
	)}${search.length === 0 ? null : html`<div class="field-search">${fieldsOf(search)}</div>`}${
		// On narrow screens the other fields are folded below the search, because all fields together would fill the
		// screen.
		hasFold
			? html`<label class="filter-fold"><input type="checkbox"${ui.attrs({ checked: isFiltered })}> More filters</label>`
			: null
	}${fieldsOf(main)}${
		more.length === 0
			? null
			: html`<details class="more filter-more"${ui.attrs({ open: more.some(({ isSet }) => isSet) })}><summary>More</summary><div class="filter-rare">${fieldsOf(more)}</div></details>`
	}<div class="row"><button type="submit" class="button">Apply filters</button>${
		isFiltered ? html`<a class="button button-quiet" href="${clearHref}">Clear</a>` : null
	}</div></form>`;
}

function boxColumn<Row>({ name, box }: Selection<Row>): ui.Column<Row> {
	return {
		// The checkbox that selects all rows works only with scripts, and is hidden without them.
		title: html`<input type="checkbox" hidden data-select-all="${name}" aria-label="Select all on this page"><span class="visually-hidden">Select</span>`,
		cell: (row) => {
			const shown = box(row);
			if (shown === null) return null;
			const { id, value, label, isTicked } = shown;
			return html`<input type="checkbox"${ui.attrs({ id, name, value, "aria-label": label, checked: isTicked })}>`;
		},
	};
}

function selectionBar({ hint, all = null, bar }: NonNullable<Selection<unknown>["below"]>): Html {
	return html`<div class="selection-bar"><div class="selection"><p data-selection role="status">${hint}</p>${all}</div>${bar}</div>`;
}
