// /programmes: all of them for staff, with a search; an owner's own. Whoever has just one is taken there.

import { html } from "hono/html";
import { z } from "zod";
import { hasConversions, type ListedProgramme, listProgrammes } from "../../store/programme-list.ts";
import { emptyState, pageHeader } from "../components/blocks.ts";
import { linkButton, textField } from "../components/forms.ts";
import { filterBar, pager } from "../components/lists.ts";
import type { WebContext, WebDeps } from "../deps.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import {
	CREATE_PROGRAMME_PATH,
	integrationPath,
	overviewPath,
	PROGRAMMES_PATH,
	withQuery,
} from "../paths.ts";
import { viewerOf } from "../viewer.ts";
import { programmeTable } from "./programme-table.ts";

const PAGE_ROWS = 50;
const MAX_SEARCH_LENGTH = 100;

const QUERY = z.object({
	search: z.string().trim().max(MAX_SEARCH_LENGTH).catch("").default(""),
	/** The last programme of the page before; anything else begins at the beginning. */
	before: z.coerce.number().int().positive().optional().catch(undefined),
});

export async function showProgrammes(c: WebContext, { store }: WebDeps): Promise<Response> {
	const viewer = viewerOf(c);
	const { search, before } = QUERY.parse(c.req.query());
	const isStaff = viewer.role === "staff";
	const found = await listProgrammes(store.db, {
		ownerId: isStaff ? undefined : viewer.personId,
		search: search === "" ? undefined : search,
		beforeId: before,
		limit: PAGE_ROWS + 1,
	});
	const [only] = found;
	const isAlone = !isStaff && found.length === 1 && search === "" && before === undefined;
	if (isAlone && only !== undefined) {
		// Until something has come in, the next step is on the page that says how.
		const pathOf = (await hasConversions(store.db, only.id)) ? overviewPath : integrationPath;
		return c.redirect(pathOf(only.publicId), 303);
	}
	const body = renderProgrammes({ found, search, isStaff, isFirstPage: before === undefined });
	return answerPage(c, { title: "Programmes", active: "programmes", body });
}

interface ProgrammesView {
	/** One more than a page holds when there is another page. */
	found: readonly ListedProgramme[];
	search: string;
	isStaff: boolean;
	isFirstPage: boolean;
}

function renderProgrammes(view: ProgrammesView): Html {
	const { found, search, isStaff, isFirstPage } = view;
	const rows = found.slice(0, PAGE_ROWS);
	const create = linkButton({ label: "Create programme", href: CREATE_PROGRAMME_PATH, tone: "primary" });
	const header = isStaff
		? pageHeader({
				title: "Programmes",
				hint: "Every shop on this service, the newest first.",
				actions: create,
			})
		: pageHeader({ title: "Programmes", hint: "The programmes you manage." });
	const isSearchable = isStaff && !(rows.length === 0 && search === "" && isFirstPage);
	return html`${header}<div class="card">${isSearchable ? searchBar(search) : null}${programmeTable(
		rows,
		noProgrammes(view, create),
	)}${pager({
		newestHref: isFirstPage ? null : address(search),
		olderHref: found.length > PAGE_ROWS ? address(search, rows.at(-1)?.id) : null,
		shown: `${rows.length} shown`,
	})}</div>`;
}

function searchBar(search: string): Html {
	return filterBar({
		action: PROGRAMMES_PATH,
		label: "Find a programme",
		fields: html`<div class="field-search">${textField({
			name: "search",
			label: "Name or id",
			type: "search",
			value: search,
			maxLength: MAX_SEARCH_LENGTH,
		})}</div>`,
		...(search === "" ? {} : { clearHref: PROGRAMMES_PATH }),
	});
}

function noProgrammes({ search, isStaff, isFirstPage }: ProgrammesView, create: Html): Content {
	if (search !== "" || !isFirstPage) {
		return emptyState({
			isAlone: true,
			title: "No programme found",
			text: "Search for part of the name, or for the whole id (prg_…).",
			action: linkButton({ label: "Show all", href: PROGRAMMES_PATH }),
		});
	}
	if (isStaff) {
		return emptyState({
			isAlone: true,
			title: "No programme yet",
			text: "A programme is a shop's agreement with you: its currency, its rates, its approval window. Create one and invite its owner.",
			action: create,
		});
	}
	return emptyState({
		isAlone: true,
		title: "You have no programme",
		text: "Nobody has added you to one, or you were removed. Ask the network's staff to invite you.",
	});
}

function address(search: string, before?: number): string {
	return withQuery(PROGRAMMES_PATH, { search, before: before?.toString() });
}
