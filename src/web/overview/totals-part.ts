// What is counted of conversions, of a programme and of the network: shown as of the last count, by day and by status.

import type { CountLook, DayCounts, StatusTotal } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { formatMinor } from "../../domain/money.ts";
import { DAY_MS, utcDay } from "../../domain/time.ts";
import { type ChartSeries, chart, statusBadge } from "../conversion-ui.ts";
import { digitsOf } from "../conversions/list-query.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

/** Fetched again from its own page, until the count is done. */
export function countedPart<Count extends { countedAtMs: number }>(
	href: string,
	{ count, isCounting }: CountLook<Count>,
	/** `counted`: when it was made. */
	show: (count: Count, counted: Html) => Content,
): Html {
	const again = {
		"hx-get": href,
		"hx-select": "#totals",
		"hx-trigger": "load delay:1s",
		"hx-swap": "outerHTML",
	};
	const body =
		count === null
			? ui.section({
					id: "conversions",
					title: "Conversions",
					body: ui.emptyState({
						title: "Being counted",
						text: "There are many conversions. Adding them up takes a few seconds the first time.",
						action: ui.linkButton({ label: "Look again", href }),
					}),
				})
			: show(
					count,
					html`Counted ${ui.timeTag(count.countedAtMs)}${isCounting ? "; a newer count is under way" : ""}.`,
				);
	return html`<div id="totals" class="stack"${ui.attrs(isCounting ? again : {})}>${body}</div>`;
}

/** Expired ones never counted for anybody: they are in the table alone. */
const SERIES: readonly { status: Status; label: string; colour: ChartSeries["colour"] }[] = [
	{ status: "APPROVED", label: "Approved", colour: "good" },
	{ status: "RECORDED", label: "Recorded", colour: "info" },
	{ status: "REVERSED", label: "Reversed", colour: "warn" },
	{ status: "REJECTED", label: "Rejected", colour: "bad" },
	{ status: "PARKED", label: "Parked", colour: "plain" },
];

export function statusChart(counts: DayCounts, dayCount: number, nowMs: number): Html {
	return dayChart(
		{
			id: "status-chart",
			title: `Conversions per day, last ${dayCount} days (UTC)`,
			empty: html`<p class="soft">No conversion has come in during the last ${dayCount} days.</p>`,
		},
		{ dayCount, nowMs },
		SERIES.map(({ status, ...look }) => ({ ...look, of: (day) => counts.get(day)?.get(status) })),
	);
}

/** `of`: by the day since 1970-01-01 (UTC). The last one is today. */
export function dayChart(
	look: { id: string; title: string; empty: Html },
	{ dayCount, nowMs }: { dayCount: number; nowMs: number },
	series: readonly (Omit<ChartSeries, "values"> & { of(day: number): number | undefined })[],
): Html {
	const today = Math.floor(nowMs / DAY_MS);
	const days = Array.from({ length: dayCount }, (_, index) => today - dayCount + 1 + index);
	return chart({
		...look,
		days: days.map((day) => utcDay(day * DAY_MS)),
		series: series.map(({ of, ...line }) => ({ ...line, values: days.map((day) => of(day) ?? 0) })),
	});
}

/** In the order of a conversion's life, with what the word alone does not say. */
const STATUS_ROWS: readonly (readonly [status: Status, hint: string])[] = [
	["PARKED", "waits for the shop's confirmation"],
	["RECORDED", "waits for approval"],
	["APPROVED", ""],
	["REJECTED", ""],
	["REVERSED", ""],
	["EXPIRED", "never confirmed"],
];

export function moneyTable(
	currencies: ReadonlyMap<string, ReadonlyMap<Status, StatusTotal>>,
	/** Where a status leads; of several currencies each row has its own instead of the hint. */
	hrefOf?: (status: Status) => string,
): Html {
	const rows = [...currencies]
		.toSorted(([one], [other]) => (one < other ? -1 : 1))
		.flatMap(([currency, totals]) =>
			STATUS_ROWS.flatMap(([status, hint]) => {
				const total = totals.get(status);
				return total === undefined ? [] : [{ currency, status, hint, total }];
			}),
		);
	type Row = (typeof rows)[number];
	const money = (title: string, part: "basketMinor" | "commissionMinor" | "feeMinor"): ui.Column<Row> => ({
		title,
		isNumber: true,
		cell: ({ total, currency }) => ui.amount(formatMinor(total[part], digitsOf(currency)), currency),
	});
	return ui.dataTable<Row>({
		caption: "Sums by status",
		rows,
		stacks: true,
		empty: ui.emptyState({ title: "No conversions", text: "None was recorded in this period." }),
		columns: [
			{
				title: "Status",
				namesRow: true,
				cell: ({ status, hint, currency }) => {
					const badge = statusBadge(status);
					return html`${hrefOf === undefined ? badge : html`<a href="${hrefOf(status)}">${badge}</a>`} <span class="small soft">${hrefOf === undefined ? currency : hint}</span>`;
				},
			},
			{ title: "Conversions", isNumber: true, cell: ({ total }) => ui.count(total.count) },
			money("Basket", "basketMinor"),
			money("Commission", "commissionMinor"),
			money("Network fee", "feeMinor"),
		],
	});
}
