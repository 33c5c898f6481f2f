// The page "Find programmes" of a partner. It lists the programmes that their owners or staff have listed for all
// partners, and leads to the page on which the partner applies (apply-page.ts).

import { cursorOf, pager, pagesOf } from "#core/web/filter-query.ts";
import { answerPage, partnerOf, viewerOf, type WebContext, type WebDeps } from "#core/web/page.ts";
import { openProgrammesPath, partnerApplyPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Html, html } from "#core/web/ui.ts";
import { findAppliedTo, type OpenProgramme, pageOpenProgrammes } from "../store/applications.ts";
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
	const appliedTo = await findAppliedTo(db, partner.id, ids);
	// Staff add a partner to a programme themselves, on the partner's page.
	const hrefOf =
		viewerOf(c).kind === "staff"
			? null
			: (programme: OpenProgramme) => partnerApplyPath(partner.public_id, programme.public_id);
	return answerPage(c, {
		title: TITLE,
		active: "open-programmes",
		body: [
			ui.pageHeader({ title: TITLE, hint: "Shops that look for partners. Apply, and their owner answers." }),
			html`<div class="card"><h2 class="visually-hidden">The list</h2>${table(page.rows, appliedTo, hrefOf)}${pager(pagesOf(deps, list, page))}</div>`,
		],
	});
}

function table(
	rows: readonly OpenProgramme[],
	appliedTo: ReadonlySet<number>,
	/** Returns the address at which the partner applies. It is null if the viewer cannot apply. */
	hrefOf: ((programme: OpenProgramme) => string) | null,
): Html {
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
				cell: (programme) => {
					if (appliedTo.has(programme.id)) return ui.badge("info", "Applied");
					if (hrefOf === null) return null;
					const ariaLabel = `Apply for ${programme.name}`;
					return ui.linkButton({ label: "Apply", href: hrefOf(programme), isSmall: true, ariaLabel });
				},
			},
		],
	});
}
