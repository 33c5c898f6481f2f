// The sales of a partner in a period, as a chart by day or as a table by sub ID. It is part of the Earnings page and
// uses the period that was chosen there.

import { DAY_MS, utcDay } from "#core/domain/time.ts";
import { dayIn } from "#core/domain/zone-day.ts";
import { chart, STATUS_WORDS } from "#core/web/conversion-ui.ts";
import { countedPart, STATUS_COLOURS } from "#core/web/overview/totals-page.ts";
import type { PageDeps } from "#core/web/page.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, type Html, html } from "#core/web/ui.ts";
import {
	type CachedSubTotals,
	MAX_SUB_TOTAL_DAYS,
	SUB_TOTAL_KEYS,
	type SubTotal,
	type SubTotalKey,
	type SubTotals,
} from "../use-cases/sub-totals.ts";
import { type AskedDays, EARNED_STATUSES, moneyColumns } from "./earned-section.ts";

declare module "#core/web/page.ts" {
	interface WebDeps {
		/** Sums of a partner's sales by day and sub ID, counted in the background. The partners' API shows them too. */
		subTotals: CachedSubTotals;
	}
}

/** Number of sub IDs that the table shows. */
const MAX_ROWS = 100;

const LABELS: Readonly<Record<SubTotalKey, string>> = {
	day: "By day",
	sub1: "By sub ID s1",
	sub2: "By sub ID s2",
	sub3: "By sub ID s3",
};

/** Returns the chart or table, with a tab for each of them. */
export async function breakdownPart(
	{ subTotals, clock }: PageDeps,
	partnershipIds: readonly number[],
	{ asked, span, by: grouping = "day", zone }: AskedDays,
): Promise<Content> {
	const tabs = SUB_TOTAL_KEYS.map((by) => ({
		label: LABELS[by],
		href: `${asked.href({ by: by === "day" ? undefined : by })}#breakdown`,
		isActive: by === grouping,
	}));
	const fromMs = span.fromMs;
	const beforeMs = Math.min(span.beforeMs, clock.nowMs());
	if (beforeMs <= fromMs) return null;
	const titled = (body: Content) =>
		html`<div id="breakdown">${ui.tabs("Sales grouped by", tabs)}${body}</div>`;
	if (Math.round((beforeMs - fromMs) / DAY_MS) > MAX_SUB_TOTAL_DAYS) {
		return titled(
			ui.padded(
				html`<p class="soft">Choose at most ${MAX_SUB_TOTAL_DAYS} days to see sales by day or sub ID.</p>`,
			),
		);
	}
	const look = await subTotals.look({ ...span, partnershipIds, by: [grouping], zone });
	const show = (totals: SubTotals): Content => {
		if (!totals.isComplete) return tooManyGroups(totals);
		if (grouping !== "day") return subIdTable(totals.groups, grouping);
		return ui.padded(
			dayChart(totals.groups, daysBetween(dayIn(fromMs, zone), dayIn(beforeMs - 1, zone)), zone),
		);
	};
	return titled(countedPart(asked.here(), look, show, { id: "breakdown-totals", isInside: true }));
}

function tooManyGroups({ groups }: SubTotals): Html {
	return ui.padded(
		html`<p class="soft">There are more than ${ui.count(groups.length)} sums in this period. Choose fewer days, or export your conversions.</p>`,
	);
}

/** Returns all days from the first to the last, both in the form YYYY-MM-DD. */
function daysBetween(first: string, last: string): string[] {
	const count = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
	return Array.from({ length: count }, (_, index) => utcDay(Date.parse(first) + index * DAY_MS));
}

function dayChart(groups: readonly SubTotal[], days: readonly string[], zone: string): Html {
	const ofDays = Map.groupBy(groups, ({ day }) => day);
	return chart({
		id: "sales-chart",
		title: `Sales per day (${zone})`,
		empty: html`<p class="soft">No sale in this period.</p>`,
		days,
		series: EARNED_STATUSES.map((status) => ({
			label: STATUS_WORDS[status],
			colour: STATUS_COLOURS[status],
			values: days.map((day) => countOf((ofDays.get(day) ?? []).filter((group) => group.status === status))),
		})),
	});
}

function subIdTable(groups: readonly SubTotal[], grouping: Exclude<SubTotalKey, "day">): Content {
	const rows = [...Map.groupBy(groups, (group) => group[grouping] ?? "")]
		.map(([subId, totals]) => ({ subId, totals, count: countOf(totals) }))
		.toSorted((one, other) => other.count - one.count);
	type Row = (typeof rows)[number];
	const table = ui.dataTable<Row>({
		caption: "Sub IDs, those with the most sales first",
		rows: rows.slice(0, MAX_ROWS),
		stacks: true,
		empty: ui.emptyState({ title: "No sale", text: "No sale in this period." }),
		columns: [
			{
				title: "Sub ID",
				namesRow: true,
				cell: ({ subId }) =>
					subId === ""
						? html`<span class="soft">none</span>`
						: html`<span class="mono break">${subId}</span>`,
			},
			{ title: "Sales", isNumber: true, cell: ({ count }) => ui.count(count) },
			...moneyColumns<Row>(({ totals }) => totals),
		],
	});
	const others = rows.length - MAX_ROWS;
	const rest = html`<p class="small soft">${ui.countOf(others, "more sub ID")} with fewer sales. Export your conversions to see all.</p>`;
	return others > 0 ? [table, ui.padded(rest)] : table;
}

function countOf(groups: readonly SubTotal[]): number {
	return groups.reduce((sum, { count }) => sum + count, 0);
}
