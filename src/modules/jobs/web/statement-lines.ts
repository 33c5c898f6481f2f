// Shows the lines of a job that issues statements, with the content of each statement, in pages of fifty
// lines.

import { findPartnersByPublicId } from "#core/store/queries/partners.ts";
import type { Db } from "#core/store/store.ts";
import { pageLinks } from "#core/web/list.ts";
import { partnerStatementsPath, withQuery } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import { findPartnersWithDetails } from "#modules/accounts/store/statements.ts";
import { noDetailsMark } from "#modules/accounts/web/statement-ui.ts";
import type { Job } from "../store/jobs.ts";
import { cellOf } from "../use-cases/kind.ts";
import { type JudgedRow, readJudgedLines } from "../use-cases/lines.ts";

const PAGE_ROWS = 50;

/** Shows one page of the lines. `page` counts from 1. */
export async function statementLines(db: Db, job: Job, href: string, page: number): Promise<Html | null> {
	if (job.lines !== "kept") return null;
	const first = (page - 1) * PAGE_ROWS;
	const rows = await readJudgedLines(db, job, first + 1, PAGE_ROWS);
	const last = first + rows.length;
	const partners = await findPartnersByPublicId(db, [
		...new Set(rows.map(({ cells }) => cellOf(cells, "partnerId"))),
	]);
	const having = await findPartnersWithDetails(
		db,
		partners.map(({ id }) => id),
	);
	const lacking = new Set(partners.flatMap(({ id, public_id }) => (having.has(id) ? [] : [public_id])));
	const pages = pageLinks({
		firstHref: page === 1 ? null : `${href}#lines`,
		nextHref:
			last < job.row_count && rows.length > 0 ? `${withQuery(href, { page: String(page + 1) })}#lines` : null,
		shown:
			rows.length === 0 ? "" : `${ui.count(first + 1)} to ${ui.count(last)} of ${ui.count(job.row_count)}`,
	});
	return ui.section({
		id: "lines",
		title: "Each statement",
		hint: "Opening is the total that the last statement carried forward. Changed is what became of sales after their approval.",
		body: [
			ui.dataTable<JudgedRow>({
				caption: "Statements, one per row",
				rows,
				stacks: true,
				empty: ui.emptyState({ title: "No lines here", text: "Open the first page." }),
				columns: [
					{
						title: "Partner",
						namesRow: true,
						cell: ({ cells }) =>
							html`<a class="break" href="${partnerStatementsPath(cellOf(cells, "partnerId"))}">${cellOf(cells, "partner")}</a>`,
					},
					moneyColumn("Opening", "opening"),
					moneyColumn("Earned", "earned"),
					moneyColumn("Changed", "changed"),
					moneyColumn("Adjusted", "adjusted"),
					moneyColumn("Total", "total"),
					{ title: "Outcome", cell: (row) => outcomeOf(row, lacking) },
				],
			}),
			pages,
		],
	});
}

function moneyColumn(title: string, cell: string): ui.Column<JudgedRow> {
	return {
		title,
		isNumber: true,
		cell: ({ cells }) => ui.amount(cellOf(cells, cell), cellOf(cells, "currency")),
	};
}

/**
 * Shows whether the total is paid or carried forward, and the number of the statement once it was issued. `lacking` are
 * the partners without payment details.
 */
function outcomeOf({ cells, verdict }: JudgedRow, lacking: ReadonlySet<string>): Content {
	const isCarried = cellOf(cells, "outcome") === "carry_forward";
	const partnerId = cellOf(cells, "partnerId");
	const mark = lacking.has(partnerId) ? noDetailsMark(partnerId) : null;
	const outcome = isCarried
		? ui.badge("plain", "Carried forward")
		: html`${ui.badge("info", "To pay")}${mark}`;
	if (verdict.detail === null) return outcome;
	if (verdict.kind === "change") return html`${outcome}<span class="secondary">${verdict.detail}</span>`;
	return html`${ui.badge("warn", "Left out")}<span class="secondary break">${verdict.detail}</span>`;
}
