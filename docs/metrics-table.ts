// Writes the tables of docs/operations/metrics.md from the series that src/watch/metrics.ts declares and from the chores.

import { newCounters } from "#core/callbacks/counters.ts";
import { CHORES } from "#core/domain/chore.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import { createMetrics } from "../src/watch/metrics.ts";
import { table } from "./markdown-text.ts";

/** Writes the table of the series that only processes with the delivery engine have. */
export function deliveringSeriesTable(): string {
	const ofEvery = new Set(listSeries("web").map(({ name }) => name));
	return seriesTable(listSeries("all").filter(({ name }) => !ofEvery.has(name)));
}

export function everySeriesTable(): string {
	return seriesTable(listSeries("web"));
}

export function choresTable(): string {
	return table(
		["chore", "every", "if it does not run"],
		Object.entries(CHORES).map(([name, { intervalMs, undone }]) => [
			`\`${name}\``,
			sayInterval(intervalMs),
			undone,
		]),
	);
}

interface Series {
	name: string;
	help: string;
}

function listSeries(role: "all" | "web"): readonly Series[] {
	const delivers = role === "all";
	const metrics = createMetrics([]);
	metrics.describe({
		clock: { nowMs: readsNothing },
		identity: { instance: "", role, version: "", schemaVersion: 0 },
		connections: readsNothing,
		engineCounters: delivers ? newCounters : null,
		figures: delivers ? readsNothing : null,
		state: readsNothing,
		isReady: readsNothing,
		droppedLogLines: readsNothing,
	});
	return metrics.listSeries();
}

/** Stands for the values of a service, because a table of names needs none of them. */
function readsNothing(): never {
	throw new Error("the documentation reads no value");
}

function seriesTable(series: readonly Series[]): string {
	return table(
		["series", "meaning"],
		series.map(({ name, help }) => [`\`${name}\``, help]),
	);
}

function sayInterval(ms: number): string {
	if (ms >= HOUR_MS) return `${ms / HOUR_MS} h`;
	return ms >= MINUTE_MS ? `${ms / MINUTE_MS} min` : `${ms / SECOND_MS} s`;
}
