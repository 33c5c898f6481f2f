// The processes of an installation, as each tells of itself from time to time: who is there, and who has fallen silent.

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.ts";

export interface ProcessRecord {
	/** Drawn at its start; in every line of its log. */
	instance: string;
	host: string;
	role: string;
	version: string;
	startedAtMs: number;
	seenAtMs: number;
	/** Of a process that delivers; null for others. */
	engine: ProcessEngine | null;
	/** The last mail that its mail server did not take; null without one, and once another was taken. */
	mailFailure: MailFailure | null;
}

/** systemd, where it started us and wants to know how we do. */
export interface ServiceManager {
	/** Where it listens. */
	socket: string;
	/** How soon it takes us for dead; null when it does not watch. */
	watchdogMs: number | null;
}

export interface ProcessEngine {
	/** Callbacks handed out to it. */
	inHand: number;
	/** Programmes of its slots with something due that is not under way, as it last saw. */
	programmesDue: number;
	/** Since when the longest of them waits; null when none does. */
	oldestDueAtMs: number | null;
	/** How many requests it may have on their way at most; null where it does not tell. */
	mostInFlight: number | null;
}

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

export function isSilent({ seenAtMs }: Pick<ProcessRecord, "seenAtMs">, nowMs: number): boolean {
	return nowMs - seenAtMs > SILENT_AFTER_MS;
}

/** What the processes that are there say of the queue, together; null when none of them delivers. */
export function sumEngines(
	records: readonly ProcessRecord[],
	nowMs: number,
): { inHand: number; programmesDue: number; oldestDueAtMs: number | null } | null {
	const engines = records.flatMap((record) =>
		record.engine === null || isSilent(record, nowMs) ? [] : [record.engine],
	);
	if (engines.length === 0) return null;
	const since = engines.flatMap(({ oldestDueAtMs }) => (oldestDueAtMs === null ? [] : [oldestDueAtMs]));
	return {
		inHand: engines.reduce((sum, { inHand }) => sum + inHand, 0),
		// Each sees its own slots, and no slot has two owners.
		programmesDue: engines.reduce((sum, { programmesDue }) => sum + programmesDue, 0),
		oldestDueAtMs: since.length === 0 ? null : Math.min(...since),
	};
}
