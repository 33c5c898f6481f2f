// A request about an order or a conversion. It is judged in memory, on the state to which the requests before it in the
// same batch have led, and on facts that were read before.

import type { EventType } from "../domain/conversion.ts";
import type { Credit } from "../domain/credit.ts";
import { type Result, refuse } from "../domain/fault.ts";
import type { RatesOnRecord } from "../domain/rate-history.ts";
import type { NewRefund } from "../store/batch.ts";
import type { KnownPartnerships, OpenedClicks, Signals } from "../store/queries/credits.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import type { Step } from "./moves.ts";

export interface OrderRequest<Done> {
	programmeId: number;
	orderId: string;
	eventType: EventType;
	/**
	 * Id of the conversion, if the request is about this very conversion. Without it, the request is about the conversion
	 * that has the order id and the event type when the batch is read.
	 */
	conversionId?: number;
	/** Click IDs and coupon codes that may credit a partner. Requests that cannot credit anybody have none. */
	signals?: Signals | undefined;
	/** The partnership to which staff assign the conversion. */
	partnershipId?: number | undefined;
	/** True for a refund, which depends on the earlier refunds of the conversion. */
	needsRefunds?: true | undefined;
	/**
	 * Returns false if the request can only be answered from the conversion and does not change it. The conversion is not
	 * locked then. Without this function the request may change every conversion.
	 */
	mayChange?(present: Conversion): boolean;
	judge(present: Conversion | null, about: About): Judgement<Done>;
}

export interface About extends CreditFacts {
	/** Time of the batch. */
	nowMs: number;
	/** Event types of all conversions with this order id. */
	namesakes: readonly EventType[];
	/** Earlier refunds of the conversion, if the request needs them. */
	refunds: readonly NewRefund[];
	/** Returns the rates over time that a repeated report with signals may need. Null stands for nobody. */
	recordOf(programme: Pick<Programme, "id">, partnershipId: number | null): RatesOnRecord;
}

/** Facts on which the credit of a report depends. */
export interface CreditFacts {
	partnerships: KnownPartnerships;
	/** Decrypted clicks of the report. Empty if it has no click, or if its coupon code takes precedence. */
	clicks: OpenedClicks;
	/** The credit of the conversion, or undefined if it has none or the request has no signals. */
	credit: Credit | undefined;
}

export type Judgement<Done> =
	| { kind: "answer"; result: Result<Done> }
	/** Changes nothing, and answers with the conversion as it is. */
	| { kind: "keep"; done(conversion: Conversion): Done }
	| { kind: "move"; step: Step; done(conversion: Conversion): Done };

export function refuseBusy(): ReturnType<typeof refuse> {
	return refuse("unavailable", "This order is being changed by others right now. Try again in a moment.");
}
