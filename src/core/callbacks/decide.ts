// Decides the engine's next step, which is to register, run a pass, sleep, or end. The decision is a pure function of
// a snapshot of what the engine knows, and of the time.

import type { ReceiverId } from "../domain/receiver.ts";
import { SECOND_MS } from "../domain/time.ts";
import { type EngineState, type Intent, isLeaseFresh, type Lease } from "./engine-state.ts";

/** Interval at which an engine on SQLite looks for new rows after another process wrote to the file. */
const POLL_MS = SECOND_MS;

/** Everything that the engine's next step depends on. Times are monotonic unless their comment says otherwise. */
export interface Situation {
	state: EngineState;
	intent: Intent;
	inFlight: number;
	slotCount: number;
	/** Slots that the engine is to give up and that have no delivery in progress. */
	idleSlots: readonly number[];
	/** Receivers that have a delivery due and room for it, with the number of deliveries to read. */
	readable: readonly ReadLimit[];
	/** Time, by the shared clock, at which the next receiver has a delivery due. */
	nextDueAtMs: number;
	results: {
		count: number;
		/** Number of waiting results that makes a pass worthwhile. */
		storeAtCount: number;
		/** Time by which the oldest result must be stored. */
		storeAtMs: number;
	};
	/** True if a notification may have been missed, or slots are new, so that the first due rows must be read again. */
	needsReread: boolean;
	timers: EngineTimers;
	/** Time at which the engine checks again whether staff hold all callbacks. */
	holdCheckAtMs: number;
}

export interface EngineTimers {
	/** Time at which the engine renews its row and looks at all slots. */
	renewAtMs: number;
	/** Time of the next routine check, which reads the first due rows although no notification seems to be missing. */
	checkAtMs: number;
	/** Time until which the engine removes no other engine. After an outage the others may only be late. */
	patientUntilMs: number;
	/** Time until which the engine polls, because another process wrote to the same SQLite file. */
	pollUntilMs: number;
}

export interface ReadLimit {
	receiverId: ReceiverId;
	limit: number;
}

/** Decisions about one pass of the engine. */
export interface PassPlan {
	isRenewal: boolean;
	/**
	 * False for an engine that gives up all its slots. It takes no new ones, and the other engines share the slots
	 * without it.
	 */
	wantsSlots: boolean;
	removesSilent: boolean;
	/**
	 * Reason to read the first due row of each receiver, or null if these rows are not read. "requested" means that a
	 * notification may have been missed. "routine" means that no notification should be missing, so a row that is found
	 * then is a defect.
	 */
	reread: "requested" | "routine" | null;
	giveUp: readonly number[];
	/** Whether the pass also removes the engine's row. */
	isLast: boolean;
	reads: readonly ReadLimit[];
}

export interface Moment {
	/** Time by the clock that all processes share. */
	nowMs: number;
	monotonicMs: number;
}

export type Step =
	| { kind: "register" }
	| { kind: "pass"; lease: Lease; plan: PassPlan }
	| { kind: "sleep"; forMs: number }
	| { kind: "end" };

export function decide(situation: Situation, now: Moment): Step {
	const { state, intent } = situation;
	switch (state.kind) {
		case "unregistered":
			if (intent === "stop") return { kind: "end" };
			if (intent === "send") return { kind: "register" };
			return { kind: "sleep", forMs: situation.holdCheckAtMs - now.monotonicMs };
		case "running":
		case "leaving": {
			const plan = planPass(state.lease, situation, now);
			return plan === null
				? { kind: "sleep", forMs: untilNextTimer(situation, now) }
				: { kind: "pass", lease: state.lease, plan };
		}
		case "stopped":
			return { kind: "end" };
		default:
			return state satisfies never;
	}
}

/** Returns whether the engine gives up all its slots and no further result can arrive. */
export function hasNothingLeftToWaitFor({
	intent,
	inFlight,
}: Pick<Situation, "intent" | "inFlight">): boolean {
	return intent !== "send" && inFlight === 0;
}

/** Returns the plan of the next pass, or null if a pass would have nothing to do. */
function planPass(lease: Lease, situation: Situation, { monotonicMs }: Moment): PassPlan | null {
	const { intent, slotCount, idleSlots, readable, results, timers } = situation;
	const isFresh = isLeaseFresh(lease, monotonicMs);
	const isEnding = hasNothingLeftToWaitFor(situation);
	const reread = planReread(situation, isFresh, monotonicMs);
	const isRenewal = lease.isUncertain || reread === "requested" || monotonicMs >= timers.renewAtMs;
	const storesResults = results.count >= results.storeAtCount || monotonicMs >= results.storeAtMs || isEnding;
	const isIdle = readable.length === 0 && idleSlots.length === 0;
	if (!isRenewal && reread === null && !storesResults && isIdle) return null;
	return {
		isRenewal,
		wantsSlots: intent === "send",
		removesSilent: isFresh && monotonicMs >= timers.patientUntilMs,
		reread,
		giveUp: idleSlots,
		// While the last pass is uncertain, the engine may own slots that it does not know of, so its row must stay.
		isLast: isEnding && idleSlots.length === slotCount && !lease.isUncertain,
		reads: readable,
	};
}

function planReread(
	{ needsReread, timers }: Situation,
	isFresh: boolean,
	monotonicMs: number,
): PassPlan["reread"] {
	if (needsReread) return "requested";
	if (monotonicMs < timers.checkAtMs) return null;
	// An old lease means that this process was suspended. Notifications may still be waiting in its socket, so rows that the
	// check finds were not missed.
	return isFresh ? "routine" : "requested";
}

function untilNextTimer(situation: Situation, { nowMs, monotonicMs }: Moment): number {
	const { nextDueAtMs, results, timers, holdCheckAtMs } = situation;
	const nextTimerMs = Math.min(timers.renewAtMs, timers.checkAtMs, results.storeAtMs, holdCheckAtMs);
	const pollInMs = monotonicMs < timers.pollUntilMs ? POLL_MS : Number.POSITIVE_INFINITY;
	return Math.min(nextDueAtMs - nowMs, nextTimerMs - monotonicMs, pollInMs);
}
