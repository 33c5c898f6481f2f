// /totals: what all programmes of the network come to over the last days, for staff. Counted in the background; the page
// shows the last count and says when it was made.

import type { NetworkTally, StatusTotal } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { formatMinor } from "../../domain/money.ts";
import { DAY_MS, utcDay } from "../../domain/time.ts";
import { chart, statusBadge } from "../conversion-ui.ts";
import { digitsOf } from "../conversions/list-query.ts";
import { sharePercent } from "../integration/health-section.ts";
import { answerPage, type PageDeps, type WebContext } from "../page.ts";
import { COUNTED_TOTALS_PATH, TOTALS_PATH, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { lastDays, STATUS_ROWS, statusChart } from "./overview-page.ts";

const PERIODS: readonly { days: number; label: string }[] = [
	{ days: 7, label: "7 days" },
	{ days: 30, label: "30 days" },
	{ days: 90, label: "90 days" },
	{ days: 365, label: "12 months" },
];
const USUAL_DAYS = 30;

export async function showNetworkTotals(c: WebContext, deps: PageDeps): Promise<Response> {
	const days = readDays(c);
	const periods = PERIODS.map((period) => ({
		label: period.label,
		href: withQuery(TOTALS_PATH, { days: String(period.days) }),
		isActive: period.days === days,
	}));
	return answerPage(c, {
		title: "Totals",
		active: "totals",
		body: html`${ui.pageHeader({
			title: "Totals",
			hint: "Of all programmes. Conversions and money leave tests out. Callbacks count every attempt, also for tests.",
		})}${ui.tabs("Period", periods)}${await totals(deps, days)}`,
	});
}

/** What changes while it is being counted: fetched again by itself until it is done. */
export async function showCountedTotals(c: WebContext, deps: PageDeps): Promise<Response> {
	return c.html(await totals(deps, readDays(c)));
}

function readDays(c: WebContext): number {
	const asked = c.req.query("days");
	return PERIODS.find(({ days }) => String(days) === asked)?.days ?? USUAL_DAYS;
}

async function totals({ networkTallies, clock }: PageDeps, days: number): Promise<Html> {
	const { count: tally, isCounting } = await networkTallies.look(days);
	const query = { days: String(days) };
	const again = isCounting
		? html`hx-get="${withQuery(COUNTED_TOTALS_PATH, query)}" hx-trigger="load delay:1s" hx-swap="outerHTML"`
		: null;
	const body = tally === null ? beingCounted(query) : parts(tally, days, clock.nowMs(), isCounting);
	return html`<div id="totals" class="stack" ${again}>${body}</div>`;
}

function beingCounted(query: { days: string }): Html {
	return ui.section({
		id: "conversions",
		title: "Conversions",
		body: ui.emptyState({
			title: "Being counted",
			text: "Being added up. The first time takes a few seconds.",
			action: ui.linkButton({ label: "Look again", href: withQuery(TOTALS_PATH, query) }),
		}),
	});
}

function parts(tally: NetworkTally, days: number, nowMs: number, isCounting: boolean): Html {
	const counted = html`Counted ${ui.timeTag(tally.countedAtMs)}${isCounting ? "; a newer count is under way" : ""}.`;
	return html`${numbers(tally)}${ui.section({
		id: "conversions",
		title: "Conversions",
		hint: counted,
		body: ui.padded(statusChart(tally.days, days, nowMs)),
	})}${ui.section({
		id: "money",
		title: "Money by currency and status",
		hint: "Of the conversions recorded in this period, with the status they have now.",
		body: moneyTable(tally),
	})}${ui.section({
		id: "callbacks",
		title: "Callbacks",
		hint: "Attempts per day (UTC): successful (2xx) and failed.",
		body: ui.padded(callbackChart(tally, days, nowMs)),
	})}`;
}

function numbers({ currencies, callbacks }: NetworkTally): Html {
	const statuses = [...currencies.values()].flatMap((totalsOf) => [...totalsOf]);
	const countOf = (wanted?: Status) =>
		statuses.reduce(
			(sum, [status, total]) => sum + (wanted === undefined || status === wanted ? total.count : 0),
			0,
		);
	const sums = [...callbacks.values()];
	const delivered = sums.reduce((sum, day) => sum + day.delivered, 0);
	const failed = sums.reduce((sum, day) => sum + day.failed, 0);
	const sent = delivered + failed;
	return ui.statStrip([
		{ label: "Conversions", value: ui.count(countOf()), hint: "recorded in this period" },
		{ label: "Approved", value: ui.count(countOf("APPROVED")), hint: "of them" },
		{ label: "Callback attempts", value: ui.count(sent), hint: `${ui.count(failed)} failed` },
		{
			label: "Successful (2xx)",
			value: sent === 0 ? "—" : `${sharePercent(delivered, sent)} %`,
			hint: sent === 0 ? "nothing was sent" : `${ui.count(delivered)} of ${ui.count(sent)} attempts`,
		},
	]);
}

interface MoneyRow {
	currency: string;
	status: Status;
	total: StatusTotal;
}

function moneyTable({ currencies }: NetworkTally): Html {
	const rows = [...currencies]
		.toSorted(([one], [other]) => (one < other ? -1 : 1))
		.flatMap(([currency, totalsOf]) =>
			STATUS_ROWS.flatMap(([status]): MoneyRow[] => {
				const total = totalsOf.get(status);
				return total === undefined ? [] : [{ currency, status, total }];
			}),
		);
	const money = (minor: bigint, { currency }: MoneyRow) =>
		ui.amount(formatMinor(minor, digitsOf(currency)), currency);
	return ui.dataTable<MoneyRow>({
		caption: "Sums by currency and status",
		rows,
		stacks: true,
		empty: ui.emptyState({ title: "No conversions", text: "None was recorded in this period." }),
		columns: [
			{
				title: "Status",
				namesRow: true,
				cell: ({ status, currency }) =>
					html`${statusBadge(status)} <span class="small soft">${currency}</span>`,
			},
			{ title: "Conversions", isNumber: true, cell: ({ total }) => ui.count(total.count) },
			{ title: "Basket", isNumber: true, cell: (row) => money(row.total.basketMinor, row) },
			{ title: "Commission", isNumber: true, cell: (row) => money(row.total.commissionMinor, row) },
			{ title: "Network fee", isNumber: true, cell: (row) => money(row.total.feeMinor, row) },
		],
	});
}

function callbackChart({ callbacks }: NetworkTally, dayCount: number, nowMs: number): Html {
	const days = lastDays(dayCount, nowMs);
	return chart({
		id: "callback-chart",
		title: "Attempts per day",
		days: days.map((day) => utcDay(day * DAY_MS)),
		isStacked: true,
		series: [
			{
				label: "Successful (2xx)",
				colour: "good",
				values: days.map((day) => callbacks.get(day)?.delivered ?? 0),
			},
			{ label: "Failed", colour: "bad", values: days.map((day) => callbacks.get(day)?.failed ?? 0) },
		],
		empty: html`<p class="soft">No callback was sent in this period.</p>`,
	});
}
