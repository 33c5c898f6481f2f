// The plan of a call: the database work that an endpoint requests for it. With plans, the calls of a batch are stored
// together (store-calls.ts).

import type { Decided } from "../conversions/deps.ts";
import type { OrderRequest } from "../conversions/order-request.ts";
import type { Result } from "../domain/fault.ts";
import type { Caller } from "../programmes/callers.ts";
import type { NewConversion } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Answer, Outcome } from "./answers.ts";
import type { InboundCall } from "./inbound-log.ts";

export type CallPlan = SharedPlan | LonePlan;

/** The plan of a call that is stored together with other calls. */
export interface SharedPlan {
	runsAlone?: never;
	/**
	 * Order id for the inbound log. It is also logged if the call is refused, because people search the log by
	 * order.
	 */
	orderId: string | null;
	/** Requests to store. The list is empty if the call is refused because of its content. */
	requests: readonly OrderRequest<Decided<Outcome>>[];
	/**
	 * Number of items in a bulk call, 1 by default. Refused items count too, because each takes a row of the inbound
	 * log.
	 */
	size?: number;
	/** Creates the answer. `results` are in the same order as `requests`. */
	answer(results: readonly RequestResult[]): Result<Answer>;
}

/**
 * Plan of a call that is not part of a batch. It only reads, or it reports a listener's answers, and runs in a short
 * transaction of its own.
 */
export interface LonePlan {
	runsAlone: true;
	orderId: string | null;
	requests: readonly [];
	answer(trx: Db): Promise<Result<Answer>>;
}

/**
 * Result of a request. The conversion may not be inserted yet and then has no database key. The answer to the caller
 * contains only the public id, so it does not need the key.
 */
export type RequestResult = Result<Decided<Outcome, NewConversion>>;

export type SharedCall = CallOrigin & SharedPlan;
export type LoneCall = CallOrigin & LonePlan;
export type IntakeCall = SharedCall | LoneCall;

interface CallOrigin {
	inbound: InboundCall;
	programme: Programme;
	/** Key and signature of the caller, or null for a pixel call, which anybody can make. */
	caller: Caller | null;
	/**
	 * Status of the answer, whether or not the call succeeds. The pixel sets it, because a browser must always get its
	 * image.
	 */
	httpStatus?: number;
}
