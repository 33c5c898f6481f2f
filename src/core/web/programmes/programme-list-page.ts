// The page /programmes. Staff see all programmes with a search, and above them those with failing callbacks,
// the worst first. People of a shop see their own programmes. A person with a single programme is redirected
// to it.

import { type ListedProgramme, listProgrammes, WAITING_COUNTED } from "../../store/queries/programme-list.ts";
import { deliveriesPath } from "../conversion-ui.ts";
import { type FailingWords, failingSection, numberLink } from "../failing-section.ts";
import { cursorOf, MAX_SEARCH_LENGTH, pager, pagesOf, searchBar } from "../filter-query.ts";
import { sampleForm } from "../network/network-page.ts";
import { answerPage, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import * as paths from "../paths.ts";
import { PROGRAMMES_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const PAGE_ROWS = 50;

const CREATE = html`${ui.linkButton({ label: "Import", href: paths.IMPORT_PATH })}${ui.linkButton({ label: "API keys", href: paths.MANY_KEYS_PATH })}${ui.linkButton({ label: "Create programme", href: paths.CREATE_PROGRAMME_PATH, tone: "primary" })}`;

const ARCHIVED_LINK = html`<p class="small"><a href="${paths.withQuery(PROGRAMMES_PATH, { archived: "yes" })}">Archived programmes</a></p>`;

export async function showProgrammes(c: WebContext, deps: WebDeps): Promise<Response> {
	const { db } = deps.store;
	const viewer = viewerOf(c);
	const search = (c.req.query("search") ?? "").trim().slice(0, MAX_SEARCH_LENGTH);
	const isStaff = viewer.kind === "staff";
	const isArchived = isStaff && c.req.query("archived") === "yes";
	const query = {
		search: search || undefined,
		archived: isArchived ? "yes" : undefined,
		before: c.req.query("before"),
	};
	const list = { name: "programmes", path: PROGRAMMES_PATH, query, cursorName: "before" };
	const after = cursorOf(deps, list);
	const page = await listProgrammes(db, {
		personId: isStaff ? undefined : viewer.personId,
		search: query.search,
		isArchived,
		after,
		limit: PAGE_ROWS,
	});
	const { rows } = page;
	const isWhole = search === "" && after === undefined && !isArchived;
	const [only] = rows;
	if (!isStaff && isWhole && only !== undefined && rows.length === 1)
		return c.redirect(paths.overviewPath(only.publicId), 303);
	const [partner] = viewer.partners;
	if (isWhole && only === undefined && partner !== undefined)
		return c.redirect(paths.earningsPath(partner.public_id), 303);
	const title = isArchived ? "Archived programmes" : "Programmes";
	const emptyState = (): Html => {
		if (isArchived) return NONE_ARCHIVED;
		return isWhole ? noProgrammes(isStaff ? sampleForm(c) : undefined) : NOT_FOUND;
	};
	return answerPage(c, {
		title,
		active: "programmes",
		body: html`${ui.pageHeader({ title, ...headerFor(isStaff, isArchived) })}${
			isStaff && isWhole ? await failingSection(deps, SHOPS) : null
		}<div class="card">${isStaff && !isArchived && !(isWhole && rows.length === 0) ? searchBar({ action: PROGRAMMES_PATH, label: "Find a programme", name: "search", value: search }) : null}${programmeTable(
			rows,
			emptyState(),
		)}${pager(pagesOf(deps, list, page))}</div>${isStaff && !isArchived ? ARCHIVED_LINK : null}`,
	});
}

function headerFor(isStaff: boolean, isArchived: boolean): { hint: string; actions?: Html } {
	if (!isStaff) return { hint: "The programmes you manage." };
	if (!isArchived) return { hint: "Every shop on this service, the newest first.", actions: CREATE };
	return {
		hint: "They take no new sales. Resume one on its Settings page.",
		actions: ui.linkButton({ label: "Back to Programmes", href: PROGRAMMES_PATH }),
	};
}

function programmeLink({ publicId, name }: { publicId: string; name: string }): Html {
	return html`<a class="break" href="${paths.overviewPath(publicId)}">${name}</a>`;
}

const SHOPS: FailingWords = {
	kind: "shop",
	owner: "Programme",
	path: paths.overviewPath,
	listPath: deliveriesPath,
};

const NONE_ARCHIVED = ui.emptyState({
	isAlone: true,
	title: "No archived programme",
	text: "A programme that has ended can be archived on its Settings page.",
});

const NOT_FOUND = ui.emptyState({
	isAlone: true,
	title: "No programme found",
	text: "Search for part of the name, or for the whole ID (prg_…).",
	action: ui.linkButton({ label: "Show all", href: PROGRAMMES_PATH }),
});

/**
 * Shows that there are no programmes. `sample` is the button for a sample programme. It is undefined if the
 * viewer is not staff.
 */
function noProgrammes(sample: Html | null | undefined): Html {
	if (sample === undefined) {
		return ui.emptyState({
			isAlone: true,
			title: "You have no programme",
			text: "You were not added to a programme yet, or you were removed. Ask the network's staff to invite you.",
		});
	}
	return ui.emptyState({
		isAlone: true,
		title: "No programme yet",
		text: "A programme is a shop's agreement with you: its currency, its rates, its approval window. Create one and invite its owner, or import them from the software you used until now.",
		action: html`<div class="row">${CREATE}${sample}</div>`,
	});
}

function programmeTable(rows: readonly ListedProgramme[], empty: Content): Html {
	return ui.dataTable<ListedProgramme>({
		caption: "Programmes",
		rows,
		stacks: true,
		empty,
		columns: [
			{
				title: "Programme",
				namesRow: true,
				cell: (row) =>
					html`${programmeLink(row)}${row.archivedAtMs === null ? null : html` ${ui.badge("plain", "Archived")}`}`,
			},
			{ title: "Currency", cell: ({ currency }) => currency },
			{ title: "Callbacks", cell: callbackState },
			{
				title: "Waiting for approval",
				isNumber: true,
				cell: ({ publicId, waiting }) =>
					numberLink(
						waiting,
						ui.countUpTo(waiting, WAITING_COUNTED),
						paths.withQuery(paths.conversionsPath(publicId), { status: "RECORDED" }),
					),
			},
		],
	});
}

function callbackState({ hasUrl, failingSinceMs }: ListedProgramme): Html {
	if (hasUrl && failingSinceMs !== null)
		return html`${ui.badge("bad", "Failing")}<span class="secondary">since ${ui.timeTag(failingSinceMs)}</span>`;
	return hasUrl ? ui.badge("good", "URL set") : ui.badge("plain", "No URL");
}
