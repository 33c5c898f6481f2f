// The page "Find programmes" of a partner. It lists the programmes that their owners or staff have listed for all
// partners, and leads to the page on which the partner applies (apply-page.ts).

import { ask } from "#core/web/ask.ts";
import { readRows, showList } from "#core/web/list.ts";
import { answerPage, partnerOf, viewerOf, type WebContext, type WebDeps } from "#core/web/page.ts";
import { openProgrammesPath, partnerApplyPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { html } from "#core/web/ui.ts";
import { findAppliedTo, type OpenProgramme, pageOpenProgrammes } from "../store/applications.ts";
import { offerOf } from "./join-page.ts";

const PAGE_ROWS = 25;
const TITLE = "Find programmes";

export async function showOpenProgrammes(c: WebContext, deps: WebDeps): Promise<Response> {
	const { db } = deps.store;
	const partner = partnerOf(c);
	const asked = ask(c, { path: openProgrammesPath(partner.public_id) });
	const page = await readRows(
		deps,
		asked,
		`programmes for partner:${partner.id}`,
		(at) => pageOpenProgrammes(db, partner.id, at),
		PAGE_ROWS,
	);
	const ids = page.rows.map(({ id }) => id);
	const appliedTo = await findAppliedTo(db, partner.id, ids);
	const isStaff = viewerOf(c).kind === "staff";
	const list = showList<OpenProgramme>({
		asked,
		page,
		noun: "programme",
		caption: "Programmes that take applications, the newest first",
		columns: [
			{ title: "Programme", namesRow: true, cell: ({ name }) => html`<span class="break">${name}</span>` },
			{ title: "Commission", cell: offerOf },
			{
				title: "Apply",
				isTitleHidden: true,
				isNumber: true,
				cell: ({ id, public_id: publicId, name }) => {
					if (appliedTo.has(id)) return ui.badge("info", "Applied");
					// Staff add a partner to a programme themselves, on the partner's page.
					if (isStaff) return null;
					const href = partnerApplyPath(partner.public_id, publicId);
					return ui.linkButton({ label: "Apply", href, isSmall: true, ariaLabel: `Apply for ${name}` });
				},
			},
		],
		none: {
			title: "No programme to apply for",
			text: "Programmes that look for partners are listed here, except those that you already belong to.",
		},
	});
	return answerPage(c, {
		title: TITLE,
		active: "open-programmes",
		body: [
			ui.pageHeader({ title: TITLE, hint: "Shops that look for partners. Apply, and their owner answers." }),
			html`<div class="card"><h2 class="visually-hidden">The list</h2>${list}</div>`,
		],
	});
}
