// Conversions a day by status, of a programme or of the network.

import { html } from "hono/html";
import type { DayCounts } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { DAY_MS, utcDay } from "../../domain/time.ts";
import { type ChartSeries, chart } from "../components/chart.ts";
import type { Html } from "../html.ts";

/** Expired ones never counted for anybody: they are in the table alone. */
const SERIES: readonly { status: Status; label: string; colour: ChartSeries["colour"] }[] = [
	{ status: "APPROVED", label: "Approved", colour: "good" },
	{ status: "RECORDED", label: "Recorded", colour: "info" },
	{ status: "REVERSED", label: "Reversed", colour: "warn" },
	{ status: "REJECTED", label: "Rejected", colour: "bad" },
	{ status: "PARKED", label: "Parked", colour: "plain" },
];

export function statusChart(counts: DayCounts, dayCount: number, nowMs: number): Html {
	const days = lastDays(dayCount, nowMs);
	return chart({
		id: "status-chart",
		title: `Conversions per day, last ${dayCount} days (UTC)`,
		isStacked: true,
		empty: html`<p class="soft">No conversion has come in during the last ${dayCount} days.</p>`,
		days: days.map((day) => utcDay(day * DAY_MS)),
		series: SERIES.map(({ status, label, colour }) => ({
			label,
			colour,
			values: days.map((day) => counts.get(day)?.get(status) ?? 0),
		})),
	});
}

/** Days since 1970-01-01 (UTC), today last. */
export function lastDays(dayCount: number, nowMs: number): number[] {
	const today = Math.floor(nowMs / DAY_MS);
	return Array.from({ length: dayCount }, (_, index) => today - dayCount + 1 + index);
}

/** In the order of a conversion's life, with what the word alone does not say. */
export const STATUS_ROWS: readonly (readonly [status: Status, hint: string])[] = [
	["PARKED", "waits for the shop's confirmation"],
	["RECORDED", "waits for approval"],
	["APPROVED", ""],
	["REJECTED", ""],
	["REVERSED", ""],
	["EXPIRED", "never confirmed"],
];
