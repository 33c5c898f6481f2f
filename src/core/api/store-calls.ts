// Stores a batch of calls. It is read, judged in memory and written at once (conversions/change-orders.ts), together with
// what belongs to the calls themselves: used nonces, the inbound log, first times of programmes and uses of keys.
//
//   look ─▶ calls that change no stored conversion: judge and answer ─▶ write, which commits by itself (PostgreSQL)
//     └───▶ all others, in a transaction: lock what may change ─▶ judge and answer ─▶ write
//
// So a new sale does not wait for the lock of another call. All transactions take their locks in the same order: existing
// conversions, nonces, new orders, and at the end programmes and keys, each in the order of its key. Nothing here changes
// cached rows, such as a call's programme, because the commit may fail.

import { findIdToLock, judgeFound, lockFound, ordersOf } from "../conversions/change-orders.ts";
import type { InTransaction } from "../conversions/deps.ts";
import type { Found } from "../conversions/facts.ts";
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
import type { Owed } from "../store/queries/queue.ts";
import { type Db, type LockWaitMs, type Store, UncertainWrite } from "../store/store.ts";
import type { Answer } from "./answers.ts";
import type { IntakeCall, LoneCall, RequestResult, SharedCall } from "./call-plan.ts";
import { inboundRow, refusedRow } from "./inbound-log.ts";

export interface StoringDeps extends InTransaction {
	store: Pick<Store, "db" | "transact" | "batch" | "writeAlone">;
}

/** Calls that were stored together. */
export interface Stored {
	results: ReadonlyMap<IntakeCall, Result<Answer>>;
	/** Deliveries that became due, to be announced to the engines. */
	owed: Owed;
}

export interface Failure {
	error: unknown;
	/** True if the calls may have been stored although the attempt failed. */
	isUncertain: boolean;
}

/** Maximum number of times that a batch of several calls is judged together. After that its calls are stored one by one. */
const TURNS_TOGETHER = 2;

/** Result of an attempt. An attempt that did not fail has a value. */
export type Attempted<Value> = { failure: null; value: Value } | { failure: Failure };

/**
 * Stores calls. Those that change no stored conversion come first, so that they never wait for the lock of one.
 * `onStored` is called with each part of the calls that is stored. If the attempt fails, the other calls are not stored.
 * Never rejects.
 */
export function storeCalls(
	deps: StoringDeps,
	calls: readonly SharedCall[],
	maxLockWaitMs: LockWaitMs,
	onStored: (stored: Stored) => void,
): Promise<Attempted<void>> {
	const left = new Set<IntakeCall>(calls);
	const note = (stored: Stored): void => {
		for (const call of stored.results.keys()) left.delete(call);
		onStored(stored);
	};
	const turns = calls.length > 1 ? TURNS_TOGETHER : undefined;
	return attempt((onCommit) =>
		repeatConflicts(
			deps.clock,
			() =>
				storeTogether(
					deps,
					calls.filter((call) => left.has(call)),
					maxLockWaitMs,
					onCommit,
					note,
				),
			turns,
		),
	);
}

/** Stores a call that runs alone, in a transaction that answers it. Never rejects. */
export function storeLoneCall(
	{ store, clock }: StoringDeps,
	call: LoneCall,
): Promise<Attempted<Result<Answer>>> {
	const nonces = call.caller === null ? [] : [call.caller.nonce];
	return attempt((onCommit) =>
		repeatConflicts(clock, async () => {
			const { result } = await store.transact(async (trx) => {
				const { usedNonces } = await store.batch.look(trx, { nonces, orders: [], programmeIds: [] });
				const isReplayed = nonces.some((nonce) => usedNonces.has(keyOfNonce(nonce)));
				const result = isReplayed ? refusalOf("replayed_nonce", {}) : await call.answer(trx);
				await store.batch.write(trx, rowsOfCalls([{ call, isReplayed, decided: [], result }], clock.nowMs()));
				onCommit();
				// The result is wrapped in an object, because a refusal would otherwise roll back the used nonce and the row
				// of the inbound log.
				return { result };
			});
			return result;
		}),
	);
}

/** Runs an attempt to store calls. `run` must call `onCommit` right before it commits. */
async function attempt<Value>(run: (onCommit: () => void) => Promise<Value>): Promise<Attempted<Value>> {
	let isUncertain = false;
	const onCommit = (): void => {
		isUncertain = true;
	};
	try {
		return { failure: null, value: await run(onCommit) };
	} catch (error) {
		if (error instanceof UncertainWrite) return { failure: { error: error.cause, isUncertain: true } };
		return { failure: { error, isUncertain } };
	}
}

