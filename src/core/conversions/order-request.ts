// A request about an order or a conversion. It is judged in memory, on the state to which the requests before it in the
// same batch have led, and on facts that were read before.

import type { EventType } from "../domain/conversion.ts";
import { type Result, refuse } from "../domain/fault.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import type { BatchFacts, ConversionFacts, RequestNeeds } from "./module-facts.ts";
import type { Step } from "./moves.ts";

export interface OrderRequest<Done> extends RequestNeeds {
	eventType: EventType;
	/**
	 * Id of the conversion, if the request is about this very conversion. Without it, the request is about the conversion
	 * that has the order id and the event type when the batch is read.
	 */
	conversionId?: number;
	/**
	 * Returns false if the request never changes this conversion and only answers from it, so that the conversion need
	 * not be locked. Without this function, the request may change every conversion.
	 */
	mayChange?(present: Conversion): boolean;
	judge(present: Conversion | null, about: About): Judgement<Done>;
}

export interface About {
	namesakes(): readonly EventType[];
	/** Facts that the modules know of the conversion, or would know of one that the request starts. */
	known: ConversionFacts;
	facts: BatchFacts;
}

export type Judgement<Done> =
	| { kind: "answer"; result: Result<Done> }
	/** The request changes nothing and is answered with the present conversion. */
	| { kind: "keep"; done(conversion: Conversion): Done }
	| { kind: "move"; step: Step; done(conversion: Conversion): Done };

export function refuseBusy(): ReturnType<typeof refuse> {
	return refuse("unavailable", "This order is being changed by others right now. Try again in a moment.");
}
