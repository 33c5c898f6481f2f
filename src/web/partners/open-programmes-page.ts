// The page "Find programmes" of a partner. It lists the programmes that their owners or staff have listed for all
// partners, and leads to the page on which the partner applies.

import { findAppliedTo, type OpenProgramme, pageOpenProgrammes } from "../../store/queries/partners.ts";
import { cursorOf, pager, pagesOf } from "../filter-query.ts";
import { answerPage, partnerOf, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { joinPath, openProgrammesPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { offerOf } from "./join-page.ts";

const PAGE_ROWS = 25;
const TITLE = "Find programmes";

const NONE = ui.emptyState({
	title: "No programme to apply for",
	text: "Programmes that look for partners are listed here, except those that you already belong to.",
});

export async function showOpenProgrammes(c: WebContext, deps: WebDeps): Promise<Response> {
	const { db } = deps.store;
	const partner = partnerOf(c);
	const path = openProgrammesPath(partner.public_id);
	const query = { before: c.req.query("before") };
	const list = { name: `programmes for partner:${partner.id}`, path, query, cursorName: "before" };
	const page = await pageOpenProgrammes(db, partner.id, { after: cursorOf(deps, list), limit: PAGE_ROWS });
	const ids = page.rows.map(({ id }) => id);
	const appliedTo = await findAppliedTo(db, viewerOf(c).email, ids);
	return answerPage(c, {
		title: TITLE,
		active: "open-programmes",
		body: [
			ui.pageHeader({ title: TITLE, hint: "Shops that look for partners. Apply, and their owner answers." }),
			html`<div class="card"><h2 class="visually-hidden">The list</h2>${table(page.rows, appliedTo)}${pager(pagesOf(deps, list, page))}</div>`,
		],
	});
}

function table(rows: readonly OpenProgramme[], appliedTo: ReadonlySet<number>): Html {
	return ui.dataTable<OpenProgramme>({
		caption: "Programmes that take applications, the newest first",
		rows,
		empty: NONE,
		stacks: true,
		columns: [
			{ title: "Programme", namesRow: true, cell: ({ name }) => html`<span class="break">${name}</span>` },
			{ title: "Commission", cell: offerOf },
			{
				title: "Apply",
				isTitleHidden: true,
				isNumber: true,
				cell: (programme) =>
					appliedTo.has(programme.id)
						? ui.badge("info", "You have applied")
						: ui.linkButton({
								label: "Apply",
								href: joinPath(programme.public_id),
								isSmall: true,
								ariaLabel: `Apply for ${programme.name}`,
							}),
			},
		],
	});
}
