// A partner's start: what it earned, by programme and by month, with the status that the conversions have now.

import type { Earnings } from "../../partners/earnings.ts";
import { listPartnerships, type Partner } from "../../store/queries/partners.ts";
import { countedPart } from "../overview/totals-page.ts";
import { answerPage, type PageDeps, partnerOf, type WebContext } from "../page.ts";
import { earningsPath, partnerConversionsPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { moneyColumns } from "./earned-section.ts";

export async function showEarnings(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const look = await deps.earnings.look(partner.id);
	const partnerships = await listPartnerships(deps.store.db, "partner_id", [partner.id]);
	const conversions = partnerConversionsPath(partner.public_id);
	const monthLink = (month: string) => {
		const { daysInMonth } = Temporal.PlainYearMonth.from(month);
		const days = { from: `${month}-01`, to: `${month}-${daysInMonth}`, zone: "UTC" };
		return html`<a href="${withQuery(conversions, days)}">${month}</a>`;
	};
	return answerPage(c, {
		title: "Earnings",
		active: "earnings",
		body: html`${ui.pageHeader({
			title: "Earnings",
			hint: "Your commission by the status that conversions have now. Recorded ones wait for approval.",
		})}${endedMessage(partner)}${countedPart(earningsPath(partner.public_id), look, ({ totals }, counted) => {
			const months = [...new Set(totals.map(({ month }) => month))].toSorted().toReversed();
			const sold = partnerships.filter(({ id }) => totals.some((total) => total.partnershipId === id));
			return [
				table(
					"Programme",
					counted,
					sold.map((own) => ({
						name: own.programme_name,
						totals: totals.filter((total) => total.partnershipId === own.id),
					})),
				),
				table(
					"Month",
					"The month of the sale (UTC).",
					months.map((month) => ({
						name: monthLink(month),
						totals: totals.filter((total) => total.month === month),
					})),
				),
			];
		})}`,
	});
}

export function endedMessage({ ended_at_ms }: Partner): Html | null {
	if (ended_at_ms === null) return null;
	return ui.message(
		"info",
		html`The network ended your partnerships on ${ui.dayTag(ended_at_ms)}. You keep what you earned. Your links still lead to the shops, but new clicks earn nothing.`,
	);
}

interface Row {
	name: Content;
	totals: Earnings["totals"];
}

function table(title: "Programme" | "Month", hint: Content, rows: readonly Row[]): Html {
	const by = title.toLowerCase();
	return ui.section({
		id: by,
		title: `By ${by}`,
		hint,
		body: ui.dataTable<Row>({
			caption: `Earnings by ${by}`,
			rows,
			stacks: true,
			empty: NO_CONVERSIONS,
			columns: [
				{ title, namesRow: true, cell: ({ name }) => name },
				...moneyColumns<Row>(({ totals }) => totals),
			],
		}),
	});
}

/** Here, or with these filters. */
export const NO_CONVERSIONS = ui.emptyState({
	title: "No conversions here",
	text: "A sale appears when a shop reports it with your click ID or coupon code. A filter may hide it.",
});
