// /programmes: all of them for staff, with a search, and those whose callbacks are failing, the worst first; an owner's
// own. Whoever has just one is taken there.

import { z } from "zod";
import { explainFailure } from "../../callbacks/failure-cause.ts";
import { type FailingShop, type FailingShops, listFailingShops } from "../../store/queries/failing-shops.ts";
import {
	hasConversions,
	type ListedProgramme,
	listProgrammes,
	WAITING_COUNTED,
} from "../../store/queries/programme-list.ts";
import { countUndelivered, deliveriesPath } from "../conversion-ui.ts";
import { cursorOf, type Pages, pager, pagesOf, readFilters } from "../filter-query.ts";
import { sampleForm } from "../network/sample-programme.ts";
import { answerPage, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import {
	CREATE_PROGRAMME_PATH,
	conversionsPath,
	IMPORT_PATH,
	integrationPath,
	overviewPath,
	PROGRAMMES_PATH,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const PAGE_ROWS = 50;
/** Shown above the list. */
const MOST_FAILING = 10;
const NONE_FAILING: FailingShops = { shops: [], more: 0 };
const MAX_SEARCH_LENGTH = 100;

const QUERY = z.object({
	search: z.string().trim().max(MAX_SEARCH_LENGTH).catch("").default(""),
	/** Where the page before ended; anything else begins at the beginning. */
	before: z.string().optional(),
});

export async function showProgrammes(c: WebContext, deps: WebDeps): Promise<Response> {
	const { store, clock } = deps;
	const viewer = viewerOf(c);
	const { search, before } = readFilters(QUERY, new URL(c.req.url).search).query;
	const isStaff = viewer.kind === "staff";
	const query = { search: search === "" ? undefined : search, before };
	const list = { name: "programmes", path: PROGRAMMES_PATH, query, cursorName: "before" };
	const after = cursorOf(deps, list);
	const page = await listProgrammes(store.db, {
		personId: isStaff ? undefined : viewer.personId,
		search: query.search,
		after,
		limit: PAGE_ROWS,
	});
	const [only] = page.rows;
	const isFirstPage = after === undefined;
	const isAlone = !isStaff && page.rows.length === 1 && search === "" && isFirstPage;
	if (isAlone && only !== undefined) {
		// Until something has come in, the next step is on the page that says how.
		const pathOf = (await hasConversions(store.db, only.id)) ? overviewPath : integrationPath;
		return c.redirect(pathOf(only.publicId), 303);
	}
	const body = renderProgrammes({
		failing:
			isStaff && isFirstPage && search === ""
				? await listFailingShops(store.db, MOST_FAILING, clock.nowMs())
				: NONE_FAILING,
		rows: page.rows,
		pages: pagesOf(deps, list, page),
		search,
		isStaff,
		isFirstPage,
		sample: sampleForm(c),
	});
	return answerPage(c, { title: "Programmes", active: "programmes", body });
}

interface ProgrammesView {
	failing: FailingShops;
	rows: readonly ListedProgramme[];
	pages: Pages;
	search: string;
	isStaff: boolean;
	isFirstPage: boolean;
	/** Offered where there is no programme yet. */
	sample: Html | null;
}

function renderProgrammes(view: ProgrammesView): Html {
	const { rows, search, isStaff, isFirstPage } = view;
	const create = html`${ui.linkButton({ label: "Import", href: IMPORT_PATH })}${ui.linkButton({ label: "Create programme", href: CREATE_PROGRAMME_PATH, tone: "primary" })}`;
	const header = isStaff
		? ui.pageHeader({
				title: "Programmes",
				hint: "Every shop on this service, the newest first.",
				actions: create,
			})
		: ui.pageHeader({ title: "Programmes", hint: "The programmes you manage." });
	const isSearchable = isStaff && !(rows.length === 0 && search === "" && isFirstPage);
	return html`${header}${failingSection(view.failing)}<div class="card">${isSearchable ? searchBar(search) : null}${programmeTable(
		rows,
		noProgrammes(view, create),
	)}${pager(view.pages)}</div>`;
}

function failingSection({ shops, more }: FailingShops): Html | null {
	if (shops.length === 0) return null;
	return ui.section({
		id: "failing",
		title: "Failing callbacks",
		hint: `The shops with the most undelivered callbacks first.${more === 0 ? "" : ` ${ui.countOf(more, "shop")} more ${more === 1 ? "is" : "are"} not shown here.`}`,
		body: ui.dataTable<FailingShop>({
			caption: "Shops whose callbacks are failing",
			rows: shops,
			stacks: true,
			empty: null,
			columns: [
				{
					title: "Programme",
					namesRow: true,
					cell: ({ publicId, name }) => html`<a href="${overviewPath(publicId)}">${name}</a>`,
				},
				{ title: "Since", cell: ({ sinceMs }) => ui.timeTag(sinceMs) },
				{
					title: "Last failed attempt",
					cell: (shop) =>
						html`${shop.last_failed_at_ms === null ? null : ui.timeTag(shop.last_failed_at_ms)}<span class="secondary">${explainFailure(shop).cause}</span>`,
				},
				{
					title: "Waiting",
					isNumber: true,
					cell: ({ publicId, waiting }) => undelivered(publicId, "pending", waiting),
				},
				{
					title: "Failed permanently",
					isNumber: true,
					cell: ({ publicId, failed }) => undelivered(publicId, "failed", failed),
				},
			],
		}),
	});
}

function undelivered(programmeId: string, state: "pending" | "failed", number: number): Html {
	if (number === 0) return html`<span class="faint">0</span>`;
	return html`<a href="${deliveriesPath(programmeId, state)}">${countUndelivered(number)}</a>`;
}

function searchBar(search: string): Html {
	return ui.filterBar({
		action: PROGRAMMES_PATH,
		label: "Find a programme",
		fields: html`<div class="field-search">${ui.textField({
			name: "search",
			label: "Name or id",
			type: "search",
			value: search,
			maxLength: MAX_SEARCH_LENGTH,
		})}</div>`,
		...(search === "" ? {} : { clearHref: PROGRAMMES_PATH }),
	});
}

function noProgrammes({ search, isStaff, isFirstPage, sample }: ProgrammesView, create: Html): Content {
	if (search !== "" || !isFirstPage) {
		return ui.emptyState({
			isAlone: true,
			title: "No programme found",
			text: "Search for part of the name, or for the whole id (prg_…).",
			action: ui.linkButton({ label: "Show all", href: PROGRAMMES_PATH }),
		});
	}
	if (isStaff) {
		return ui.emptyState({
			isAlone: true,
			title: "No programme yet",
			text: "A programme is a shop's agreement with you: its currency, its rates, its approval window. Create one and invite its owner, or import them from the software you used until now.",
			action: html`<div class="row">${create}${sample}</div>`,
		});
	}
	return ui.emptyState({
		isAlone: true,
		title: "You have no programme",
		text: "Nobody has added you to one, or you were removed. Ask the network's staff to invite you.",
	});
}

function programmeTable(rows: readonly ListedProgramme[], empty: Content): Html {
	return ui.dataTable({
		caption: "Programmes",
		rows,
		stacks: true,
		empty,
		columns: [
			{
				title: "Programme",
				namesRow: true,
				cell: ({ publicId, name }) => html`<a href="${overviewPath(publicId)}">${name}</a>`,
			},
			{ title: "Currency", cell: ({ currency }) => currency },
			{ title: "Callbacks", cell: callbackState },
			{
				title: "Waiting for approval",
				isNumber: true,
				cell: ({ publicId, waiting }) =>
					waiting === 0
						? html`<span class="faint">0</span>`
						: html`<a href="${conversionsPath(publicId)}?status=RECORDED&amp;test=no">${sayWaiting(waiting)}</a>`,
			},
		],
	});
}

function callbackState({ hasUrl, failingSinceMs }: ListedProgramme): Html {
	if (hasUrl && failingSinceMs !== null)
		return html`${ui.badge("bad", "Failing")}<span class="secondary">since ${ui.timeTag(failingSinceMs)}</span>`;
	return hasUrl ? ui.badge("good", "URL set") : ui.badge("plain", "No URL");
}

function sayWaiting(waiting: number): string {
	return waiting >= WAITING_COUNTED ? `${ui.count(WAITING_COUNTED)}+` : ui.count(waiting);
}
