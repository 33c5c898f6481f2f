// Stores calls that report or decide. All calls that wait are one batch, which takes one or two commits (store-calls.ts).
//
//   calls ─▶ wait, by programme ─▶ batch ─▶ commit ─▶ engines notified ─▶ every caller answered
//                 │                  └─▶ failed: its calls one by one
//                 └─▶ no room, or waited too long: 503, and nothing was done
//
// A call that comes alone starts at once, and calls that arrive while a batch is stored are the next batch. Programmes
// take turns, so the calls of one programme, or a lock on one of its rows, do not delay the others. Nobody is answered
// before the commit, and a call that failed on our side has not spent its nonce.

import { createBatcher } from "../../concurrency/batching.ts";
import { refuseBusy } from "../conversions/order-request.ts";
import { type Fault, fault, type Result } from "../domain/fault.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { ConflictError } from "../store/conflict.ts";
import type { LockWaitMs, Store } from "../store/store.ts";
import { isDatabaseUnavailable, waitedForLock, wasEndedForOthers } from "../store/unavailable.ts";
import type { Answer } from "./answers.ts";
import type { IntakeCall, LoneCall, SharedCall } from "./call-plan.ts";
import type { StoringWatch } from "./deps.ts";
import { type Failure, type StoringDeps, storeCalls, storeLoneCall } from "./store-calls.ts";

/**
 * Maximum number of single calls in one transaction. The same limit applies to the total number of items in
 * its bulk calls. At this size the cost of the commit per call is negligible, and nobody waits long. A larger
 * bulk call gets a batch of its own.
 */
export const MAX_BATCH_REQUESTS = 256;
/** Maximum number of batches in progress. While one batch is being committed, the next one is processed. */
const MAX_BATCHES_AT_ONCE = 2;
/**
 * Maximum number of waiting requests. They fill eight batches, which take one or two seconds. Further callers
 * are refused, which is better for them than a long wait.
 */
const MAX_WAITING_REQUESTS = 2_048;

/**
 * Maximum number of waiting requests, including the new one, at which a call of this kind is still accepted.
 * The remaining places are reserved for other programmes and for single calls.
 */
export const WAITING_ROOM = {
	single: { inAll: MAX_WAITING_REQUESTS, ofProgramme: MAX_WAITING_REQUESTS / 2 },
	/** Limits for bulk calls. They allow each programme one waiting bulk call of 500 items, and a few smaller ones. */
	bulk: { inAll: (MAX_WAITING_REQUESTS * 3) / 4, ofProgramme: Math.floor(MAX_WAITING_REQUESTS / 3) },
} as const;

/**
 * Maximum time that a call waits. It is then refused with "try again", before its caller gives up without an
 * answer.
 */
export const MAX_WAIT_MS = 3 * SECOND_MS;
/**
 * Maximum time that a call waits while the service stops. The limit is short, so that every caller is answered before
 * connections are closed.
 */
export const MAX_WAIT_WHILE_STOPPING_MS = SECOND_MS;
/** Maximum time for which the calls of a failed batch are stored one by one. */
const MAX_RETRY_MS = 3 * SECOND_MS;
/**
 * Time for which a programme with a locked row gets batches of its own. It is also the Retry-After value in
 * answers to its callers.
 */
export const HELD_MS = 5 * SECOND_MS;
/** Maximum time that a batch waits for each of its locks. */
const BATCH_LOCK_WAIT_MS: LockWaitMs = 1_000;
/** Maximum time that a single call waits for each of its locks after its batch failed. */
const SINGLE_LOCK_WAIT_MS: LockWaitMs = 250;

export interface Intake {
	/**
	 * Resolves once the call and its row of the inbound log are stored. Resolves to undefined if there was no room or
	 * the call waited too long, and then nothing was done. Rejects after a failure on our side.
	 */
	accept(call: IntakeCall): Promise<Result<Answer> | undefined>;
}

export interface IntakeDeps extends StoringDeps {
	store: StoringDeps["store"] & Pick<Store, "announceDue">;
	log: Log;
	stopSignal?: AbortSignal | undefined;
	storing?: StoringWatch;
}

export function createIntake(deps: IntakeDeps): Intake {
	const { clock, stopSignal } = deps;
	const held = createMarks(clock, HELD_MS);
	const batcher = createBatcher<SharedCall, Result<Answer>>(clock, storeBatch, {
		maxSize: MAX_BATCH_REQUESTS,
		sizeOf,
		groupOf: ({ programme }) => programme.id,
		isIsolated: held.has,
		workers: MAX_BATCHES_AT_ONCE,
		maxWaitMs: MAX_WAIT_MS,
	});
	stopSignal?.addEventListener("abort", () => batcher.setMaxWait(MAX_WAIT_WHILE_STOPPING_MS), {
		once: true,
	});

	async function storeBatch(calls: readonly SharedCall[], answer: AnswerCall): Promise<void> {
		const indexOf = new Map<IntakeCall, number>(calls.map((call, index) => [call, index]));
		const left = new Set<IntakeCall>(calls);
		const answerCall: AnswerOf = (call, result) => {
			left.delete(call);
			answer(indexOf.get(call) ?? -1, result);
		};
		const failure = await tryToStore(deps, calls, BATCH_LOCK_WAIT_MS, answerCall);
		if (failure === null) return;
		const open = calls.filter((call) => left.has(call));
		if (!isWorthRetrying(failure, calls.length)) {
			for (const call of open) answerCall(call, resultOf(failure));
			return;
		}
		deps.log.warn({ err: failure.error, calls: open.length }, "calls could not be stored together");
		held.add(await storeOneByOne(deps, open, answerCall));
	}

	function hasRoom(call: SharedCall): boolean {
		const size = sizeOf(call);
		const { inAll, ofProgramme } = size > 1 ? WAITING_ROOM.bulk : WAITING_ROOM.single;
		if (batcher.waitingSize + size > inAll) return false;
		return batcher.waitingSizeOf(call.programme.id) + size <= ofProgramme;
	}

	return {
		async accept(call) {
			if (call.runsAlone === true) return storeLone(deps, call);
			return hasRoom(call) ? batcher.add(call) : undefined;
		},
	};
}

