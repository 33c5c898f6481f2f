// A partner's start: what it earned, by programme and by month, with the status that the conversions have now.

import type { Status } from "../../domain/conversion.ts";
import { formatMinor } from "../../domain/money.ts";
import type { EarningsGroup } from "../../partners/earnings.ts";
import { STATUS_WORDS } from "../conversion-ui.ts";
import { digitsOf } from "../conversions/list-query.ts";
import { countedPart } from "../overview/totals-page.ts";
import { answerPage, type PageDeps, partnerOf, type WebContext } from "../page.ts";
import { earningsPath, partnerConversionsPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

/** What only a pixel reported is credited to nobody. */
export const EARNED_STATUSES = ["RECORDED", "APPROVED", "REJECTED", "REVERSED"] as const;

export async function showEarnings(c: WebContext, deps: PageDeps): Promise<Response> {
	const partner = partnerOf(c);
	const look = await deps.earnings.look(partner.id);
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
		})}${endedMessage(partner)}${countedPart(earningsPath(partner.public_id), look, ({ groups }, counted) => [
			table("Programme", counted, groups, (name) => name),
			groups.length === 0 ? null : table("Month", "The month of the sale (UTC).", groups, monthLink),
		])}`,
	});
}

export function endedMessage({ ended_at_ms }: { ended_at_ms: number | null }): Html | null {
	if (ended_at_ms === null) return null;
	return ui.message(
		"info",
		html`The network ended your partnerships on ${ui.dayTag(ended_at_ms)}. You keep what you earned. Your links still lead to the shops, but new clicks earn nothing.`,
	);
}

interface Row {
	key: string;
	currency: string;
	groups: readonly EarningsGroup[];
}

/** A row for each programme or month and currency, a column for each status. */
function table(
	title: "Programme" | "Month",
	hint: Content,
	groups: readonly EarningsGroup[],
	show: (key: string) => Content,
): Html {
	const by = title === "Month" ? "month" : "programme";
	// Two programmes may have one name.
	const rows = Map.groupBy(groups, (group) => {
		const { partnership, currency } = group;
		return `${group[by]} ${by === "programme" ? partnership : ""} ${currency}`;
	});
	const sorted = [...rows].toSorted(([one], [other]) => (one < other ? -1 : 1));
	const listed = (by === "month" ? sorted.toReversed() : sorted).map(([, own]) => own);
	const column = (status: Status): ui.Column<Row> => ({
		title: STATUS_WORDS[status],
		isNumber: true,
		cell: ({ currency, groups: all }) => {
			const own = all.filter((group) => group.status === status);
			if (own.length === 0) return html`<span class="faint">—</span>`;
			const minor = own.reduce((sum, { commissionMinor }) => sum + commissionMinor, 0n);
			const count = own.reduce((sum, group) => sum + group.count, 0);
			return html`${ui.amount(formatMinor(minor, digitsOf(currency)), currency)}<span class="secondary">${ui.countOf(count, "conversion")}</span>`;
		},
	});
	return ui.section({
		id: by,
		title: `By ${by}`,
		hint,
		body: ui.dataTable<Row>({
			caption: `Earnings by ${by}`,
			rows: listed.flatMap((own) =>
				own.slice(0, 1).map((first) => ({ key: first[by], currency: first.currency, groups: own })),
			),
			stacks: true,
			empty: NO_CONVERSIONS,
			columns: [{ title, namesRow: true, cell: ({ key }) => show(key) }, ...EARNED_STATUSES.map(column)],
		}),
	});
}

/** Here, or with these filters. */
export const NO_CONVERSIONS = ui.emptyState({
	title: "No conversions here",
	text: "Make a link under Links. A sale appears here when the shop reports it with your click ID or coupon code. A filter may hide it.",
});
