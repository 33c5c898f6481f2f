// The states of an engine, and the transitions between them.
//
//   unregistered ──its row was inserted──────────────────▶ running
//   running ──it must pause or stop──────────────────────▶ leaving
//   leaving ──it may send again──────────────────────────▶ running
//   leaving ──it gave up all slots and removed its row───▶ unregistered
//   running, leaving ──its row is gone───────────────────▶ unregistered
//   unregistered ──it must stop──────────────────────────▶ stopped
//   leaving ──it must stop, and the database is away─────▶ stopped
//
// unregistered: the engine has no row in `engines`, so it owns no slots, sends nothing and stores nothing.
// running:      it has a row, owns slots, and sends while its lease is fresh.
// leaving:      it starts no new request. It waits for the requests in flight, stores their results, and gives up its slots.
// stopped:      the main loop has ended. Nothing follows.

import { SECOND_MS } from "../domain/time.ts";

/** The engine's row in `engines`, without which it may write nothing. */
export interface Lease {
	engineId: number;
	/**
	 * Monotonic time of the last renewal, taken before the database was asked. It is negative infinity after the machine
	 * was suspended.
	 */
	renewedAtMs: number;
	/**
	 * True if the last pass failed without an answer from the database. Its transaction may have been committed anyway.
	 * In that case its results are already stored, and slots may have been taken or given up.
	 */
	isUncertain: boolean;
}

export type EngineState =
	| { kind: "unregistered" }
	| { kind: "running"; lease: Lease }
	| { kind: "leaving"; lease: Lease }
	| { kind: "stopped" };

type StateKind = EngineState["kind"];

const TRANSITIONS: Record<StateKind, readonly StateKind[]> = {
	unregistered: ["running", "stopped"],
	running: ["leaving", "unregistered"],
	leaving: ["running", "unregistered", "stopped"],
	stopped: [],
};

/** Returns the new state. Throws if the transition is not allowed, because that is a programming error. */
export function changeState(from: EngineState, to: EngineState): EngineState {
	if (!TRANSITIONS[from.kind].includes(to.kind)) {
		throw new Error(`an engine that is ${from.kind} cannot become ${to.kind}`);
	}
	return to;
}

/** Instruction from the rest of the process. On "pause" and "stop" the engine gives up its slots and its row. */
export type Intent = "send" | "pause" | "stop";

/** Derives the instruction. Callbacks are not sent while staff hold them, or while the clock is not reliable. */
export function intentOf(facts: { isStopRequested: boolean; isHeld: boolean; isClockSure: boolean }): Intent {
	if (facts.isStopRequested) return "stop";
	return facts.isHeld || !facts.isClockSure ? "pause" : "send";
}

/**
 * Time after a renewal during which the engine may start attempts. An engine that did not renew its row for 15 seconds
 * (SILENT_MS) loses its slots, and an attempt takes at most 5 seconds. An attempt that begins within this time has
 * therefore ended before another engine can own the slot.
 */
const LEASE_FRESH_MS = 10 * SECOND_MS;

export function isLeaseFresh({ renewedAtMs }: Pick<Lease, "renewedAtMs">, monotonicMs: number): boolean {
	return monotonicMs - renewedAtMs < LEASE_FRESH_MS;
}

/** Returns whether the engine may start a request now. Its lease must be fresh for this. */
export function maySend(state: EngineState, intent: Intent, monotonicMs: number): boolean {
	return state.kind === "running" && intent === "send" && isLeaseFresh(state.lease, monotonicMs);
}
