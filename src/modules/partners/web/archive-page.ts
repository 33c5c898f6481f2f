// The page that asks staff before a partner is archived, and the form that resumes it.

import type { Partner } from "#core/store/tables/partners.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	type PageDeps,
	partnerOf,
	tellRefusal,
	type WebContext,
} from "#core/web/page.ts";
import { archivePartnerPath, earningsPath, PARTNERS_PATH } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { archivePartner, resumePartner, whyNotSettled } from "../use-cases/archive.ts";

export async function askToArchive(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const { public_id: id, name, archived_at_ms: archivedAtMs } = partner;
	if (archivedAtMs !== null) return leadTo(c, earningsPath(id), `${name} is archived already.`, "info");
	const whyNot = await whyNotSettled(deps.store.db, partner, "archive");
	const title = `Archive ${name}?`;
	const cancel = ui.linkButton({ label: "Cancel", tone: "quiet", href: earningsPath(id) });
	return answerPage(c, {
		title,
		active: "earnings",
		body: html`${ui.pageHeader({ title, hint: "For a partner that has left, or that was only a sample." })}${ui.section(
			{
				id: "archive",
				title: "What happens",
				body: ui.padded(
					html`<ul class="points"><li>All its partnerships end. Links then lead to the shop without a click ID, and coupon codes credit nobody.</li><li>The partner disappears from the list of partners. You find it there under “Archived”.</li><li>What it earned, its statements and its people stay. They can still sign in and read them.</li><li>You can resume the partner at any time, and then its partnerships one by one.</li></ul>`,
					whyNot === null ? null : ui.message("warn", whyNot),
					whyNot === null
						? ui.postForm({
								action: archivePartnerPath(id),
								body: html`<div class="row">${ui.button({ label: "Archive", tone: "danger" })}${cancel}</div>`,
							})
						: html`<div class="row">${cancel}</div>`,
				),
			},
		)}`,
	});
}

export async function archive(c: WebContext, deps: PageDeps): Promise<Response> {
	const { id, name } = partnerOf(c);
	const archived = await archivePartner(deps, actorOf(c), id);
	if (!archived.ok) return tellRefusal(c, archived, () => askToArchive(c, deps));
	return leadTo(c, PARTNERS_PATH, `${name} is archived.`);
}

export async function resume(c: WebContext, deps: PageDeps): Promise<Response> {
	const { id, name, public_id } = partnerOf(c);
	const resumed = await resumePartner(deps, actorOf(c), id);
	return resumed.ok
		? leadTo(c, earningsPath(public_id), `${name} is in your list again. Its partnerships stay ended.`)
		: leadTo(c, earningsPath(public_id), resumed.fault.detail, "bad");
}

/** Returns the section of the partner's page with which staff archive or resume the partner. */
export function archiveSection({ public_id: id, archived_at_ms: archivedAtMs }: Partner): Html {
	const path = archivePartnerPath(id);
	return ui.section({
		id: "archive",
		title: archivedAtMs === null ? "Archive" : "Archived",
		hint:
			archivedAtMs === null
				? "An archived partner is not in your list. Its account stays."
				: html`Since ${ui.timeTag(archivedAtMs)} this partner is not in your list.`,
		body: ui.padded(
			archivedAtMs === null
				? ui.linkButton({ label: "Archive this partner", href: path })
				: ui.buttonForm({ action: `${path}/resume`, label: "Resume this partner" }),
		),
	});
}
