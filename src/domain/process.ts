// The processes of an installation, as each tells of itself from time to time: who is there, and who has fallen silent.

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.ts";

/** As the table `processes` has it. */
export interface ProcessRecord extends ProcessEngine {
	/** Drawn at its start; in every line of its log. */
	instance: string;
	host: string;
	role: string;
	version: string;
	started_at_ms: number;
	seen_at_ms: number;
	/** The last mail that its mail server did not take; null without one, and once another was taken. */
	mail_failed_at_ms: number | null;
	mail_error: string | null;
}

/** systemd, where it started us and wants to know how we do. */
export interface ServiceManager {
	/** Where it listens. */
	socket: string;
	/** How soon it takes us for dead; null when it does not watch. */
	watchdogMs: number | null;
}

/** All null for a process that does not deliver. */
export interface ProcessEngine {
	/** Callbacks handed out to it. */
	in_hand: number | null;
	/** Programmes of its slots with something due that is not under way, as it last saw. */
	programmes_due: number | null;
	/** Since when the longest of them waits; null also when none does. */
	oldest_due_at_ms: number | null;
	/** How many requests it may have on their way at most; null also for a process of 1.0.0. */
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

/** How often a process tells of itself: often enough for a page, next to no work. */
export const TELLS_EVERY_MS = 20 * SECOND_MS;
/** One that has missed two is silent. A clean stop is told. */
const SILENT_AFTER_MS = MINUTE_MS;
/** After this nobody needs to know of it any more. */
export const FORGOTTEN_AFTER_MS = HOUR_MS;

export function isSilent({ seen_at_ms }: Pick<ProcessRecord, "seen_at_ms">, nowMs: number): boolean {
	return nowMs - seen_at_ms > SILENT_AFTER_MS;
}

/** What the processes that are there say of the queue, together; null when none of them delivers. */
export function sumEngines(
	records: readonly ProcessRecord[],
	nowMs: number,
): { inHand: number; programmesDue: number; oldestDueAtMs: number | null } | null {
	const engines = records.filter((record) => record.in_hand !== null && !isSilent(record, nowMs));
	if (engines.length === 0) return null;
	const since = engines.flatMap(({ oldest_due_at_ms }) => oldest_due_at_ms ?? []);
	return {
		inHand: engines.reduce((sum, { in_hand }) => sum + (in_hand ?? 0), 0),
		// Each sees its own slots, and no slot has two owners.
		programmesDue: engines.reduce((sum, { programmes_due }) => sum + (programmes_due ?? 0), 0),
		oldestDueAtMs: since.length === 0 ? null : Math.min(...since),
	};
}