type AnswerCall = (index: number, result: Promise<Result<Answer>>) => void;
type AnswerOf = (call: IntakeCall, result: Promise<Result<Answer>>) => void;

/** Stores calls, notifies the engines of the new deliveries, and answers the calls that were stored. Never rejects. */
async function tryToStore(
	deps: IntakeDeps,
	calls: readonly SharedCall[],
	maxLockWaitMs: LockWaitMs,
	answer: AnswerOf,
): Promise<Failure | null> {
	const { failure } = await storeCalls(deps, calls, maxLockWaitMs, ({ results, owed }) => {
		deps.store.announceDue(owed);
		for (const [call, result] of results) answer(call, Promise.resolve(result));
	});
	noteOutcome(deps, failure);
	return failure;
}

async function storeLone(deps: IntakeDeps, call: LoneCall): Promise<Result<Answer>> {
	const attempted = await storeLoneCall(deps, call);
	noteOutcome(deps, attempted.failure);
	return attempted.failure === null ? attempted.value : resultOf(attempted.failure);
}

function noteOutcome({ storing }: IntakeDeps, failure: Failure | null): void {
	// A conflict about an order does not mean that the database has failed.
	if (!(failure?.error instanceof ConflictError)) storing?.note(failure === null ? null : failure.error);
}

/**
 * Stores the calls of a failed batch one by one in their order, so that only the call that caused the failure is refused.
 * If one call waits for a lock in vain, the others of its programme are not tried. While the database is out of reach,
 * none is tried. Calls for which there is no time left are not answered here. Returns the programmes with a locked row.
 */
async function storeOneByOne(
	deps: IntakeDeps,
	calls: readonly SharedCall[],
	answer: AnswerOf,
): Promise<Iterable<number>> {
	const { clock, stopSignal } = deps;
	const untilMs = clock.nowMs() + MAX_RETRY_MS;
	const lockedProgrammes = new Map<number, Failure>();
	let unavailable: Failure | undefined;
	for (const call of calls) {
		let failure: Failure | null = unavailable ?? lockedProgrammes.get(call.programme.id) ?? null;
		if (failure === null) {
			if (clock.nowMs() >= untilMs || stopSignal?.aborted === true) break;
			failure = await tryToStore(deps, [call], SINGLE_LOCK_WAIT_MS, answer);
		}
		if (failure === null) continue;
		answer(call, resultOf(failure));
		const { error } = failure;
		if (waitedForLock(error)) lockedProgrammes.set(call.programme.id, failure);
		else if (isDatabaseUnavailable(error) && !wasEndedForOthers(error)) unavailable = failure;
	}
	return lockedProgrammes.keys();
}

/** Creates a set of programmes that removes each of them after `forMs`. */
function createMarks(clock: Pick<Clock, "nowMs">, forMs: number) {
	const untilMs = new Map<unknown, number>();
	return {
		has: (programmeId: unknown): boolean => (untilMs.get(programmeId) ?? 0) > clock.nowMs(),
		add(programmeIds: Iterable<number>): void {
			const nowMs = clock.nowMs();
			for (const [id, endsAtMs] of untilMs) if (endsAtMs <= nowMs) untilMs.delete(id);
			for (const id of programmeIds) untilMs.set(id, nowMs + forMs);
		},
	};
}

/** Returns the fault for a call that is refused because too many calls wait. */
export function tooManyWaiting(): Fault {
	return fault(
		"unavailable",
		"More calls wait than we can store at the moment, and nothing of this one was stored. Send it again in a few seconds, signed anew.",
	);
}

function sizeOf({ size = 1 }: SharedCall): number {
	return Math.max(1, size);
}

function isWorthRetrying({ error, isUncertain }: Failure, calls: number): boolean {
	if (isUncertain) return false;
	// The database ended this transaction to let another one proceed, so a retry succeeds even for a single
	// call.
	if (wasEndedForOthers(error)) return true;
	return calls > 1 && (waitedForLock(error) || !isDatabaseUnavailable(error));
}

/** Returns the answer to a call that was not stored. Rejects after a failure on our side. */
async function resultOf({ error }: Failure): Promise<Result<Answer>> {
	if (error instanceof ConflictError) return refuseBusy();
	throw error;
}
