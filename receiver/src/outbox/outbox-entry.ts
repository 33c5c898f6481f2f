// The rows of a shop's outbox table: calls to the service that are sent later, in their order.

import type { CallFailure } from "../client/failure.ts";
import type { Approval, ReasonedDecision, Refund, Sale } from "../client/report.ts";
import type { Conversion } from "../conversion-fields.ts";
import { conversionKey } from "../conversion-key.ts";
import { isObject } from "../json.ts";

/**
 * A call to the service. It is plain JSON, so a shop stores it with `JSON.stringify` in the transaction of the
 * order. A sale should have `occurredAt`, because it may be sent hours after it happened.
 */
export type OutboxCall =
	| ({ readonly call: "record" } & Sale)
	| ({ readonly call: "approve" } & Approval)
	| ({ readonly call: "reject" | "reverse" } & ReasonedDecision)
	| ({ readonly call: "refund" } & Refund);

/** An open row of the outbox table. */
export type OutboxEntry = {
	/** Row number. Later rows must have larger numbers, because calls about one sale are sent in this order. */
	readonly id: number;
	readonly call: OutboxCall;
	/** Number of failed attempts so far, 0 for a new row. */
	readonly attempts: number;
	/** Time in milliseconds before which the call is not attempted again, 0 for a new row. */
	readonly dueAtMs: number;
};

/** Result of an attempt to send an entry. `save` writes it to the entry's row. */
export type OutboxProgress =
	| {
			/** The service has processed the call. The row is not loaded again. */
			readonly state: "done";
			readonly outcome: string;
			/** The conversion as the answer has it, with its status, commission and fee. */
			readonly conversion: Conversion;
			/**
			 * Word that says how a partner was credited, or why nobody was. Present for a sale in a programme with
			 * partners.
			 */
			readonly credit?: string;
	  }
	| {
			/** The attempt failed and is repeated later. The row stays open. */
			readonly state: "open";
			readonly attempts: number;
			readonly dueAtMs: number;
			/** Sentence that says why the attempt failed. */
			readonly detail: string;
	  }
	| {
			/**
			 * The call has nothing left to do, because the sale has already ended or has the value that the call names.
			 * The row is not loaded again.
			 */
			readonly state: "settled";
			readonly code: string;
			readonly detail: string;
	  }
	| {
			/** The service refuses the call because of its data. A person must decide. The row is not loaded again. */
			readonly state: "refused";
			readonly code: string;
			/** Sentence that says why the service refused the call. */
			readonly detail: string;
	  };

/** A problem that the shop should log, and about which it may notify a person. */
export type OutboxProblem =
	/** The service refused the call for good. The entry was saved as `refused`. */
	| { readonly kind: "refused"; readonly entry: OutboxEntry; readonly code: string; readonly detail: string }
	/** A key, a secret, the clock, the brand or the address is wrong. All entries wait until it is corrected. */
	| {
			readonly kind: "misconfigured";
			readonly entry: OutboxEntry;
			readonly code: string;
			readonly detail: string;
	  }
	/** The attempt failed and is repeated later. `attempts` counts the failures of this entry. */
	| {
			readonly kind: "delayed";
			readonly entry: OutboxEntry;
			readonly attempts: number;
			readonly detail: string;
			readonly failure: CallFailure;
	  }
	/** `load` or `save` failed. The outbox tries again. */
	| { readonly kind: "storage"; readonly error: unknown };

/** Returns a text that is the same for all calls about one conversion. */
export function saleOf({ call, id }: OutboxEntry): string {
	// A row of the table may contain anything. A damaged row is refused later, and must not hold back other
	// rows.
	if (!isObject(call)) return String(id);
	return conversionKey(call.orderId, call.eventType);
}
