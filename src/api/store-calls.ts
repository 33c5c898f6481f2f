// The transaction of a batch of calls. All transactions take their locks in the same order: nonces, new orders,
// existing conversions with their credits, and at the end programmes and keys, each in the order of its key. The
// exception is an order that another process created or replaced at the same moment, which is then locked as well. If
// that causes a deadlock, the transaction is retried (intake.ts).
//
//   spend nonces ─▶ judge and move ─▶ answers ─▶ inbound log ─▶ first times of programmes ─▶ uses of keys
//
// The transaction writes only to the database. It does not change cached rows, such as a call's programme,
// because the commit may fail.

import type { InTransaction } from "../conversions/deps.ts";
import { judgeAndMove } from "../conversions/judge-and-move.ts";
import { type Result, refusalOf } from "../domain/fault.ts";
import { KEY_USE_NOTED_EVERY_MS } from "../programmes/callers.ts";
import type { NewInboundCall } from "../store/hot-writes.ts";
import { noteFirstTime } from "../store/queries/first-times.ts";
import { noteKeyUses } from "../store/queries/keys.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { Answer } from "./answers.ts";
import type { IntakeCall, RequestResult } from "./call-plan.ts";
import { inboundRow, refusedRow } from "./inbound-log.ts";

/** A call and its result. */
interface HandledCall {
	call: IntakeCall;
	/** True if the nonce of the call was used before. Such a call has no effect. */
	isReplayed: boolean;
	/** Results of the call's requests. */
	decided: readonly RequestResult[];
	result: Result<Answer>;
}

export interface StoredCalls {
	/** Results in the order of the calls. */
	results: readonly Result<Answer>[];
	owed: Owed;
	/** Programmes that have repeated a call or the report of an order. */
	repeatingProgrammes: ReadonlySet<number>;
}

export async function storeCalls(
	trx: Db,
	deps: InTransaction,
	calls: readonly IntakeCall[],
): Promise<StoredCalls> {
	const { writes } = deps.store;
	const nonces = calls.flatMap(({ caller }) => caller?.nonce ?? []);
	const spent = await writes.spendNonces(trx, nonces);
	const replayed = new Set(calls.filter(({ caller }) => caller !== null && !spent.has(caller.nonce)));
	const requests = calls.flatMap((call) => (replayed.has(call) ? [] : call.requests));
	const judged = await judgeAndMove(trx, deps, requests);
	const resultOf = new Map(requests.map((request, index) => [request, judged.results[index]]));
	const nowMs = deps.clock.nowMs();
	const handled: HandledCall[] = [];
	for (const call of calls) {
		const isReplayed = replayed.has(call);
		const decided = call.requests.flatMap((request) => resultOf.get(request) ?? []);
		const result = isReplayed
			? refusalOf("replayed_nonce", {})
			: call.runsAlone === true
				? await call.answer(trx)
				: call.answer(decided);
		handled.push({ call, isReplayed, decided, result });
	}
	await writes.insertInboundCalls(
		trx,
		handled.flatMap((one) => inboundRows(one, nowMs)),
	);
	await noteFirstTimes(trx, handled, nowMs);
	await noteKeyUses(trx, findKeyUses(handled), KEY_USE_NOTED_EVERY_MS);
	return {
		results: handled.map(({ result }) => result),
		owed: judged.owed,
		repeatingProgrammes: new Set(handled.filter(isRepeated).map(({ call }) => call.programme.id)),
	};
}

/** Returns whether the call's nonce was used before, or whether it reports an order that was reported before. */
function isRepeated({ isReplayed, decided }: HandledCall): boolean {
	return (
		isReplayed ||
		decided.some(
			(done) => done.ok && (done.value.outcome === "DUPLICATE" || done.value.outcome === "CONFIRMED"),
		)
	);
}

/** Returns the call's row of the inbound log, and one for each refused item of a bulk call. */
export function inboundRows(
	{ call, isReplayed, result }: Pick<HandledCall, "call" | "isReplayed" | "result">,
	nowMs: number,
): NewInboundCall[] {
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
 * Stores the time at which a programme's server or pixel first worked. The cached row may be up to a second
 * old, so this may run twice for a programme. The second write changes nothing.
 */
async function noteFirstTimes(trx: Db, handled: readonly HandledCall[], nowMs: number): Promise<void> {
	const signed = handled.filter(
		({ call, result }) =>
			call.caller !== null &&
			result.ok &&
			result.value.isOfListener !== true &&
			call.programme.first_signed_at_ms === null,
	);
	const pixels = handled.filter(
		({ call, decided }) =>
			call.programme.first_pixel_at_ms === null &&
			decided.some((done) => done.ok && done.value.showsPixelWorks),
	);
	await noteFirstTime(trx, "first_signed_at_ms", programmeIds(signed), nowMs);
	await noteFirstTime(trx, "first_pixel_at_ms", programmeIds(pixels), nowMs);
}

function programmeIds(handled: readonly HandledCall[]): number[] {
	return [...new Set(handled.map(({ call }) => call.programme.id))];
}

/** Returns for each key the time at which it was used. */
function findKeyUses(handled: readonly HandledCall[]): ReadonlyMap<number, number> {
	return new Map(
		handled.flatMap(({ call: { caller }, isReplayed }) =>
			caller === null || caller.keyUsedAtMs === null || isReplayed
				? []
				: [[caller.keyId, caller.keyUsedAtMs] as const],
		),
	);
}
