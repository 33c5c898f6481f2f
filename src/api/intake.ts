// Calls that report or decide, stored together: ONE transaction for all that wait (store-calls.ts).
//
//   calls ─▶ wait, by programme ─▶ batch ─▶ commit ─▶ engines told ─▶ every caller answered
//                 │                  └─▶ failed: tried again in parts, see workOn
//                 └─▶ no place, or no turn in time: 503, and nothing was done
//
// Alone, a call starts at once; what arrives while a batch is at work is the next batch. Programmes take turns, so that
// what one of them sends, or a row of its that somebody holds, is not the others' trouble. Nobody is answered before the
// commit, and a call that failed on our side has not spent its nonce.

import type { InTransaction } from "../conversions/deps.ts";
import { type Fault, fault, type Result } from "../domain/fault.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import type { KnownCallers } from "../programmes/known-callers.ts";
import { createBatches } from "../store/queries/batches.ts";
import type { LockWaitMs, Store } from "../store/store.ts";
import { isDatabaseUnavailable, waitedForLock, wasEndedForOthers } from "../store/unavailable.ts";
import type { Answer } from "./answers.ts";
import { type IntakeCall, type Stored, storeCalls } from "./store-calls.ts";

/**
 * The single calls of one transaction, and the items of its bulk calls: enough that the commit's cost disappears, few
 * enough that nobody waits long. A larger bulk call is the only one of its batch.
 */
export const MAX_BATCH_REQUESTS = 256;
/** While one batch is being committed, the next is at work. */
const LINES = 2;
/** Eight batches: a second or two of work. Whoever comes then is better told to come again than left waiting. */
const MAX_WAITING_REQUESTS = 2_048;

/** How many requests may wait, with the one that comes. What is left is for others, and a part of it for single calls. */
export const WAITING_ROOM = {
	single: { inAll: MAX_WAITING_REQUESTS, ofProgramme: MAX_WAITING_REQUESTS / 2 },
	/** Of a programme: a bulk call of 500, and what may wait beside it. */
	bulk: { inAll: (MAX_WAITING_REQUESTS * 3) / 4, ofProgramme: Math.floor(MAX_WAITING_REQUESTS / 3) },
} as const;

/** A caller who has heard nothing by then is told to come again, before it gives up by itself. */
export const MAX_WAIT_MS = 3 * SECOND_MS;
/** Of a service that stops: so that all are answered before their connections are closed. */
export const MAX_WAIT_WHILE_STOPPING_MS = SECOND_MS;
/** For how long the parts of a batch that failed are tried. */
const MAX_TRYING_MS = 3 * SECOND_MS;
/** As long as such a caller is asked to wait. Meanwhile its programme's calls go by themselves. */
export const HELD_MS = 5 * SECOND_MS;

export interface Intake {
	/**
	 * Undefined when there is no place, or no turn in time: nothing was done. Otherwise resolves once the call and its row
	 * of the inbound log are stored, and rejects when our side failed.
	 */
	take(call: IntakeCall): Promise<Result<Answer> | undefined>;
}

export interface IntakeDeps extends InTransaction {
	store: Pick<Store, "transact" | "announceDue" | "writes" | "queue">;
	log: Log;
	callers: Pick<KnownCallers, "forget">;
	stopSignal?: AbortSignal | undefined;
}

type Failed =
	/** `isUncertain`: it failed during the commit, and nobody knows whether it is stored. */
	{ ok: false; error: unknown; isUncertain: boolean };

type Tried = { ok: true; results: readonly Result<Answer>[] } | Failed;

/** Undefined: there was no time for it. */
type Ended = { ok: true; result: Result<Answer> } | Failed | undefined;

interface NumberedCall {
	call: IntakeCall;
	/** Its place in the batch. */
	index: number;
}

