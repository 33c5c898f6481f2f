// What `ringback doctor` says about chores: which are late, as the processes have written down, and what a late one means
// while a worker runs and while none does.

import { CHORES, type ChoreRecord, describeLateness, isLate, lateSinceMs } from "../domain/chore.ts";
import { isSilent, type ProcessRecord } from "../domain/process.ts";
import { isoTime } from "../domain/time.ts";
import { type Finding, ok, warning } from "./finding.ts";

export function examineChores(
	records: readonly ChoreRecord[],
	processes: readonly ProcessRecord[],
	nowMs: number,
): Finding[] {
	const late = records.filter((record) => isLate(record, nowMs));
	const hasWorker = processes.some((record) => record.role !== "web" && !isSilent(record, nowMs));
	if (records.length === 0) return [ok("chores", "none has begun yet")];
	if (late.length === 0) {
		return [
			ok("chores", hasWorker ? "all are done on time" : "none is late yet; they go on once a worker runs"),
		];
	}
	// Those that nobody does: one line for them all.
	const left = late.filter(({ failures }) => failures === 0);
	const isOneLine = left.length > (hasWorker ? 1 : 0);
	const single = isOneLine ? late.filter(({ failures }) => failures > 0) : late;
	return [...(isOneLine ? [describeLeft(left, hasWorker)] : []), ...single.map(describeOne)];
}

function describeOne(record: ChoreRecord): Finding {
	const since = isoTime(lateSinceMs(record));
	const { undone } = CHORES[record.name];
	return warning("chores", `${record.name} is late since ${since}. ${undone}. ${describeLateness(record)}`);
}

function describeLeft(left: readonly ChoreRecord[], hasWorker: boolean): Finding {
	const since = isoTime(Math.min(...left.map(lateSinceMs)));
	const lastMs = Math.max(...left.map(({ lastSuccessMs }) => lastSuccessMs ?? 0));
	const last = lastMs === 0 ? "No run has ever succeeded" : `The last success was at ${isoTime(lastMs)}`;
	const names = left.map(({ name }) => name).join(", ");
	const cause = hasWorker
		? "A worker runs: unless it has just started, they hang. Read its log."
		: "No worker runs. They are done once you start one: `ringback serve` with RINGBACK_ROLE=all or worker.";
	const late = left.length === 1 ? "is late since" : "are late, the first since";
	return warning("chores", `${names} ${late} ${since}. ${last}. ${cause}`);
}