async function storeTogether(
	deps: StoringDeps,
	calls: readonly SharedCall[],
	maxLockWaitMs: LockWaitMs,
	onCommit: () => void,
	onStored: (stored: Stored) => void,
): Promise<void> {
	const { store } = deps;
	const readAtMs = deps.clock.monotonicMs();
	let locking = calls;
	let looked: Looked | undefined;
	if (store.writeAlone !== null) {
		looked = await store.batch.look(store.db, askAbout(calls));
		const parts = divide(calls, looked);
		locking = parts.locking;
		if (parts.free.length > 0) {
			const found = { ...looked, lockedIds: new Set<number>() };
			const judged = await judgeCalls(store.db, deps, acceptCalls(parts.free, looked), found, readAtMs);
			onStored(judged.storedAs(await store.writeAlone(judged.rows, maxLockWaitMs)));
		}
	}
	if (locking.length === 0) return;
	const stored = await store.transact(
		async (trx) => {
			const seen = looked ?? (await store.batch.look(trx, askAbout(locking)));
			const accepted = acceptCalls(locking, seen);
			const found = await lockFound(trx, deps, accepted.requests, seen);
			const judged = await judgeCalls(trx, deps, accepted, found, readAtMs);
			const written = await store.batch.write(trx, judged.rows);
			onCommit();
			return judged.storedAs(written);
		},
		{ maxLockWaitMs },
	);
	onStored(stored);
}

/**
 * Judges and answers calls. Returns the rows to write, and a function that creates the result from the written rows.
 */
async function judgeCalls(db: Db, deps: StoringDeps, accepted: Accepted, found: Found, readAtMs: number) {
	const { batch, results } = await judgeFound(db, deps, accepted.requests, found);
	const handled = answerCalls(accepted, results());
	return {
		rows: { ...batch.rows(), ...rowsOfCalls(handled, deps.clock.nowMs()) },
		storedAs: (written: Written): Stored => ({
			results: new Map(handled.map(({ call, result }) => [call, result])),
			owed: batch.owedAfter(written, readAtMs),
		}),
	};
}

/**
 * Divides calls into those that need no lock and those that need one. Calls that share a nonce or an order stay
 * together, in their order.
 */
function divide(
	calls: readonly SharedCall[],
	{ conversions }: Looked,
): { free: readonly SharedCall[]; locking: readonly SharedCall[] } {
	const idToLock = findIdToLock(conversions);
	const locking = new Set(calls.filter(({ requests }) => requests.some((one) => idToLock(one) !== null)));
	if (locking.size === 0) return { free: calls, locking: [] };
	const names = new Set<string>();
	let added: readonly SharedCall[] = [...locking];
	while (added.length > 0) {
		for (const name of added.flatMap(namesOf)) names.add(name);
		added = calls.filter((call) => !locking.has(call) && namesOf(call).some((name) => names.has(name)));
		for (const call of added) locking.add(call);
	}
	return {
		free: calls.filter((call) => !locking.has(call)),
		locking: calls.filter((call) => locking.has(call)),
	};
}

/**
 * Returns one text for the nonce of a call, and one for each of its orders. Two calls with a text in common must stay
 * together.
 */
function namesOf({ caller, requests }: SharedCall): string[] {
	const orders = requests.map(({ programmeId, orderId }) => `order ${programmeId} ${orderId}`);
	return caller === null ? orders : [`nonce ${keyOfNonce(caller.nonce)}`, ...orders];
}

function askAbout(calls: readonly SharedCall[]): Asked {
	const requests = calls.flatMap((call) => call.requests);
	return {
		nonces: calls.flatMap(({ caller }) => caller?.nonce ?? []),
		orders: ordersOf(requests),
		programmeIds: [...new Set(requests.map(({ programmeId }) => programmeId))],
	};
}

interface Accepted {
	calls: readonly SharedCall[];
	/** Calls whose nonce was used before, which therefore have no effect. */
	replayed: ReadonlySet<SharedCall>;
	/** Requests of the calls that are not replayed. */
	requests: readonly SharedCall["requests"][number][];
}

function acceptCalls(calls: readonly SharedCall[], { usedNonces }: Looked): Accepted {
	const used = new Set(usedNonces);
	const replayed = new Set<SharedCall>();
	for (const call of calls) {
		if (call.caller === null) continue;
		const key = keyOfNonce(call.caller.nonce);
		// One batch may contain the same call twice.
		if (used.has(key)) replayed.add(call);
		used.add(key);
	}
	const requests = calls.flatMap((call) => (replayed.has(call) ? [] : call.requests));
	return { calls, replayed, requests };
}

interface HandledCall {
	call: IntakeCall;
	/** True if the nonce of the call was used before. Such a call has no effect. */
	isReplayed: boolean;
	decided: readonly RequestResult[];
	result: Result<Answer>;
}

function answerCalls(
	{ calls, replayed, requests }: Accepted,
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

/** Returns the rows of the inbound log, nonces, first times and key uses that belong to the calls themselves. */
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
 * Returns the times at which a programme's server or pixel worked for the first time. The cached programme may be up
 * to a second old, so such a time may be stored already. The stored time then stays.
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
