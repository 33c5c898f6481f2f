// What an endpoint wants done for a call, so that the calls of a batch can share a transaction (intake.ts).

import type { Decided } from "../conversions/deps.ts";
import type { OrderRequest } from "../conversions/judge-and-move.ts";
import type { Result } from "../domain/fault.ts";
import type { Caller } from "../programmes/callers.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Answer, Outcome } from "./answers.ts";
import type { InboundCall } from "./inbound-log.ts";

export interface CallPlan {
	/** For the inbound log, also if the call is refused, because people search the log by order. */
	orderId: string | null;
	/** Empty for a call that only reads or is refused for its content. */
	requests: readonly OrderRequest<Decided<Outcome>>[];
	/** Number of items of a bulk call, including refused ones, because each takes a row of the log; 1 by default. */
	size?: number;
	/** Receives the results of `requests` in their order. */
	answer(results: readonly Result<Decided<Outcome>>[], trx: Db): Result<Answer> | Promise<Result<Answer>>;
	/** True for a call that only reads or reports to a listener. It has a short transaction of its own beside the batches. */
	runsAlone?: true;
}

export interface IntakeCall extends CallPlan {
	inbound: InboundCall;
	programme: Programme;
	/** Null for a pixel call, which anybody can make. */
	caller: Caller | null;
	/** Status that the caller gets whatever happens: a browser always gets its image. */
	httpStatus?: number;
}
