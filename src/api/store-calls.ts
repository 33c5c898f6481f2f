// Stores a batch of calls. It is read, judged in memory and written at once (conversions/change-orders.ts), together with
// what belongs to the calls themselves: used nonces, the inbound log, first times of programmes and uses of keys.
//
//   look ─▶ lock what may change ─▶ judge and answer ─▶ write
//
// On PostgreSQL a batch that changes no stored conversion has nothing to lock. Its write is one statement, which commits
// by itself. All transactions take their locks in the same order: existing conversions, nonces, new orders, and at the end
// programmes and keys, each in the order of its key. Nothing here changes cached rows, such as a call's programme, because
// the commit may fail.

import { idsToLock, judgeFound, lockFound, ordersOf } from "../conversions/change-orders.ts";
import type { Decided, InTransaction } from "../conversions/deps.ts";
import type { Found } from "../conversions/facts.ts";
import type { OrderRequest } from "../conversions/order-request.ts";
import { type Result, refusalOf } from "../domain/fault.ts";
import { KEY_USE_NOTED_EVERY_MS } from "../programmes/callers.ts";
import {
	type Asked,
	type BatchRows,
	type FirstTimes,
	type KeyUse,
	keyOfNonce,
	type Looked,
	type NewInboundCall,
	type Written,
} from "../store/batch.ts";
import { repeatConflicts } from "../store/conflict.ts";
import { NOTHING_OWED, type Owed } from "../store/queries/queue.ts";
import { type Db, type LockWaitMs, type Store, UncertainWrite } from "../store/store.ts";
import type { Answer, Outcome } from "./answers.ts";
import type { IntakeCall, LoneCall, RequestResult, SharedCall } from "./call-plan.ts";
import { inboundRow, refusedRow } from "./inbound-log.ts";

export interface StoringDeps extends InTransaction {
	store: Pick<Store, "db" | "transact" | "batch" | "writeAlone">;
}

export type Attempt = Stored | FailedAttempt;

interface Stored {
	ok: true;
	/** Results in the order of the calls. */
	results: readonly Result<Answer>[];
	owed: Owed;
}

export interface FailedAttempt {
	ok: false;
	error: unknown;
	/** True if the calls may have been stored although the attempt failed. */
	isUncertain: boolean;
}

/** Maximum number of times that a batch of several calls is judged together. After that its calls are stored one by one. */
const TURNS_TOGETHER = 2;

/** Stores calls together, all of them or none. Never rejects. */
export function storeCalls(
	deps: StoringDeps,
	calls: readonly SharedCall[],
	maxLockWaitMs: LockWaitMs,
): Promise<Attempt> {
	const turns = calls.length > 1 ? TURNS_TOGETHER : undefined;
	return attempt((onCommit) =>
		repeatConflicts(deps.clock, () => storeTogether(deps, calls, maxLockWaitMs, onCommit), turns),
	);
}

/** Stores a call that runs alone, in a transaction that answers it. Never rejects. */
export function storeLoneCall({ store, clock }: StoringDeps, call: LoneCall): Promise<Attempt> {
	const nonces = call.caller === null ? [] : [call.caller.nonce];
	return attempt((onCommit) =>
		repeatConflicts(clock, () =>
			store.transact(async (trx) => {
				const { usedNonces } = await store.batch.look(trx, { nonces, orders: [], programmeIds: [] });
				const isReplayed = nonces.some((nonce) => usedNonces.has(keyOfNonce(nonce)));
				const result = isReplayed ? refusalOf("replayed_nonce", {}) : await call.answer(trx);
				await store.batch.write(trx, rowsOfCalls([{ call, isReplayed, decided: [], result }], clock.nowMs()));
				onCommit();
				return { results: [result], owed: NOTHING_OWED };
			}),
		),
	);
}

/** Runs an attempt to store calls. It calls `onCommit` right before it commits. */
async function attempt(run: (onCommit: () => void) => Promise<Omit<Stored, "ok">>): Promise<Attempt> {
	let isUncertain = false;
	try {
		const stored = await run(() => {
			isUncertain = true;
		});
		return { ok: true, ...stored };
	} catch (error) {
		return error instanceof UncertainWrite
			? { ok: false, error: error.cause, isUncertain: true }
			: { ok: false, error, isUncertain };
	}
}

async function storeTogether(
	deps: StoringDeps,
	calls: readonly SharedCall[],
	maxLockWaitMs: LockWaitMs,
	onCommit: () => void,
): Promise<Omit<Stored, "ok">> {
	const { store, clock } = deps;
	const readAtMs = clock.monotonicMs();
	const asked = askAbout(calls);
	async function judge(db: Db, { accepted, replayed }: Accepted, found: Found) {
		const requests = accepted.flatMap((call) => call.requests);
		const { batch, results } = await judgeFound(db, deps, requests, found);
		const handled = answerCalls(calls, replayed, requests, results());
		return {
			rows: { ...batch.rows(), ...rowsOfCalls(handled, clock.nowMs()) },
			stored: (written: Written) => ({
				results: handled.map(({ result }) => result),
				owed: batch.owedAfter(written, readAtMs),
			}),
		};
	}
	const looked = store.writeAlone === null ? null : await store.batch.look(store.db, asked);
	if (store.writeAlone !== null && looked !== null) {
		const accepted = acceptCalls(calls, looked);
		if (idsToLock(requestsOf(accepted), looked.conversions).length === 0) {
			const { rows, stored } = await judge(store.db, accepted, { ...looked, lockedIds: new Set() });
			return stored(await store.writeAlone(rows, maxLockWaitMs));
		}
	}
	return store.transact(
		async (trx) => {
			const seen = looked ?? (await store.batch.look(trx, asked));
			const accepted = acceptCalls(calls, seen);
			const found = await lockFound(trx, deps, requestsOf(accepted), seen);
			const { rows, stored } = await judge(trx, accepted, found);
			const written = await store.batch.write(trx, rows);
			onCommit();
			return stored(written);
		},
		{ maxLockWaitMs },
	);
}

