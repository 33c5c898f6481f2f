// The chores of this process as series, one of each for every chore. Read from the book at each scrape.

import type { ChoreReport } from "../domain/chore.ts";
import { isLate } from "../domain/chore.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import type { Family, Sample } from "./exposition.ts";

type ReadReports = () => readonly ChoreReport[];

export function choreFamilies(read: ReadReports, clock: Pick<Clock, "nowMs">): readonly Family[] {
	return [
		ofChores(
			read,
			"ringback_chore_last_success_timestamp_seconds",
			"When this process last did the chore",
			({ record }) => inSeconds(record.lastSuccessMs),
		),
		ofChores(
			read,
			"ringback_chore_last_failure_timestamp_seconds",
			"When the chore last failed in this process",
			({ record }) => inSeconds(record.lastFailureMs),
		),
		ofChores(
			read,
			"ringback_chore_failures_in_a_row",
			"How often the chore has failed in this process since its last success",
			({ record }) => record.failures,
		),
		ofChores(
			read,
			"ringback_chore_last_run_seconds",
			"How long the last run took that came to an end",
			({ lastRunMs }) => inSeconds(lastRunMs),
		),
		ofChores(
			read,
			"ringback_chore_backlog_seconds",
			"How long the oldest has waited that the chore should have done by now (every 20 s); 0 when nothing waits; counts on while it cannot be read",
			({ waitingSinceMs }) =>
				waitingSinceMs === null ? 0 : inSeconds(waitingSinceMs && clock.nowMs() - waitingSinceMs),
		),
		ofChores(
			read,
			"ringback_chore_late",
			"1 when this process has not done the chore for its time",
			({ record }) => (isLate(record, clock.nowMs()) ? 1 : 0),
		),
		{
			...ofChores(
				read,
				"ringback_chore_failures_total",
				"Runs of the chore that failed in this process",
				({ failuresTotal }) => failuresTotal,
			),
			type: "counter",
		},
	];
}

/** A chore of which `value` knows nothing yet has no such series. */
function ofChores(
	read: ReadReports,
	name: string,
	help: string,
	value: (report: ChoreReport) => number | undefined,
): Family {
	return {
		name,
		help,
		type: "gauge",
		read: () =>
			read().flatMap((report): Sample[] => {
				const number = value(report);
				return number === undefined ? [] : [[{ chore: report.record.name }, number]];
			}),
	};
}

function inSeconds(ms: number | null | undefined): number | undefined {
	return ms === null || ms === undefined ? undefined : ms / SECOND_MS;
}
