// Asks staff for confirmation before a programme is archived, and handles the forms that archive and resume it.

import { archiveProgramme, resumeProgramme, sayOpen } from "../../programmes/archive.ts";
import { hasOpenConversion } from "../../store/queries/programme-list.ts";
import { findProgramme, type Programme } from "../../store/queries/programmes.ts";
import { answerError } from "../error-page.ts";
import { actorOf, answerPage, leadTo, tellRefusal, type WebContext, type WebDeps } from "../page.ts";
import { archiveProgrammePath, PROGRAMMES_PATH, settingsPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

export async function askToArchive(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = await loadProgramme(c, deps);
	if (programme === undefined) return answerError(c, "not_found");
	const { public_id: id, name, archived_at_ms: archivedAtMs } = programme;
	if (archivedAtMs !== null) return leadTo(c, settingsPath(id), `${name} is archived already.`, "info");
	const isOpen = await hasOpenConversion(deps.store.db, programme.id);
	const title = `Archive ${name}?`;
	const cancel = ui.linkButton({ label: "Cancel", tone: "quiet", href: settingsPath(id) });
	return answerPage(c, {
		title,
		active: "settings",
		body: html`${ui.pageHeader({ title, hint: "For a programme that has ended, or that was only a trial." })}${ui.section(
			{
				id: "archive",
				title: "What happens",
				body: ui.padded(
					html`<ul class="points"><li>New sales and pixel calls are refused with <code>programme_archived</code>, and nobody can listen to events.</li><li>Partners' links lead to the shop without a click ID, and nobody can apply.</li><li>The programme disappears from the list of programmes. You find it there under “Archived”.</li><li>Conversions, callbacks, keys and people stay. Earlier sales can still be reversed, and their callbacks are sent.</li><li>Its owners get a mail. You can resume it at any time.</li></ul>`,
					isOpen ? ui.message("warn", sayOpen(programme)) : null,
					isOpen
						? html`<div class="row">${cancel}</div>`
						: ui.postForm({
								action: archiveProgrammePath(id),
								body: html`<div class="row">${ui.button({ label: "Archive", tone: "danger" })}${cancel}</div>`,
							}),
				),
			},
		)}`,
	});
}

/** Finds the programme in the address, and shows the page among those of the programme. */
async function loadProgramme(c: WebContext, { store }: WebDeps): Promise<Programme | undefined> {
	const programme = await findProgramme(store.db, c.req.param("programmeId") ?? "");
	if (programme !== undefined) {
		c.set("programme", programme);
		c.set("standing", "staff");
	}
	return programme;
}

export async function archive(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = await loadProgramme(c, deps);
	if (programme === undefined) return answerError(c, "not_found");
	const archived = await archiveProgramme(deps, actorOf(c), programme.public_id);
	if (!archived.ok) return tellRefusal(c, archived, () => askToArchive(c, deps));
	return leadTo(c, PROGRAMMES_PATH, `${programme.name} is archived.`);
}

export async function resume(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = await loadProgramme(c, deps);
	if (programme === undefined) return answerError(c, "not_found");
	const { public_id: id, name } = programme;
	const resumed = await resumeProgramme(deps, actorOf(c), id);
	return resumed.ok
		? leadTo(c, settingsPath(id), `${name} takes sales again.`)
		: leadTo(c, settingsPath(id), resumed.fault.detail, "bad");
}

/** Returns the section of the settings page with which staff archive or resume the programme. */
export function archiveSection({ public_id: id, archived_at_ms: archivedAtMs }: Programme): Html {
	const path = archiveProgrammePath(id);
	return ui.section({
		id: "archive",
		title: archivedAtMs === null ? "Archive" : "Archived",
		hint:
			archivedAtMs === null
				? "An archived programme takes no new sales and is not in your lists. Nothing in it is lost."
				: html`Since ${ui.timeTag(archivedAtMs)} this programme takes no new sales and is not in your lists.`,
		body: ui.padded(
			archivedAtMs === null
				? ui.linkButton({ label: "Archive this programme", href: path })
				: ui.buttonForm({ action: `${path}/resume`, label: "Resume this programme" }),
		),
	});
}

/** Returns the message for pages of an archived programme. Returns null if the programme is not archived. */
export function archivedMessage({ archived_at_ms: archivedAtMs }: Programme): Content {
	if (archivedAtMs === null) return null;
	return ui.message(
		"info",
		html`This programme was archived on ${ui.timeTag(archivedAtMs)}. It takes no new sales.`,
	);
}
