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
	 * Number of items in a bulk call; 1 by default. Refused items count too, because each of them takes a row
	 * of the log.
	 */
	size?: number;
	/** Creates the answer from the results of `requests`, which are in the same order as the requests. */
	answer(results: readonly RequestResult[]): Result<Answer>;
}

/**
 * The plan of a call that only reads, or that reports a listener's answers. Such a call runs in a short
 * transaction of its own and is not part of a batch.
 */
export interface LonePlan {
	runsAlone: true;
	orderId: string | null;
	requests: readonly [];
	answer(trx: Db): Promise<Result<Answer>>;
}

/**
 * The result of a request. The conversion may not be inserted yet and then has no database key. The answer to
 * the caller does not need that key, because it contains only the public id.
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
	 * Status of the answer, whether or not the call succeeds. It is set for the pixel, because a browser must
	 * always get its image.
	 */
	httpStatus?: number;
}
