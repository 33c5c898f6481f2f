// The processes of an installation. Each process reports to a table at intervals, so that the others know
// which processes are running and which have stopped.

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.ts";

export interface ProcessRecord extends ProcessEngine {
	/** Random name of the process. It is chosen at the start and is part of every log line. */
	instance: string;
	host: string;
	role: string;
	version: string;
	started_at_ms: number;
	seen_at_ms: number;
	/** Time at which the mail server last refused a mail, or null if it has accepted one since. */
	mail_failed_at_ms: number | null;
	mail_error: string | null;
}

export interface ServiceManager {
	socket: string;
	/**
	 * Time without a sign of life after which systemd restarts the process, or null if systemd does not check.
	 */
	watchdogMs: number | null;
}

/** Figures of the callback engine. All fields are null in a process without an engine. */
export interface ProcessEngine {
	/** Number of callbacks that the engine has read from the queue and not finished. */
	in_hand: number | null;
	/**
	 * Number of programmes with due callbacks that the engine is not sending yet. Only programmes in its slots
	 * count.
	 */
	programmes_due: number | null;
	/** Due time of the oldest due callback that is not being sent yet, or null if there is none. */
	oldest_due_at_ms: number | null;
	/** Maximum number of requests that the engine may have in flight. */
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

/**
 * Interval at which each process reports to the table. It is short enough for a status page, and long enough to cost
 * almost nothing.
 */
export const TELLS_EVERY_MS = 20 * SECOND_MS;
/**
 * Time without a report after which a process counts as silent. A process that stops cleanly reports its end.
 */
export const SILENT_AFTER_MS = MINUTE_MS;
/** Time without a report after which a process is removed from the table. */
export const FORGOTTEN_AFTER_MS = HOUR_MS;

export function isSilent({ seen_at_ms }: Pick<ProcessRecord, "seen_at_ms">, nowMs: number): boolean {
	return nowMs - seen_at_ms > SILENT_AFTER_MS;
}

/**
 * Returns whether another process with the same role started on the same machine after this process last reported.
 * That happens when a supervisor restarts a crashed process. If this process still runs, its next report corrects the
 * result.
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

/** Adds up the figures of all running engines, or returns null if no engine runs. */
export function sumEngines(
	records: readonly ProcessRecord[],
	nowMs: number,
): { inHand: number; programmesDue: number; oldestDueAtMs: number | null } | null {
	const engines = records.filter((record) => record.in_hand !== null && !isSilent(record, nowMs));
	if (engines.length === 0) return null;
	const since = engines.flatMap(({ oldest_due_at_ms }) => oldest_due_at_ms ?? []);
	return {
		inHand: engines.reduce((sum, { in_hand }) => sum + (in_hand ?? 0), 0),
		// The sum counts no programme twice, because each engine counts only its own slots and no slot has two
		// owners.
		programmesDue: engines.reduce((sum, { programmes_due }) => sum + (programmes_due ?? 0), 0),
		oldestDueAtMs: since.length === 0 ? null : Math.min(...since),
	};
}
