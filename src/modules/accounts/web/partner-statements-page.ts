// The statements of one partner, for its people and for staff, with the balances that are not in a statement yet.

import { sayMonth } from "#core/domain/zone-day.ts";
import { ask } from "#core/web/ask.ts";
import { readRows, showList } from "#core/web/list.ts";
import { answerPage, type PageDeps, partnerOf, viewerOf, type WebContext } from "#core/web/page.ts";
import { partnerStatementsPath, paymentDetailsPath, statementPath } from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import { html } from "#core/web/ui.ts";
import { findSealedDetails, type ListedStatement, listStatements } from "../store/statements.ts";
import { balanceStrip, statementTabs } from "./balance.ts";
import { issuedOn, stateCell } from "./statement-ui.ts";

export async function showPartnerStatements(c: WebContext, deps: PageDeps): Promise<Response> {
	const { id, public_id: publicId } = partnerOf(c);
	const isStaff = viewerOf(c).kind === "staff";
	const asked = ask(c, { path: partnerStatementsPath(publicId) });
	const page = await readRows(deps, asked, `statements of partner:${id}`, (at) =>
		listStatements(deps.store.reader, { partnerId: id }, at),
	);
	const list = showList<ListedStatement>({
		asked,
		page,
		noun: "statement",
		caption: "Statements, the newest first",
		columns: [
			{
				title: "Number",
				namesRow: true,
				cell: (statement) =>
					html`<a class="nowrap" href="${statementPath(publicId, statement.public_id)}">${statement.number}</a>`,
			},
			{ title: "Period", cell: ({ month }) => html`<span class="nowrap">${sayMonth(month)}</span>` },
			{ title: "Total", isNumber: true, cell: ({ total, currency }) => ui.amount(total, currency) },
			{ title: "State", cell: stateCell },
			{ title: "Issued", cell: issuedOn },
		],
		none: {
			title: "No statements yet",
			text: isStaff
				? "Statements are prepared for all partners under Statements in the top menu."
				: "The network issues a statement after the end of a month in which sales of yours were approved.",
		},
	});
	const hasDetails = (await findSealedDetails(deps.store.reader, [id])).length > 0;
	const title = "Statements";
	return answerPage(c, {
		title,
		active: "partner-statements",
		body: [
			ui.pageHeader({
				title,
				hint: `What ${isStaff ? "the partner" : "you"} earned up to the end of each month, and whether it was paid.`,
			}),
			statementTabs(publicId, "statements"),
			hasDetails
				? null
				: ui.message(
						"warn",
						isStaff
							? html`This partner has no <a href="${paymentDetailsPath(publicId)}">payment details</a>, so the payout file has none of its statements.`
							: html`We cannot pay you yet. <a href="${paymentDetailsPath(publicId)}">Enter your payment details</a>.`,
					),
			await balanceStrip(c, deps, id),
			html`<div class="card" id="list"><h2 class="visually-hidden">The list</h2>${list}</div>`,
		],
	});
}
