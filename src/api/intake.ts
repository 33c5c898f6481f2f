// Calls that report or decide, stored together: ONE transaction for all that wait.
//
//   calls ─▶ wait, by programme ─▶ batch ─▶ commit ─▶ engines told ─▶ every caller answered
//                 │                  └─▶ failed: its calls one by one, each in a transaction of its own
//                 └─▶ no place, or no turn in time: 503, and nothing was done
//
// Alone, a call starts at once; what arrives while a batch is at work is the next batch. Programmes take turns, so that
// what one of them sends, or a row of its that somebody holds, is not the others' trouble. Nobody is answered before the
// commit, and a call that failed on our side has not spent its nonce.

import { createBatcher } from "../concurrency/batching.ts";
import type { Decided, InTransaction } from "../conversions/deps.ts";
import { judgeAndMove, type OrderRequest } from "../conversions/judge-and-move.ts";
import { type Fault, fault, type Result, refusalOf } from "../domain/fault.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import type { Caller } from "../programmes/callers.ts";
import { noteFirstTime } from "../store/queries/first-times.ts";
import { noteKeyUses } from "../store/queries/keys.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db, LockWaitMs, Store } from "../store/store.ts";
import { isDatabaseUnavailable, waitedForLock, wasEndedForOthers } from "../store/unavailable.ts";
import type { Answer, Outcome } from "./answers.ts";
import type { StoringWatch } from "./deps.ts";
import { type InboundCall, inboundRow, refusedRow } from "./inbound-log.ts";

/**
 * The single calls of one transaction, and the items of its bulk calls: enough that the commit's cost disappears, few
 * enough that nobody waits long. A larger bulk call is the only one of its batch.
 */
export const MAX_BATCH_REQUESTS = 256;
/** While one batch is being committed, the next is at work. */
const MAX_BATCHES_AT_ONCE = 2;
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
/** For how long the calls of a batch that failed are tried one by one. */
const MAX_TRYING_MS = 3 * SECOND_MS;
/** As long as such a caller is asked to wait. Meanwhile its programme's calls go by themselves. */
export const HELD_MS = 5 * SECOND_MS;

/** What an endpoint makes of a call. */
export interface Work {
	/** For the inbound log, also of a refused call: people search it by order. */
	orderId: string | null;
	/** None for a call that only reads, or is refused for what it says. */
	requests: readonly OrderRequest<Decided<Outcome>>[];
	/** How many items it has, with those that are refused: each takes a row of the log. One where it is not said. */
	size?: number;
	/** `results` are those of the requests, in their order. */
	answer(results: readonly Result<Decided<Outcome>>[], trx: Db): Result<Answer> | Promise<Result<Answer>>;
	/** It only reads, or tells what a listener did: in a short transaction of its own, beside the batches. */
	isAlone?: true;
}

export interface IntakeCall extends Work {
	inbound: InboundCall;
	programme: Programme;
	/** Null for a pixel, which anybody can call. */
	caller: Caller | null;
	/** What it is told whatever becomes of it: a browser gets its image. */
	httpStatus?: number;
}

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
	stopSignal?: AbortSignal | undefined;
	storing?: StoringWatch;
}

type Tried =
	| { ok: true; results: readonly Result<Answer>[] }
	/** `isUncertain`: it failed during the commit, and nobody knows whether it is stored. */
	| { ok: false; error: unknown; isUncertain: boolean };

