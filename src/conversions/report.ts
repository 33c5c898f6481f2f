// What somebody reports of a sale, and what its amounts make of it.

import type { EventType, Source } from "../domain/conversion.ts";
import { shareOf } from "../domain/money.ts";
import type { NewConversion } from "../store/conversions.ts";
import type { Programme } from "../store/programmes.ts";

export const DAY_MS = 24 * 60 * 60_000;

export interface Report {
	source: Source;
	orderId: string;
	eventType: EventType;
	/** Canonical, in the programme's currency: see domain/money. */
	basketValue: string;
	/** The time of the sale; null when the reporter did not say. */
	occurredAtMs: number | null;
	isTest: boolean;
}

export type RecordOutcome = "RECORDED" | "PARKED" | "CONFIRMED" | "DUPLICATE";

/** Fixed when the conversion is recorded: later changes of the rates do not touch it. */
export function amountsOf(
	programme: Programme,
	basketValue: string,
): Pick<NewConversion, "basket_value" | "commission" | "network_fee" | "currency"> {
	return {
		basket_value: basketValue,
		commission: shareOf(basketValue, programme.commission_rate),
		network_fee: shareOf(basketValue, programme.fee_rate),
		currency: programme.currency,
	};
}
