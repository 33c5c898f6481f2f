// Calls that report or decide, stored together: ONE transaction for all that wait.
//
//   calls ─▶ wait ─▶ nonces · requests judged, moves and owed events · inbound log · first times, use of keys
//         ─▶ commit ─▶ engines told ─▶ every caller answered
//
// Alone, a call starts at once; what arrives while a batch is at work is the next batch. Each call has an outcome or a
// refusal of its own. A batch that fails is tried one by one, so that a call which cannot be stored fails by itself.
// Nobody is answered before the commit, and a call that failed on our side has not spent its nonce.

import { acceptNonces, type Caller, noteCallers } from "../accounts/identify-caller.ts";
import type { KnownCallers } from "../accounts/known-callers.ts";
import type { Decided, InTransaction } from "../conversions/deps.ts";
import { judgeAndMove, type OrderRequest } from "../conversions/judge-and-move.ts";
import { type Fault, fault, type Result } from "../domain/fault.ts";
import type { Log } from "../ports.ts";
import { createBatches } from "../store/batches.ts";
import { type FirstTime, noteFirstTimes } from "../store/first-times.ts";
import { insertInboundCalls } from "../store/inbound-calls.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db, Store } from "../store/store.ts";
import { isDatabaseUnavailable, waitedForLock, wasEndedForOthers } from "../store/unavailable.ts";
import type { Answer, Outcome } from "./answers.ts";
import type { InboundCall } from "./inbound-call.ts";
import { acceptedEnd, inboundRow, refusedEnd } from "./inbound-log.ts";

/** The requests of one transaction: enough that the commit's cost disappears, few enough that nobody waits long. */
export const MAX_BATCH_REQUESTS = 256;
/** While one batch is being committed, the next is at work. */
const LINES = 2;
/** Eight batches: a second or two of work. Whoever comes then is better told to come again than left waiting. */
export const MAX_WAITING_REQUESTS = 2_048;

export interface IntakeCall {
	inbound: InboundCall;
	programme: Programme;
	/** Null for a pixel, which anybody can call. */
	caller: Caller | null;
	/** For the inbound log. */
	orderId: string | null;
	/** None for a call that is refused for what it says. */
	requests: readonly OrderRequest<Decided<Outcome>>[];
	/** `results` are those of the requests, in their order. */
	answer(results: readonly Result<Decided<Outcome>>[]): Result<Answer>;
	/** What it is told whatever becomes of it: a browser gets its image. */
	httpStatus?: number;
}

export interface Intake {
	/**
	 * Undefined when too many wait: nothing was done. Otherwise resolves once the call and its row of the inbound log are
	 * stored, and rejects when our side failed.
	 */
	take(call: IntakeCall): Promise<Result<Answer>> | undefined;
}

export interface IntakeDeps extends InTransaction {
	store: Pick<Store, "transact" | "announceDue">;
	log: Log;
	callers: Pick<KnownCallers, "forget">;
}

type Ended = { ok: true; result: Result<Answer> } | { ok: false; error: unknown };

type Tried =
	| { ok: true; results: readonly Result<Answer>[] }
	/** `isUncertain`: it failed during the commit, and nobody knows whether it is stored. */
	| { ok: false; error: unknown; isUncertain: boolean };

interface Stored {
	results: readonly Result<Answer>[];
	owedProgrammeIds: readonly number[];
	/** Of these something was written that is kept in memory. */
	notedProgrammeIds: readonly number[];
}

