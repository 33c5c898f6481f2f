// /totals: what all programmes of the network come to over the last days, for staff. Counted in the background; the page
// shows the last count and says when it was made.

import type { NetworkTally } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { sharePercent } from "../integration/health-section.ts";
import { answerPage, type PageDeps, type WebContext } from "../page.ts";
import { TOTALS_PATH, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { countedPart, dayChart, moneyTable, statusChart } from "./totals-part.ts";

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
	const span = { dayCount: days, nowMs: deps.clock.nowMs() };
	const look = await deps.networkTallies.look(days);
	return answerPage(c, {
		title: "Totals",
		active: "totals",
		body: html`${ui.pageHeader({
			title: "Totals",
			hint: "Of all programmes. Conversions and money leave tests out. Callbacks count every attempt, also for tests.",
		})}${ui.tabs("Period", periods)}${countedPart(pathOf(days), look, (tally, counted) => [
			numbers(tally),
			ui.section({
				id: "conversions",
				title: "Conversions",
				hint: counted,
				body: ui.padded(statusChart(tally.days, days, span.nowMs)),
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
				hint: "Attempts per day (UTC): successful (2xx) and failed.",
				body: ui.padded(
					dayChart(
						{
							id: "callback-chart",
							title: "Attempts per day",
							empty: html`<p class="soft">No callback was sent in this period.</p>`,
						},
						span,
						[
							{ label: "Successful (2xx)", colour: "good", of: (day) => tally.callbacks.get(day)?.delivered },
							{ label: "Failed", colour: "bad", of: (day) => tally.callbacks.get(day)?.failed },
						],
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
