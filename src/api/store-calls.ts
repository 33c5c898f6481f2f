// What one transaction does for the calls of a batch: nonces, requests judged and moved with what they owe, the inbound
// log, and last what is written once (first times, use of keys).

import type { Decided, InTransaction } from "../conversions/deps.ts";
import { judgeAndMove, type OrderRequest } from "../conversions/judge-and-move.ts";
import type { Result } from "../domain/fault.ts";
import { acceptNonces, type Caller, noteCallers } from "../programmes/identify-caller.ts";
import { type FirstTime, noteFirstTimes } from "../store/queries/first-times.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { Answer, Outcome } from "./answers.ts";
import type { InboundCall } from "./inbound-call.ts";
import { acceptedEnd, inboundRow, refusedEnd } from "./inbound-log.ts";

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

export interface Stored {
	results: readonly Result<Answer>[];
	owed: Owed;
	/** Of these something was written that is kept in memory. */
	notedProgrammeIds: readonly number[];
}

/**
 * Locked in one order by everybody: nonces, orders, conversions, at the end programmes and keys, each by their ids.
 * Only a second round begins at the orders again: whoever is ended for it is tried again.
 */
export async function storeCalls(
	trx: Db,
	deps: InTransaction,
	calls: readonly IntakeCall[],
): Promise<Stored> {
	const { writes } = deps.store;
	const refusals = await acceptNonces(
		trx,
		writes,
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
	await writes.insertInboundCalls(
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
		owed: judged.owed,
		notedProgrammeIds: [...new Set(noted)],
	};
}
