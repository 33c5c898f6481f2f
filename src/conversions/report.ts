// What somebody reports of a sale, and what its amounts make of it.

import type { EventType, Source, Status } from "../domain/conversion.ts";
import { shareOf } from "../domain/money.ts";
import { DAY_MS } from "../domain/time.ts";
import type { NewConversion } from "../store/conversions.ts";
import type { Programme } from "../store/programmes.ts";

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

/** What a report makes of a conversion, but for the names it goes by. */
export function saleOf(
	programme: Programme,
	report: Report,
	status: Status,
	nowMs: number,
): Omit<NewConversion, "public_id" | "programme_id" | "order_id" | "event_type"> {
	const waitDays = status === "PARKED" ? programme.parked_days : programme.approval_days;
	return {
		...amountsOf(programme, report.basketValue),
		status,
		test: report.isTest ? 1 : 0,
		source: report.source,
		occurred_at_ms: report.occurredAtMs ?? nowMs,
		created_at_ms: nowMs,
		updated_at_ms: nowMs,
		window_ends_at_ms: nowMs + waitDays * DAY_MS,
	};
}

/** Fixed by the rates of this moment: later changes of them do not touch it. */
function amountsOf(
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
