// Conversions of the last thirty days, by the day they came in and their status now.

import { html } from "hono/html";
import type { Tally } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { DAY_MS, utcDay } from "../../domain/time.ts";
import { type ChartSeries, chart } from "../components/chart.ts";
import type { Html } from "../html.ts";

const DAYS_SHOWN = 30;

/** Expired ones never counted for anybody: they are in the table alone. */
const SERIES: readonly { status: Status; label: string; colour: ChartSeries["colour"] }[] = [
	{ status: "APPROVED", label: "Approved", colour: "good" },
	{ status: "RECORDED", label: "Recorded", colour: "info" },
	{ status: "REVERSED", label: "Reversed", colour: "warn" },
	{ status: "REJECTED", label: "Rejected", colour: "bad" },
	{ status: "PARKED", label: "Parked", colour: "plain" },
];

export function statusChart(tally: Tally, nowMs: number): Html {
	const today = Math.floor(nowMs / DAY_MS);
	const days = Array.from({ length: DAYS_SHOWN }, (_, index) => today - DAYS_SHOWN + 1 + index);
	return chart({
		id: "status-chart",
		title: "Conversions a day, last 30 days (UTC)",
		isStacked: true,
		empty: html`<p class="soft">No conversion has come in during the last ${DAYS_SHOWN} days.</p>`,
		days: days.map((day) => utcDay(day * DAY_MS)),
		series: SERIES.map(({ status, label, colour }) => ({
			label,
			colour,
			values: days.map((day) => tally.days.get(day)?.get(status) ?? 0),
		})),
	});
}
