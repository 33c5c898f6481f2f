// Shows the page /programmes. Staff see all programmes with a search, and above them those with failing callbacks, the
// worst first. People of a shop see their own programmes. A person with a single programme is redirected to it.

import { type ListedProgramme, listProgrammes, WAITING_COUNTED } from "../../store/queries/programme-list.ts";
import { ask } from "../ask.ts";
import { deliveriesPath } from "../conversion-ui.ts";
import type { Viewer } from "../document.ts";
import { type FailingWords, failingSection, numberLink } from "../failing-section.ts";
import { search } from "../filters.ts";
import { readRows, showList } from "../list.ts";
import { sampleForm } from "../network/network-page.ts";
import { answerPage, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import * as paths from "../paths.ts";
import { PROGRAMMES_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";

const FILTERS = { search: { ...search("Name or ID"), place: "search" } } as const;

const CREATE = html`${ui.linkButton({ label: "Import", href: paths.IMPORT_PATH })}${ui.linkButton({ label: "API keys", href: paths.MANY_KEYS_PATH })}${ui.linkButton({ label: "Create programme", href: paths.CREATE_PROGRAMME_PATH, tone: "primary" })}`;

const ARCHIVED_LINK = html`<p class="small"><a href="${paths.withQuery(PROGRAMMES_PATH, { archived: "yes" })}">Archived programmes</a></p>`;

export async function showProgrammes(c: WebContext, deps: WebDeps): Promise<Response> {
	const viewer = viewerOf(c);
	const isStaff = viewer.kind === "staff";
	const isArchived = isStaff && c.req.query("archived") === "yes";
	const asked = ask(c, {
		path: PROGRAMMES_PATH,
		filters: FILTERS,
		without: isStaff && !isArchived ? [] : ["search"],
		fixed: isArchived ? { archived: "yes" } : {},
	});
	const filter = { personId: isStaff ? undefined : viewer.personId, isArchived, ...asked.query };
	const page = await readRows(deps, asked, "programmes", (at) =>
		listProgrammes(deps.store.db, { ...filter, ...at }),
	);

	const isStart = !isArchived && !asked.isFiltered && page.firstHref === null;
	const landing = isStart ? findLanding(viewer, page.rows) : null;
	if (landing !== null) return c.redirect(landing, 303);

	const title = isArchived ? "Archived programmes" : "Programmes";
	const list = showList<ListedProgramme>({
		asked,
		page,
		noun: "programme",
		caption: title,
		columns: COLUMNS,
		isNew: isStart && page.rows.length === 0,
		none: isArchived ? NONE_ARCHIVED : isStaff ? noProgrammes(sampleForm(c)) : NOT_INVITED,
		noMatch: NOT_FOUND,
	});
	return answerPage(c, {
		title,
		active: "programmes",
		status: asked.status,
		body: [
			ui.pageHeader({ title, ...headerFor(isStaff, isArchived) }),
			isStaff && isStart ? await failingSection(deps, SHOPS) : null,
			html`<div class="card">${list}</div>`,
			isStaff && !isArchived ? ARCHIVED_LINK : null,
		],
	});
}

/**
 * Returns the page for a person who has nothing to choose from, which is that of their only programme or of a partner.
 * Returns null for everybody else.
 */
function findLanding({ kind, partners }: Viewer, rows: readonly ListedProgramme[]): string | null {
	const [only, ...others] = rows;
	if (kind !== "staff" && only !== undefined && others.length === 0) return paths.overviewPath(only.publicId);
	const [partner] = partners;
	return only === undefined && partner !== undefined ? paths.earningsPath(partner.public_id) : null;
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

const NONE_ARCHIVED: ui.EmptyState = {
	isAlone: true,
	title: "No archived programme",
	text: "A programme that has ended can be archived on its Settings page.",
};

const NOT_FOUND: ui.EmptyState = {
	isAlone: true,
	title: "No programme found",
	text: "Search for part of the name, or for the whole ID (prg_…).",
	action: ui.linkButton({ label: "Show all", href: PROGRAMMES_PATH }),
};

const NOT_INVITED: ui.EmptyState = {
	isAlone: true,
	title: "You have no programme",
	text: "You were not added to a programme yet, or you were removed. Ask the network's staff to invite you.",
};

/** Returns the message for a network without programmes. `sample` is the button for a sample programme. */
function noProgrammes(sample: Html | null): ui.EmptyState {
	return {
		isAlone: true,
		title: "No programme yet",
		text: "A programme is a shop's agreement with you: its currency, its rates, its approval window. Create one and invite its owner, or import them from the software you used until now.",
		action: html`<div class="row">${CREATE}${sample}</div>`,
	};
}

const COLUMNS: readonly ui.Column<ListedProgramme>[] = [
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
];

function callbackState({ hasUrl, failingSinceMs }: ListedProgramme): Html {
	if (hasUrl && failingSinceMs !== null)
		return html`${ui.badge("bad", "Failing")}<span class="secondary">since ${ui.timeTag(failingSinceMs)}</span>`;
	return hasUrl ? ui.badge("good", "URL set") : ui.badge("plain", "No URL");
}
