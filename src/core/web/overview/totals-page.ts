// Shows the page /totals, on which staff see the sums of all programmes over the last days. Other pages use its tables
// and charts of counts and amounts, too. The figures come from the last background count.

import {
	type CountLook,
	type DayCounts,
	dayOf,
	type NetworkTally,
	type StatusTotal,
} from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { formatMinor } from "../../domain/money.ts";
import { dayNumberIn } from "../../domain/zone-day.ts";
import { type ChartSeries, chart, STATUS_WORDS, statusBadge } from "../conversion-ui.ts";
import { BY_DAY, digitsOf } from "../conversions/list-query.ts";
import { attemptsChart, sharePercent } from "../integration/health-section.ts";
import { answerPage, type PageDeps, type WebContext } from "../page.ts";
import { TOTALS_PATH, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const PERIODS: readonly { days: number; label: string }[] = [
	{ days: 7, label: "7 days" },
	{ days: 30, label: "30 days" },
	{ days: 90, label: "90 days" },
	{ days: 365, label: "12 months" },
];
const USUAL_DAYS = 30;

export async function showNetworkTotals(c: WebContext, deps: PageDeps): Promise<Response> {
	const asked = c.req.query("days");
	const days = PERIODS.find((period) => String(period.days) === asked)?.days ?? USUAL_DAYS;
	const pathOf = (period: number) => withQuery(TOTALS_PATH, { days: String(period) });
	const periods = PERIODS.map((period) => ({
		label: period.label,
		href: pathOf(period.days),
		isActive: period.days === days,
	}));
	const zone = c.get("network").timeZone;
	const today = { nowMs: deps.clock.nowMs(), zone };
	const look = await deps.networkTallies.look({ days, zone });
	return answerPage(c, {
		title: "Totals",
		active: "totals",
		body: html`${ui.pageHeader({
			title: "Totals",
			hint: "Of all programmes. Tests are left out.",
		})}${ui.tabs("Period", periods)}${countedPart(pathOf(days), look, (tally, counted) => [
			numbers(tally),
			ui.section({
				id: "conversions",
				title: "Conversions",
				hint: html`${counted} ${BY_DAY}`,
				body: ui.padded(statusChart(tally.days, days, today)),
			}),
			ui.section({
				id: "money",
				title: "Money by currency and status",
				hint: "Of the conversions recorded in this period, with the status they have now.",
				body: moneyTable(tally.currencies),
			}),
			ui.section({
				id: "callbacks",
				title: "Callbacks",
				hint: `Attempts per day (${zone}): successful (2xx) and failed.`,
				body: ui.padded(
					attemptsChart(
						"callback-chart",
						lastDays(days, today).map((day) => ({
							day: dayOf(day),
							...(tally.callbacks.get(day) ?? { delivered: 0, failed: 0 }),
						})),
						html`<p class="soft">No callback was sent in this period.</p>`,
					),
				),
			}),
		])}`,
	});
}

function numbers({ currencies, callbacks }: NetworkTally): Html {
	const sum = (numbersOf: readonly number[]) => numbersOf.reduce((total, number) => total + number, 0);
	const counts = [...currencies.values()].flatMap((totalsOf) => [...totalsOf]);
	const countOf = (isMeant: (status: Status) => boolean) =>
		ui.count(sum(counts.map(([status, { count }]) => (isMeant(status) ? count : 0))));
	const days = [...callbacks.values()];
	const delivered = sum(days.map((day) => day.delivered));
	const failed = sum(days.map((day) => day.failed));
	const sent = delivered + failed;
	return ui.statStrip([
		{ label: "Conversions", value: countOf(() => true), hint: "recorded in this period" },
		{ label: "Approved", value: countOf((status) => status === "APPROVED"), hint: "of them" },
		{ label: "Callback attempts", value: ui.count(sent), hint: `${ui.count(failed)} failed` },
		{
			label: "Successful (2xx)",
			value: sent === 0 ? "—" : `${sharePercent(delivered, sent)} %`,
			hint: sent === 0 ? "nothing was sent" : `${ui.count(delivered)} of ${ui.count(sent)} attempts`,
		},
	]);
}

/**
 * Shows a count that is made in the background. Before the first count is done, a placeholder is shown and reloaded.
 */
export function countedPart<Count extends { countedAtMs: number }>(
	href: string,
	{ count, isCounting }: CountLook<Count>,
	/** Renders the count. `counted` is a sentence that says when the figures were counted. */
	show: (count: Count, counted: Html) => Content,
	/** `isInside` is true if the caller already renders a section around this part. `id` must be unique on the page. */
	{ id = "totals", isInside = false }: { id?: string; isInside?: boolean } = {},
): Html {
	const waiting = ui.emptyState({
		title: "Being counted",
		text: "The sums are being counted. The first time this takes a few seconds.",
		action: ui.linkButton({ label: "Look again", href }),
	});
	const newer = isCounting ? "; a newer count is under way" : "";
	const body =
		count === null
			? isInside
				? waiting
				: ui.section({ id: "conversions", title: "Conversions", body: waiting })
			: show(count, html`Counted ${ui.timeTag(count.countedAtMs)}${newer}.`);
	const again = isCounting ? ui.refreshed(id, href, 1) : {};
	return html`<div${ui.attrs({ id, class: isInside ? null : "stack", ...again })}>${body}</div>`;
}

/** Colours of the statuses in charts. */
export const STATUS_COLOURS = {
	APPROVED: "good",
	RECORDED: "info",
	REVERSED: "warn",
	REJECTED: "bad",
	PARKED: "plain",
} as const satisfies Partial<Record<Status, ChartSeries["colour"]>>;

/** Statuses in the chart. Expired conversions were never confirmed, so only the table shows them. */
const CHART_STATUSES = ["APPROVED", "RECORDED", "REVERSED", "REJECTED", "PARKED"] as const;

/** Present time, and the zone that decides which day it is. */
interface Today {
	nowMs: number;
	zone: string;
}

export function statusChart(counts: DayCounts, dayCount: number, today: Today): Html {
	const days = lastDays(dayCount, today);
	return chart({
		id: "status-chart",
		title: `Conversions per day, last ${dayCount} days (${today.zone})`,
		empty: html`<p class="soft">No conversion has come in during the last ${dayCount} days.</p>`,
		days: days.map(dayOf),
		series: CHART_STATUSES.map((status) => ({
			label: STATUS_WORDS[status],
			colour: STATUS_COLOURS[status],
			values: days.map((day) => counts.get(day)?.get(status) ?? 0),
		})),
	});
}

/** Returns the numbers of the last `count` days, the last of which is today. */
function lastDays(count: number, { nowMs, zone }: Today): number[] {
	const today = dayNumberIn(nowMs, zone);
	return Array.from({ length: count }, (_, index) => today - count + 1 + index);
}

/** Statuses in the order in which a conversion passes through them, each with a short explanation. */
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
	/**
	 * Returns the address of the list for a status. If this function is left out, rows show their currency instead of
	 * the explanation.
	 */
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