function askAbout(calls: readonly SharedCall[]): Asked {
	const requests = calls.flatMap((call) => call.requests);
	return {
		nonces: calls.flatMap(({ caller }) => caller?.nonce ?? []),
		orders: ordersOf(requests),
		programmeIds: [...new Set(requests.map(({ programmeId }) => programmeId))],
	};
}

/** Calls whose nonce was not used before, and the others, which have no effect. */
interface Accepted {
	accepted: readonly SharedCall[];
	replayed: ReadonlySet<SharedCall>;
}

function acceptCalls(calls: readonly SharedCall[], { usedNonces }: Looked): Accepted {
	const used = new Set(usedNonces);
	const replayed = new Set<SharedCall>();
	for (const call of calls) {
		const key = call.caller && keyOfNonce(call.caller.nonce);
		if (key === null) continue;
		// The same call may be in a batch twice.
		if (used.has(key)) replayed.add(call);
		used.add(key);
	}
	return { accepted: calls.filter((call) => !replayed.has(call)), replayed };
}

function requestsOf({ accepted }: Accepted): OrderRequest<Decided<Outcome>>[] {
	return accepted.flatMap(({ requests }) => requests);
}

/** A call and its result. */
interface HandledCall {
	call: IntakeCall;
	/** True if the nonce of the call was used before. Such a call has no effect. */
	isReplayed: boolean;
	/** Results of the call's requests. */
	decided: readonly RequestResult[];
	result: Result<Answer>;
}

function answerCalls(
	calls: readonly SharedCall[],
	replayed: ReadonlySet<SharedCall>,
	requests: readonly SharedCall["requests"][number][],
	results: readonly RequestResult[],
): HandledCall[] {
	const resultOf = new Map(requests.map((request, index) => [request, results[index]]));
	return calls.map((call) => {
		if (replayed.has(call))
			return { call, isReplayed: true, decided: [], result: refusalOf("replayed_nonce", {}) };
		const decided = call.requests.flatMap((request) => resultOf.get(request) ?? []);
		return { call, isReplayed: false, decided, result: call.answer(decided) };
	});
}

/** Returns the rows that belong to the calls themselves. */
function rowsOfCalls(
	handled: readonly HandledCall[],
	nowMs: number,
): Pick<BatchRows, "nonces" | "inboundCalls" | "firstTimes" | "keyUses"> {
	const fresh = handled.filter(({ isReplayed }) => !isReplayed);
	return {
		nonces: fresh.flatMap(({ call: { caller } }) => caller?.nonce ?? []),
		inboundCalls: handled.flatMap((one) => inboundRows(one, nowMs)),
		firstTimes: firstTimesOf(handled, nowMs),
		keyUses: keyUsesOf(fresh),
	};
}

/** Returns the call's row of the inbound log, and one for each refused item of a bulk call. */
function inboundRows({ call, isReplayed, result }: HandledCall, nowMs: number): NewInboundCall[] {
	const { inbound, programme, httpStatus } = call;
	const programmeId = programme.id;
	if (!result.ok) {
		const orderId = isReplayed ? null : call.orderId;
		return [refusedRow(inbound, result.fault, nowMs, { programmeId, orderId, httpStatus })];
	}
	const { value: answer } = result;
	const row = inboundRow(inbound, nowMs, {
		programme_id: programmeId,
		outcome: answer.outcome,
		http_status: httpStatus ?? answer.httpStatus,
		detail: answer.detail ?? null,
		order_id: answer.orderId ?? call.orderId,
		conversion: answer.conversionId,
	});
	const refused = answer.refusedItems ?? [];
	return [
		row,
		...refused.map((item) => refusedRow(inbound, item.fault, nowMs, { programmeId, orderId: item.orderId })),
	];
}

/**
 * Returns the times at which a programme's server or pixel worked, if it is the first time. The cached row may be up to a
 * second old, so the time may be stored already. It then stays.
 */
function firstTimesOf(handled: readonly HandledCall[], nowMs: number): FirstTimes[] {
	const times = new Map<number, FirstTimes>();
	for (const { call, decided, result } of handled) {
		const { id, first_signed_at_ms, first_pixel_at_ms } = call.programme;
		const isSigned = call.caller !== null && result.ok && result.value.isOfListener !== true;
		const isPixel = decided.some((done) => done.ok && done.value.showsPixelWorks);
		const noted = times.get(id) ?? { programme_id: id, signed_at_ms: null, pixel_at_ms: null };
		if (isSigned && first_signed_at_ms === null) noted.signed_at_ms = nowMs;
		if (isPixel && first_pixel_at_ms === null) noted.pixel_at_ms = nowMs;
		if (noted.signed_at_ms !== null || noted.pixel_at_ms !== null) times.set(id, noted);
	}
	return [...times.values()];
}

/** Returns for each key the time at which it was used. */
function keyUsesOf(handled: readonly HandledCall[]): KeyUse[] {
	const uses = new Map(
		handled.flatMap(({ call: { caller } }) =>
			caller === null || caller.keyUsedAtMs === null ? [] : [[caller.keyId, caller.keyUsedAtMs] as const],
		),
	);
	return [...uses].map(([key_id, at_ms]) => ({
		key_id,
		at_ms,
		not_after_ms: at_ms - KEY_USE_NOTED_EVERY_MS,
	}));
}
