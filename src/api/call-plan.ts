// What an endpoint wants done for a call, so that the calls of a batch can share a transaction (intake.ts).

import type { Decided } from "../conversions/deps.ts";
import type { OrderRequest } from "../conversions/judge-and-move.ts";
import type { ReportRequest } from "../conversions/record.ts";
import type { Result } from "../domain/fault.ts";
import type { Caller } from "../programmes/callers.ts";
import type { NewConversion } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Answer, Outcome } from "./answers.ts";
import type { InboundCall } from "./inbound-log.ts";

export type CallPlan = SharedPlan | LonePlan;

/** The plan of a call that is stored together with others. */
export interface SharedPlan {
	runsAlone?: never;
	/** For the inbound log, also if the call is refused, because people search the log by order. */
	orderId: string | null;
	/** Empty for a call that is refused for its content. */
	requests: readonly (OrderRequest<Decided<Outcome>> | ReportRequest)[];
	/** Number of items of a bulk call, including refused ones, because each takes a row of the log; 1 by default. */
	size?: number;
	/** Receives the results of `requests` in their order. */
	answer(results: readonly RequestResult[]): Result<Answer>;
}

/**
 * The plan of a call that only reads or reports to a listener. It has a short transaction of its own beside the
 * batches.
 */
export interface LonePlan {
	runsAlone: true;
	orderId: string | null;
	requests: readonly [];
	answer(trx: Db): Promise<Result<Answer>>;
}

/** The result of a request. Answers never contain the integer key of a conversion, so its row may lack it. */
export type RequestResult = Result<Decided<Outcome, NewConversion>>;

export type SharedCall = CallOrigin & SharedPlan;
export type IntakeCall = SharedCall | (CallOrigin & LonePlan);

interface CallOrigin {
	inbound: InboundCall;
	programme: Programme;
	/** Null for a pixel call, which anybody can make. */
	caller: Caller | null;
	/** Status that the caller gets whatever happens: a browser always gets its image. */
	httpStatus?: number;
}
