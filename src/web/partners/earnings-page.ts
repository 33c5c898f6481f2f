// A partner's start: what it earned in each programme, with the status that the sales have now.

import { listPartnerships, type NamedPartnership, type Partner } from "../../store/queries/partners.ts";
import { answerPage, type PageDeps, partnerOf, type WebContext } from "../page.ts";
import { earningsPath, partnerConversionsPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { earnedSection, partnershipTable } from "./earned-section.ts";

export async function showEarnings(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const { public_id: id } = partner;
	const rows = await listPartnerships(deps.store.db, "partner_id", [partner.id]);
	return answerPage(c, {
		title: "Earnings",
		active: "earnings",
		body: [
			ui.pageHeader({ title: "Earnings", hint: "Your commission. Recorded sales wait for approval." }),
			endedMessage(partner),
			await earnedSection(c, deps, {
				id: "programmes",
				title: "Programmes",
				path: earningsPath(id),
				show: (asked) =>
					partnershipTable(deps, rows, asked, {
						title: "Programme",
						empty: "The network's staff add you to programmes. Then you can make links to their shops.",
						hrefOf: ({ programme_public_id: programme }) => {
							const { from, to, zone } = asked.query;
							return withQuery(partnerConversionsPath(id), { programme, from, to, zone });
						},
					}),
			}),
			rows.length === 0
				? null
				: ui.section({ id: "terms", title: "Terms", body: ui.padded(rows.map(termsOf)) }),
		],
	});
}

function termsOf({
	programme_name,
	programme_click_days: days,
	terms,
	created_at_ms: sinceMs,
}: NamedPartnership) {
	return ui.more(
		html`<span class="break">${programme_name}</span>`,
		html`<p>A sale is credited to the last click of the ${days === 1 ? "day" : `${days} days`} before it.</p>`,
		terms === ""
			? html`<p>The programme had no other terms on ${ui.dayTag(sinceMs)}.</p>`
			: html`<p>Its terms on ${ui.dayTag(sinceMs)}:</p><p class="typed">${terms}</p>`,
	);
}

export function endedMessage({ ended_at_ms }: Partner): Html | null {
	if (ended_at_ms === null) return null;
	return ui.message(
		"info",
		html`The network ended your partnerships on ${ui.dayTag(ended_at_ms)}. You keep what you earned. Your links still lead to the shops, but new clicks earn nothing.`,
	);
}
