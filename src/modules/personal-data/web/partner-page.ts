// The page on which staff download the data of a partner and erase the partner.

import type { Partner } from "#core/store/tables/partners.ts";
import { actorOf, answerPage, leadTo, type PageDeps, partnerOf, type WebContext } from "#core/web/page.ts";
import { PERSONAL_DATA_PATH, partnerDataPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { findErasure } from "../store/erasures.ts";
import { erasePartner, type PartnerPreview, previewPartner } from "../use-cases/erase-partner.ts";
import { exportPartner } from "../use-cases/export-partner.ts";
import {
	ERASE_FORM,
	erasedNote,
	eraseWithProof,
	exportSection,
	proofFields,
	refuseErasure,
	sendExport,
} from "./person-page.ts";

export async function showPartnerData(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const { db } = deps.store;
	const { public_id: id, name, erased_at_ms: erasedAtMs } = partner;
	const title = erasedAtMs === null ? `Data of ${name}` : "Erased partner";
	const erasure = await findErasure(db, id);
	return answerPage(c, {
		title,
		active: "earnings",
		body: [
			ui.pageHeader({ title, hint: html`<span class="mono break">${id}</span>` }),
			erasure === undefined ? null : erasedNote(erasure),
			exportSection(`${partnerDataPath(id)}/export`, "partner"),
			erasedAtMs === null ? eraseSection(c, deps, partner, await previewPartner(db, partner)) : null,
		],
	});
}

function eraseSection(
	c: WebContext,
	deps: PageDeps,
	{ public_id: id }: Partner,
	preview: PartnerPreview,
): Html {
	return ui.section({
		id: "erase",
		title: "Erase",
		hint: "This cannot be undone. To let a partner leave and come back, archive it instead.",
		body: ui.padded(
			preview.judged.ok
				? ERASE_FORM.show(c, {
						action: `${partnerDataPath(id)}/erase`,
						shown: proofFields(c),
						rows: ({ fields }) =>
							html`${consequences(preview, deps.statementYears)}<div class="form-grid">${fields()}</div>`,
						send: html`<div>${ui.button({ label: "Erase this partner", tone: "danger" })}</div>`,
					})
				: ui.message("warn", preview.judged.fault.detail),
		),
	});
}

function consequences({ erasedPeople, keptPeople }: PartnerPreview, years: number): Html {
	const points: readonly Content[] = [
		html`<li>All partnerships end, with their clicks. The addresses of links stop working, and coupon codes credit nobody.</li>`,
		html`<li>API tokens and callbacks end.</li>`,
		html`<li>Name, site, payment details, links, sub IDs and texts are removed.</li>`,
		erasedPeople.map(
			({ email }) =>
				html`<li><span class="break">${email}</span> signs in for nothing else, and is erased, too.</li>`,
		),
		keptPeople.map(
			({ email }) =>
				html`<li><span class="break">${email}</span> no longer signs in for the partner, and keeps the account.</li>`,
		),
		html`<li>Amounts, IDs and dates stay. Issued statements keep the names and addresses of both parties for ${ui.countOf(years, "year")} after the year of their issue, because the law asks for it.</li>`,
	];
	return html`<ul class="points">${points}</ul>`;
}

export async function downloadPartnerData(c: WebContext, deps: PageDeps): Promise<Response> {
	return sendExport(c, deps, await exportPartner(deps, actorOf(c), partnerOf(c).public_id));
}

export async function erasePartnerData(c: WebContext, deps: PageDeps): Promise<Response> {
	const { public_id: id } = partnerOf(c);
	const erased = await eraseWithProof(c, deps, (actor) => erasePartner(deps, actor, id));
	if (!erased.ok) return refuseErasure(c, erased, () => showPartnerData(c, deps));
	return leadTo(c, PERSONAL_DATA_PATH, `The partner ${id} is erased. Lists and logs follow within a minute.`);
}
