// What `ringback doctor` says about chores: which are late, as the processes that run have written down.

import { CHORES, type ChoreRecord, describeLateness, isLate, lateSinceMs } from "../domain/chore.ts";
import { isoTime } from "../domain/time.ts";
import { type Finding, ok, warning } from "./finding.ts";

export function examineChores(records: readonly ChoreRecord[], nowMs: number): Finding[] {
	const late = records.filter((record) => isLate(record, nowMs));
	if (records.length === 0) return [ok("chores", "none has begun yet")];
	if (late.length === 0) return [ok("chores", "all are done on time")];
	// Where no worker runs, none gets done: one line for them all.
	const left = late.filter(({ failures }) => failures === 0);
	const single = left.length > 1 ? late.filter(({ failures }) => failures > 0) : late;
	return [...(left.length > 1 ? [describeLeft(left)] : []), ...single.map(describeOne)];
}

function describeOne(record: ChoreRecord): Finding {
	const since = isoTime(lateSinceMs(record));
	const { undone } = CHORES[record.name];
	return warning("chores", `${record.name} is late since ${since}. ${undone}. ${describeLateness(record)}`);
}

function describeLeft(left: readonly ChoreRecord[]): Finding {
	const since = isoTime(Math.min(...left.map(lateSinceMs)));
	const lastMs = Math.max(...left.map(({ lastSuccessMs }) => lastSuccessMs ?? 0));
	const last = lastMs === 0 ? "None has ever succeeded" : `The last of them succeeded at ${isoTime(lastMs)}`;
	const names = left.map(({ name }) => name).join(", ");
	return warning(
		"chores",
		`${names} are late, the first since ${since}. ${last}. No worker does them, or they hang. Check that a process of role worker or all is running, and read its log.`,
	);
}