export function createIntake(deps: IntakeDeps): Intake {
	const { store, clock, log, stopSignal } = deps;
	/** Programmes of which somebody held a row not long ago, and until when they are set apart. */
	const heldUntilMs = new Map<unknown, number>();
	const batcher = createBatcher<IntakeCall, Result<Answer>>(clock, workOn, {
		maxSize: MAX_BATCH_REQUESTS,
		sizeOf,
		groupOf: ({ programme }) => programme.id,
		isIsolated: (programmeId) => (heldUntilMs.get(programmeId) ?? 0) > clock.nowMs(),
		workers: MAX_BATCHES_AT_ONCE,
		maxWaitMs: MAX_WAIT_MS,
	});
	stopSignal?.addEventListener("abort", () => batcher.setMaxWait(MAX_WAIT_WHILE_STOPPING_MS), {
		once: true,
	});

	/**
	 * First all together. If that fails, one by one in their order: so only the culprit hears of it. Where one waits for a
	 * row in vain the others of its programme do not, and while the database is away none is tried. What there is no time
	 * for is not answered.
	 */
	async function workOn(
		calls: readonly IntakeCall[],
		answer: (index: number, result: Promise<Result<Answer>>) => void,
	): Promise<void> {
		const together = await tryTogether(calls, 1_000);
		if (together.ok || !isWorthTryingAgain(together, calls.length)) {
			for (const index of calls.keys()) answer(index, resultAt(together, index));
			return;
		}
		log.warn({ err: together.error, calls: calls.length }, "calls could not be stored together");
		const untilMs = clock.nowMs() + MAX_TRYING_MS;
		const held = new Map<number, Tried>();
		let away: Tried | undefined;
		for (const [index, call] of calls.entries()) {
			let tried = away ?? held.get(call.programme.id);
			if (tried === undefined) {
				if (clock.nowMs() >= untilMs || stopSignal?.aborted === true) break;
				tried = await tryTogether([call], 250);
			}
			answer(index, resultAt(tried, 0));
			if (tried.ok) continue;
			if (waitedForLock(tried.error)) held.set(call.programme.id, tried);
			else if (isDatabaseUnavailable(tried.error) && !wasEndedForOthers(tried.error)) away = tried;
		}
		for (const programmeId of held.keys()) setApart(programmeId);
	}

	async function tryTogether(calls: readonly IntakeCall[], maxLockWaitMs?: LockWaitMs): Promise<Tried> {
		let isUncertain = false;
		try {
			const { results, owed } = await store.transact(
				async (trx) => {
					const stored = await storeCalls(trx, deps, calls);
					isUncertain = true;
					return stored;
				},
				maxLockWaitMs === undefined ? {} : { maxLockWaitMs },
			);
			store.announceDue(owed);
			deps.storing?.note(null);
			return { ok: true, results };
		} catch (error) {
			deps.storing?.note(error);
			return { ok: false, error, isUncertain };
		}
	}

	function setApart(programmeId: number): void {
		const nowMs = clock.nowMs();
		for (const [id, untilMs] of heldUntilMs) if (untilMs <= nowMs) heldUntilMs.delete(id);
		heldUntilMs.set(programmeId, nowMs + HELD_MS);
	}

	function hasRoom(call: IntakeCall): boolean {
		const size = sizeOf(call);
		const { inAll, ofProgramme } = size > 1 ? WAITING_ROOM.bulk : WAITING_ROOM.single;
		if (batcher.waitingSize + size > inAll) return false;
		return batcher.waitingSizeOf(call.programme.id) + size <= ofProgramme;
	}

	return {
		async take(call) {
			if (call.isAlone === true) return resultAt(await tryTogether([call]), 0);
			return hasRoom(call) ? batcher.add(call) : undefined;
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

function sizeOf({ size = 1 }: IntakeCall): number {
	return Math.max(1, size);
}

function isWorthTryingAgain(
	{ error, isUncertain }: { error: unknown; isUncertain: boolean },
	calls: number,
): boolean {
	if (isUncertain) return false;
	// Not to blame, not even a single call: it comes through now.
	if (wasEndedForOthers(error)) return true;
	return calls > 1 && (waitedForLock(error) || !isDatabaseUnavailable(error));
}

async function resultAt(tried: Tried, index: number): Promise<Result<Answer>> {
	if (!tried.ok) throw tried.error;
	const result = tried.results[index];
	if (result === undefined) throw new Error("a call came back without its result");
	return result;
}

/**
 * Locked in one order by everybody: nonces, orders, credits, conversions, at the end programmes and keys, each by their ids.
 * Only a second round begins at the orders again: whoever is ended for it is tried again.
 */
async function storeCalls(
	trx: Db,
	deps: InTransaction,
	calls: readonly IntakeCall[],
): Promise<{ results: readonly Result<Answer>[]; owed: Owed }> {
	const { writes } = deps.store;
	const spent = await writes.spendNonces(
		trx,
		calls.flatMap(({ caller }) => caller?.nonce ?? []),
	);
	const isReplayed = ({ caller }: IntakeCall) => caller !== null && !spent.has(caller.nonce);
	const requests = calls.flatMap((call) => (isReplayed(call) ? [] : call.requests));
	const judged = await judgeAndMove(trx, deps, requests);
	const resultOf = new Map(requests.map((request, index) => [request, judged.results[index]]));
	const nowMs = deps.clock.nowMs();
	const results: Result<Answer>[] = [];
	const rows = [];
	const working: Record<"first_signed_at_ms" | "first_pixel_at_ms", Set<Programme>> = {
		first_signed_at_ms: new Set(),
		first_pixel_at_ms: new Set(),
	};
	const keyUses = new Map<number, number>();
	for (const call of calls) {
		const { inbound, programme, caller, httpStatus } = call;
		const decided = call.requests.flatMap((request) => resultOf.get(request) ?? []);
		const result = isReplayed(call) ? refusalOf("replayed_nonce", {}) : await call.answer(decided, trx);
		results.push(result);
		const about = { programmeId: programme.id, orderId: call.orderId, httpStatus };
		if (result.ok) {
			const { value } = result;
			rows.push(
				inboundRow(inbound, nowMs, {
					programme_id: programme.id,
					outcome: value.outcome,
					http_status: httpStatus ?? value.httpStatus,
					detail: value.detail ?? null,
					order_id: value.orderId ?? call.orderId,
					conversion: value.conversionId,
				}),
				...(value.refusedItems ?? []).map(({ orderId, fault: refused }) =>
					refusedRow(inbound, refused, nowMs, { programmeId: programme.id, orderId }),
				),
			);
			if (caller !== null && value.isOfListener !== true) working.first_signed_at_ms.add(programme);
		} else {
			rows.push(
				refusedRow(inbound, result.fault, nowMs, isReplayed(call) ? { ...about, orderId: null } : about),
			);
		}
		if (decided.some((done) => done.ok && done.value.showsPixelWorks))
			working.first_pixel_at_ms.add(programme);
		if (caller !== null && caller.keyUsedAtMs !== null && !isReplayed(call))
			keyUses.set(caller.keyId, caller.keyUsedAtMs);
	}
	await writes.insertInboundCalls(trx, rows);
	for (const what of ["first_signed_at_ms", "first_pixel_at_ms"] as const) {
		const first = [...working[what]].filter((programme) => programme[what] === null);
		const ids = first.map(({ id }) => id);
		await noteFirstTime(trx, what, ids, nowMs);
		// As callers.ts keeps them for a second: if the commit fails, the next reading tells.
		for (const programme of first) programme[what] = nowMs;
	}
	await noteKeyUses(trx, keyUses);
	return { results, owed: judged.owed };
}
