// Chores: periodic work that nobody asked for. Which there are, how one went, and when staff must hear that it does not
// get done.

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.ts";

interface ChoreKind {
	/** How long after one run the next begins. */
	intervalMs: number;
	/** What staff read when it has not been done for too long. */
	undone: string;
}

/** The names are labels of the metrics and keys of the table `chores`: added, not renamed. */
export const CHORES = {
	// Windows are days long; this is how late their end may be noticed.
	approvals: {
		intervalMs: 10 * SECOND_MS,
		undone: "Conversions that passed their approval window are not being approved",
	},
	expiries: {
		intervalMs: 10 * SECOND_MS,
		undone: "Unconfirmed parked conversions are not expiring",
	},
	// How long a job that another process left behind may go unnoticed, besides its claim; lines that nobody needs any more
	// are removed by the way.
	jobs: { intervalMs: 10 * SECOND_MS, undone: "Decisions and imports from files are not being worked off" },
	// How long after a change its mail is written, at the latest.
	change_mails: {
		intervalMs: 5 * SECOND_MS,
		undone: "People are not mailed about changes to accounts and programmes",
	},
	// How late a shop's people read that callbacks have been failing for ten minutes.
	early_notices: {
		intervalMs: 10 * SECOND_MS,
		undone: "People are not told that callbacks to their shop have been failing for ten minutes",
	},
	notice_mails: {
		intervalMs: 30 * SECOND_MS,
		undone: "Owners and developers are not mailed about failed callbacks",
	},
	// Strangers write nonces and limits: they stay no longer than they count.
	nonces: { intervalMs: MINUTE_MS, undone: "Nonces of signed requests, and limits that are over, pile up" },
	retention: { intervalMs: HOUR_MS, undone: "Records past the retention time are not being removed" },
} as const satisfies Record<string, ChoreKind>;

export type ChoreName = keyof typeof CHORES;

export function isChoreName(name: string): name is ChoreName {
	return Object.hasOwn(CHORES, name);
}

/** How a chore went, whichever process did it: as the table `chores` has it. */
export interface ChoreRecord {
	name: ChoreName;
	/** When somebody first set out to do it. */
	since_ms: number;
	last_success_ms: number | null;
	/** When a run that goes by batches last began one. */
	working_at_ms: number | null;
	last_failure_ms: number | null;
	/** Since the last success. */
	failures: number;
	/** What the last failure said; null without one. */
	error: string | null;
}

/** Runs may be missed: a database that restarts, a process that is replaced. */
const INTERVALS_MISSED = 10;
/** How a chore goes is written down, and read by other processes, a few times a minute. */
const LEAST_MISSED_MS = 2 * MINUTE_MS;

function choreTimeMs(name: ChoreName): number {
	return Math.max(CHORES[name].intervalMs * INTERVALS_MISSED, LEAST_MISSED_MS);
}

/**
 * Not done for its time. A run that never returns counts as not done. One that has much to do is fine as long as it goes
 * from batch to batch and nothing has failed since the last success.
 */
export function isLate(record: ChoreRecord, nowMs: number): boolean {
	const timeMs = choreTimeMs(record.name);
	if (nowMs <= lateSinceMs(record)) return false;
	return record.failures > 0 || record.working_at_ms === null || nowMs - record.working_at_ms > timeMs;
}

/** Of one that is late: from when on. */
export function lateSinceMs({ name, last_success_ms, since_ms }: ChoreRecord): number {
	return (last_success_ms ?? since_ms) + choreTimeMs(name);
}
