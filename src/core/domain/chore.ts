// Chores are periodic background work that no request triggers. This file lists them and decides when a chore
// is so late that staff must be warned.

import { HOUR_MS, MINUTE_MS, SECOND_MS } from "./time.ts";

interface ChoreKind {
	/** Time between the end of one run and the start of the next. */
	intervalMs: number;
	/** Sentence that staff read if the chore is late. */
	undone: string;
}

/**
 * All chores. Their names are metric labels and keys of the table `chores`, so they may be added but not
 * renamed.
 */
export const CHORES = {
	// Approval windows last days, so it does not matter that their end is noticed up to one interval late.
	approvals: {
		intervalMs: 10 * SECOND_MS,
		undone: "Conversions that passed their approval window are not being approved",
	},
	expiries: {
		intervalMs: 10 * SECOND_MS,
		undone: "Unconfirmed parked conversions are not expiring",
	},
	// When a process dies, its jobs wait until its claim on them expires, and then up to one interval more. Mostly no job
	// waits, and a run is a query that finds no row.
	jobs: { intervalMs: SECOND_MS, undone: "Decisions, statements and files are not being worked off" },
	// A mail about a change is written at most one interval after the change.
	change_mails: {
		intervalMs: 5 * SECOND_MS,
		undone: "People are not mailed about changes to accounts and programmes",
	},
	// An erasure ends access at once. Names in other tables may stay for one interval longer.
	erasures: {
		intervalMs: 10 * SECOND_MS,
		undone: "Names of erased people and partners are not being removed",
	},
	// People learn up to one interval late that callbacks have been failing for ten minutes.
	early_notices: {
		intervalMs: 10 * SECOND_MS,
		undone: "People are not told that callbacks to their shop have been failing for ten minutes",
	},
	notice_mails: {
		intervalMs: 30 * SECOND_MS,
		undone: "Owners and developers are not mailed about failed callbacks",
	},
	// A partner who wants a mail for each sale gets it at most one interval late.
	sale_mails: {
		intervalMs: 30 * SECOND_MS,
		undone: "Partners are not mailed about their sales, and owners not about conversions that wait",
	},
	// Anybody can cause nonces and rate-limit counts to be stored, so they are removed soon after they expire.
	nonces: { intervalMs: MINUTE_MS, undone: "Nonces of signed requests, and limits that are over, pile up" },
	retention: { intervalMs: HOUR_MS, undone: "Records past the retention time are not being removed" },
} as const satisfies Record<string, ChoreKind>;

export type ChoreName = keyof typeof CHORES;

export function isChoreName(name: string): name is ChoreName {
	return Object.hasOwn(CHORES, name);
}

/** State of a chore in the table `chores`. All processes share it. */
export interface ChoreRecord {
	name: ChoreName;
	/** Time at which a process first tried to run the chore. */
	since_ms: number;
	last_success_ms: number | null;
	/** Time at which the last batch began, for a chore that works in batches. */
	working_at_ms: number | null;
	last_failure_ms: number | null;
	failures: number;
	error: string | null;
}

/** Number of runs that a chore may miss, for example while a database restarts or a process is replaced. */
const INTERVALS_MISSED = 10;
/**
 * Minimum time without success before a chore counts as late. The state of chores is written and read only a
 * few times a minute.
 */
const LEAST_MISSED_MS = 2 * MINUTE_MS;

function choreTimeMs(name: ChoreName): number {
	return Math.max(CHORES[name].intervalMs * INTERVALS_MISSED, LEAST_MISSED_MS);
}

/**
 * Returns whether the chore has not succeeded in time. A run that never returns counts as not done. A long
 * run is not late as long as it begins new batches and has not failed since the last success.
 */
export function isLate(record: ChoreRecord, nowMs: number): boolean {
	const timeMs = choreTimeMs(record.name);
	if (nowMs <= lateSinceMs(record)) return false;
	return record.failures > 0 || record.working_at_ms === null || nowMs - record.working_at_ms > timeMs;
}

/** Returns the time at which the chore becomes late if it does not succeed again. */
export function lateSinceMs({ name, last_success_ms, since_ms }: ChoreRecord): number {
	return (last_success_ms ?? since_ms) + choreTimeMs(name);
}
