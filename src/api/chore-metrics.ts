// The chores of this process as series, one of each for every chore. Read from the book at each scrape.

import { Counter, Gauge, type Registry } from "prom-client";
import type { ChoreReport } from "../domain/chore.ts";
import { isLate } from "../domain/chore.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";

type ReadReports = () => readonly ChoreReport[];

export function addChoreSeries(registry: Registry, read: ReadReports, clock: Pick<Clock, "nowMs">): void {
	addGauge(
		registry,
		read,
		"ringback_chore_last_success_timestamp_seconds",
		"When this process last did the chore",
		({ record }) => inSeconds(record.lastSuccessMs),
	);
	addGauge(
		registry,
		read,
		"ringback_chore_last_failure_timestamp_seconds",
		"When the chore last failed in this process",
		({ record }) => inSeconds(record.lastFailureMs),
	);
	addGauge(
		registry,
		read,
		"ringback_chore_failures_in_a_row",
		"How often the chore has failed in this process since its last success",
		({ record }) => record.failures,
	);
	addGauge(
		registry,
		read,
		"ringback_chore_last_run_seconds",
		"How long the last run took that came to an end",
		({ lastRunMs }) => inSeconds(lastRunMs),
	);
	addGauge(
		registry,
		read,
		"ringback_chore_backlog_seconds",
		"How long the oldest has waited that the chore should have done by now; 0 when nothing waits",
		({ waitingSinceMs }) =>
			waitingSinceMs === null ? 0 : inSeconds(waitingSinceMs && clock.nowMs() - waitingSinceMs),
	);
	addGauge(
		registry,
		read,
		"ringback_chore_late",
		"1 when this process has not done the chore for its time",
		({ record }) => (isLate(record, clock.nowMs()) ? 1 : 0),
	);
	new Counter({
		name: "ringback_chore_failures_total",
		help: "Runs of the chore that failed in this process",
		labelNames: ["chore"],
		registers: [registry],
		collect() {
			this.reset();
			for (const { record, failuresTotal } of read()) this.inc({ chore: record.name }, failuresTotal);
		},
	});
}

/** A chore of which `value` knows nothing yet has no such series. */
function addGauge(
	registry: Registry,
	read: ReadReports,
	name: string,
	help: string,
	value: (report: ChoreReport) => number | undefined,
): void {
	new Gauge({
		name,
		help,
		labelNames: ["chore"],
		registers: [registry],
		collect() {
			this.reset();
			for (const report of read()) {
				const number = value(report);
				if (number !== undefined) this.set({ chore: report.record.name }, number);
			}
		},
	});
}

function inSeconds(ms: number | null | undefined): number | undefined {
	return ms === null || ms === undefined ? undefined : ms / SECOND_MS;
}
