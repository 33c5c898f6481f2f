// A sale report of the shop's server, a browser pixel or a test. Modules add fields by declaration merging.

import type { EventType, Reporter } from "../domain/conversion.ts";

export interface Report {
	source: Reporter;
	orderId: string;
	eventType: EventType;
	/** Amount in the programme's currency, in the canonical form of domain/money.ts. */
	basketValue: string;
	/** Time of the sale, or null if the report does not say. */
	occurredAtMs: number | null;
	isTest: boolean;
}