export function createIntake(deps: IntakeDeps): Intake {
	const { store, clock, log, callers, stopSignal } = deps;
	/** Programmes of which somebody held a row not long ago, and until when they are set apart. */
	const heldUntilMs = new Map<unknown, number>();
	const batches = createBatches<IntakeCall, Ended>(clock, workOn, {
		maxSize: MAX_BATCH_REQUESTS,
		sizeOf,
		groupOf: ({ programme }) => programme.id,
		isApart: (programmeId) => (heldUntilMs.get(programmeId) ?? 0) > clock.nowMs(),
		lines: LINES,
		maxWaitMs: MAX_WAIT_MS,
	});
	stopSignal?.addEventListener("abort", () => batches.shortenWait(MAX_WAIT_WHILE_STOPPING_MS), {
		once: true,
	});

	/**
	 * First all together. If that fails, each half of the programmes, and so on, until it is known whose calls cannot be
	 * stored. Those are tried last, one by one in their order, and where one waits for a row in vain the others of its
	 * programme do not.
	 */
	async function workOn(
		calls: readonly IntakeCall[],
		answer: (index: number, ended: Ended) => void,
	): Promise<readonly Ended[]> {
		const ended: Ended[] = [];
		const parts: (readonly NumberedCall[])[] = [calls.map((call, index) => ({ call, index }))];
		const alone: NumberedCall[] = [];
		const held = new Map<number, Failed>();
		let away: Failed | undefined;
		let tryUntilMs: number | undefined;

		async function tryPart(part: readonly NumberedCall[]): Promise<Tried | undefined> {
			if (away !== undefined) return away;
			if (tryUntilMs !== undefined && (clock.nowMs() >= tryUntilMs || stopSignal?.aborted)) return undefined;
			const lockWaitMs = tryUntilMs === undefined ? 1_000 : 250;
			const tried = await tryTogether(
				part.map(({ call }) => call),
				lockWaitMs,
			);
			if (!tried.ok && tryUntilMs === undefined) {
				tryUntilMs = clock.nowMs() + MAX_TRYING_MS;
				const fields = { err: tried.error, calls: calls.length };
				if (isWorthTryingAgain(tried, part)) log.warn(fields, "calls could not be stored together");
			}
			return tried;
		}

		function end(part: readonly NumberedCall[], tried: Tried | undefined): void {
			for (const [position, { call, index }] of part.entries()) {
				ended[index] = tried?.ok ? { ok: true, result: resultAt(tried.results, position) } : tried;
				answer(index, ended[index]);
				if (tried?.ok !== false) continue;
				if (isAway(tried.error)) away = tried;
				if (waitedForLock(tried.error)) held.set(call.programme.id, tried);
			}
		}

		for (const part of parts) {
			const tried = await tryPart(part);
			if (tried?.ok !== false || !isWorthTryingAgain(tried, part)) end(part, tried);
			else if (new Set(part.map(({ call }) => call.programme.id)).size === 1) alone.push(...part);
			else parts.push(...halveByProgramme(part));
		}
		for (const one of alone) end([one], held.get(one.call.programme.id) ?? (await tryPart([one])));
		for (const programmeId of held.keys()) setApart(programmeId);
		return ended;
	}

	async function tryTogether(calls: readonly IntakeCall[], maxLockWaitMs: LockWaitMs): Promise<Tried> {
		let isUncertain = false;
		let stored: Stored;
		try {
			stored = await store.transact(
				async (trx) => {
					const done = await storeCalls(trx, deps, calls);
					isUncertain = true;
					return done;
				},
				{ maxLockWaitMs },
			);
		} catch (error) {
			return { ok: false, error, isUncertain };
		}
		store.announceDue(stored.owed);
		for (const programmeId of stored.notedProgrammeIds) callers.forget(programmeId);
		return { ok: true, results: stored.results };
	}

	function setApart(programmeId: number): void {
		const nowMs = clock.nowMs();
		for (const [id, untilMs] of heldUntilMs) if (untilMs <= nowMs) heldUntilMs.delete(id);
		heldUntilMs.set(programmeId, nowMs + HELD_MS);
	}

	function hasRoom(call: IntakeCall): boolean {
		const size = sizeOf(call);
		const { inAll, ofProgramme } = size > 1 ? WAITING_ROOM.bulk : WAITING_ROOM.single;
		if (batches.waitingSize + size > inAll) return false;
		return batches.waitingSizeOf(call.programme.id) + size <= ofProgramme;
	}

	return {
		async take(call) {
			if (!hasRoom(call)) return undefined;
			const ended = await batches.add(call);
			if (ended?.ok === false) throw ended.error;
			return ended?.result;
		},
	};
}

/** For a call that was not taken. */
export function tooManyWaiting(): Fault {
	return fault(
		"unavailable",
		"More calls wait than we can store at the moment, and nothing of this one was stored. Send it again in a few seconds, signed anew.",
	);
}

function sizeOf({ requests }: IntakeCall): number {
	return Math.max(1, requests.length);
}

function isWorthTryingAgain(
	{ error, isUncertain }: { error: unknown; isUncertain: boolean },
	part: readonly unknown[],
): boolean {
	if (isUncertain) return false;
	// Not to blame, not even a single call: it comes through now.
	if (wasEndedForOthers(error)) return true;
	return part.length > 1 && (waitedForLock(error) || !isDatabaseUnavailable(error));
}

/** Then each of the others would wait for it in vain. */
function isAway(error: unknown): boolean {
	return isDatabaseUnavailable(error) && !wasEndedForOthers(error) && !waitedForLock(error);
}

/** Calls of a programme stay together, in their order. */
function halveByProgramme(part: readonly NumberedCall[]): (readonly NumberedCall[])[] {
	const byProgramme = [...Map.groupBy(part, ({ call }) => call.programme.id).values()];
	const middle = Math.ceil(byProgramme.length / 2);
	return [byProgramme.slice(0, middle).flat(), byProgramme.slice(middle).flat()];
}

function resultAt(results: readonly Result<Answer>[], position: number): Result<Answer> {
	const result = results[position];
	if (result === undefined) throw new Error("a call came back without its result");
	return result;
}
