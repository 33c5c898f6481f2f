// The processes of an installation. Each one reports itself from time to time, so that the others know which
// are running and which have stopped.

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.ts";

/** A row of the table `processes`. */
export interface ProcessRecord extends ProcessEngine {
	/** Random name, drawn at the start and part of every log line. */
	instance: string;
	host: string;
	role: string;
	version: string;
	started_at_ms: number;
	seen_at_ms: number;
	/** Time of the last mail that the mail server refused, or null if a later one was accepted. */
	mail_failed_at_ms: number | null;
	mail_error: string | null;
}

/** How to notify systemd, if it started this process. */
export interface ServiceManager {
	/** Path of its socket. */
	socket: string;
	/** Time after which systemd considers the process dead, or null if it does not watch. */
	watchdogMs: number | null;
}

/** Figures of the callback engine. All are null in a process without one. */
export interface ProcessEngine {
	/** Number of callbacks that the engine has read and not finished. */
	in_hand: number | null;
	/** Number of programmes in its slots with due callbacks that are not in flight. */
	programmes_due: number | null;
	/** Due time of the oldest of them, or null if there is none. */
	oldest_due_at_ms: number | null;
	/** Maximum number of requests that it may have in flight. */
	most_in_flight: number | null;
}

export const NO_ENGINE: ProcessEngine = {
	in_hand: null,
	programmes_due: null,
	oldest_due_at_ms: null,
	most_in_flight: null,
};

export interface MailFailure {
	atMs: number;
	reason: string;
}

/** Interval between two reports: short enough for a status page, and long enough to cost almost nothing. */
export const TELLS_EVERY_MS = 20 * SECOND_MS;
/** Time after which a process counts as silent, when it has missed two reports. A clean stop is reported. */
export const SILENT_AFTER_MS = MINUTE_MS;
/** Time after which a silent process is removed from the table. */
export const FORGOTTEN_AFTER_MS = HOUR_MS;

export function isSilent({ seen_at_ms }: Pick<ProcessRecord, "seen_at_ms">, nowMs: number): boolean {
	return nowMs - seen_at_ms > SILENT_AFTER_MS;
}

/**
 * Returns true if another process of the same role started on the same machine after the last report of this one, as a
 * supervisor does after a crash. A process that still runs disproves it with its next report.
 */
export function isReplaced(record: ProcessRecord, all: readonly ProcessRecord[]): boolean {
	return all.some(
		({ instance, host, role, started_at_ms: startedAtMs }) =>
			instance !== record.instance &&
			host === record.host &&
			role === record.role &&
			startedAtMs >= record.seen_at_ms,
	);
}

/** Adds up the figures of all running engines, or returns null if there is none. */
export function sumEngines(
	records: readonly ProcessRecord[],
	nowMs: number,
): { inHand: number; programmesDue: number; oldestDueAtMs: number | null } | null {
	const engines = records.filter((record) => record.in_hand !== null && !isSilent(record, nowMs));
	if (engines.length === 0) return null;
	const since = engines.flatMap(({ oldest_due_at_ms }) => oldest_due_at_ms ?? []);
	return {
		inHand: engines.reduce((sum, { in_hand }) => sum + (in_hand ?? 0), 0),
		// Each engine sees only its own slots, and no slot has two owners.
		programmesDue: engines.reduce((sum, { programmes_due }) => sum + (programmes_due ?? 0), 0),
		oldestDueAtMs: since.length === 0 ? null : Math.min(...since),
	};
}