export function createIntake(deps: IntakeDeps): Intake {
	const { store, clock, log, callers } = deps;
	const batches = createBatches(clock, workOn, {
		maxSize: MAX_BATCH_REQUESTS,
		sizeOf,
		lines: LINES,
	});

	async function workOn(calls: readonly IntakeCall[]): Promise<readonly Ended[]> {
		const tried = await tryTogether(calls);
		if (tried.ok) return tried.results.map((result) => ({ ok: true, result }));
		if (!isWorthTryingAlone(tried, calls.length)) return calls.map(() => tried);
		log.warn(
			{ err: tried.error, calls: calls.length },
			"calls could not be stored together; trying each alone",
		);
		const ended: Ended[] = [];
		let away: Ended | undefined;
		/** Programmes of which somebody holds a row: not every call of theirs is to wait for it. */
		const held = new Map<number, Ended>();
		for (const call of calls) {
			const alone = away ?? held.get(call.programme.id) ?? (await tryAlone(call));
			if (!alone.ok && isAway(alone.error)) away = alone;
			if (!alone.ok && waitedForLock(alone.error)) held.set(call.programme.id, alone);
			ended.push(alone);
		}
		return ended;
	}

	async function tryAlone(call: IntakeCall): Promise<Ended> {
		const tried = await tryTogether([call]);
		if (!tried.ok) return tried;
		const [result] = tried.results;
		if (result === undefined) throw new Error("a call came back without its result");
		return { ok: true, result };
	}

	async function tryTogether(calls: readonly IntakeCall[]): Promise<Tried> {
		let isUncertain = false;
		let stored: Stored;
		try {
			stored = await store.transact(async (trx) => {
				const done = await storeCalls(trx, deps, calls);
				isUncertain = true;
				return done;
			});
		} catch (error) {
			return { ok: false, error, isUncertain };
		}
		store.announceDue(stored.owedProgrammeIds);
		for (const programmeId of stored.notedProgrammeIds) callers.forget(programmeId);
		return { ok: true, results: stored.results };
	}

	return {
		take(call) {
			if (batches.waitingSize + sizeOf(call) > MAX_WAITING_REQUESTS) return undefined;
			return batches.add(call).then((ended) => {
				if (!ended.ok) throw ended.error;
				return ended.result;
			});
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

function isWorthTryingAlone(
	{ error, isUncertain }: { error: unknown; isUncertain: boolean },
	calls: number,
): boolean {
	if (isUncertain) return false;
	// Not to blame, not even a single call: it comes through now.
	if (wasEndedForOthers(error)) return true;
	return calls > 1 && (waitedForLock(error) || !isDatabaseUnavailable(error));
}

/** Then each of the others would wait for it in vain. */
function isAway(error: unknown): boolean {
	return isDatabaseUnavailable(error) && !wasEndedForOthers(error) && !waitedForLock(error);
}

/**
 * Locked in one order by everybody: nonces, orders, conversions, at the end lanes, programmes and keys, each by their ids.
 * Only a second round begins at the orders again: whoever is ended for it is tried alone.
 */
async function storeCalls(trx: Db, deps: InTransaction, calls: readonly IntakeCall[]): Promise<Stored> {
	const refusals = await acceptNonces(
		trx,
		calls.flatMap(({ caller }) => caller ?? []),
	);
	const refusalOf = ({ caller }: IntakeCall) => (caller === null ? undefined : refusals.get(caller));
	const requests = calls.flatMap((call) => (refusalOf(call) === undefined ? call.requests : []));
	const judged = await judgeAndMove(trx, deps, requests);
	const resultOf = new Map(requests.map((request, index) => [request, judged.results[index]]));
	const answered = calls.map((call) => {
		const refusal = refusalOf(call);
		const results = call.requests.flatMap((request) => resultOf.get(request) ?? []);
		return { call, refusal, results, result: refusal ?? call.answer(results) };
	});
	const nowMs = deps.clock.nowMs();
	await insertInboundCalls(
		trx,
		answered.flatMap(({ call, refusal, result }) => {
			const { inbound, programme, orderId, httpStatus } = call;
			const end = result.ok
				? acceptedEnd(
						{ ...result.value, httpStatus: httpStatus ?? result.value.httpStatus },
						programme.id,
						orderId,
					)
				: refusedEnd(result.fault, programme.id, refusal === undefined ? orderId : null, httpStatus);
			const refusedItems = result.ok ? (result.value.refusedItems ?? []) : [];
			return [end, ...refusedItems.map((item) => refusedEnd(item.fault, programme.id, item.orderId))].map(
				(row) => inboundRow(inbound, row, nowMs),
			);
		}),
	);
	const firstTimes = answered.flatMap(({ call: { programme, caller }, results, result }) => {
		const times: FirstTime[] = [];
		if (result.ok && caller !== null) times.push("first_signed_at_ms");
		if (results.some((done) => done.ok && done.value.showsPixelWorks)) times.push("first_pixel_at_ms");
		return times.map((what) => ({ programme, what }));
	});
	const noted = [
		...(await noteFirstTimes(trx, firstTimes, nowMs)),
		...(await noteCallers(
			trx,
			answered.flatMap(({ call: { caller }, refusal }) =>
				caller === null || refusal !== undefined ? [] : [caller],
			),
		)),
	];
	return {
		results: answered.map(({ result }) => result),
		owedProgrammeIds: judged.owedProgrammeIds,
		notedProgrammeIds: [...new Set(noted)],
	};
}
