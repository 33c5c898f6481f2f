// A sale report of the shop's server, a browser pixel or a test.

import type { OpenedClicks } from "#modules/partners/domain/click-token.ts";
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
	/** Decrypts the click IDs that the shop's server sent. This happens for all reports of a batch at once (see Signals). */
	openClicks?: (() => OpenedClicks) | undefined;
	/** Coupon codes of the order. The first one that belongs to a partner counts. */
	couponCodes?: readonly string[] | undefined;
}
