// The one order that every example of the reference tells the story of, from its sale to its return.

import type { Reason, Status } from "../../domain/conversion.ts";
import { bodySentAt, composeEvent } from "../../domain/event.ts";
import type { EventName } from "../../domain/event-name.ts";
import { DAY_MS, isoTime } from "../../domain/time.ts";
import type { ConversionBody } from "../answers.ts";
import { EXAMPLE_CONVERSION_ID, EXAMPLE_ORDER_ID, EXAMPLE_PROGRAM_ID } from "../sale-fields.ts";

const SOLD_AT_MS = Date.UTC(2026, 2, 1, 11, 30);
/** The moment every example request is signed at. */
export const EXAMPLE_NOW_MS = SOLD_AT_MS + 1_000;
const APPROVAL_DAYS = 30;

interface ExampleState {
	status: Status;
	reason: Reason | null;
	/** Days after the sale. */
	day: number;
}

/** Every conversion has this status at the event; which reason, where there is one, is the example's own. */
export const STATE_BY_EVENT: Readonly<Record<EventName, ExampleState>> = {
	"conversion.recorded": { status: "RECORDED", reason: null, day: 0 },
	"conversion.approved": { status: "APPROVED", reason: null, day: APPROVAL_DAYS },
	"conversion.rejected": { status: "REJECTED", reason: "CANCELLED", day: 2 },
	"conversion.reversed": { status: "REVERSED", reason: "RETURN", day: APPROVAL_DAYS + 4 },
};

const AMOUNTS = { basketValue: "129.90", commission: "10.39", networkFee: "3.25", currency: "EUR" };

/** The conversion as the API shows it after the event. */
export function exampleConversion(event: EventName): ConversionBody {
	const { status, reason } = STATE_BY_EVENT[event];
	return {
		id: EXAMPLE_CONVERSION_ID,
		orderId: EXAMPLE_ORDER_ID,
		programId: EXAMPLE_PROGRAM_ID,
		status,
		eventType: "SALE",
		...AMOUNTS,
		reason,
		test: false,
		source: "postback",
		pixelBasketValue: null,
		decidedBy: status === "RECORDED" ? null : "shop",
		occurredAt: isoTime(SOLD_AT_MS),
		createdAt: isoTime(EXAMPLE_NOW_MS),
		approvesAt: status === "RECORDED" ? isoTime(EXAMPLE_NOW_MS + APPROVAL_DAYS * DAY_MS) : null,
		expiresAt: null,
	};
}

/** The bytes of the callback, put together by what puts the real ones together. */
export function exampleCallback(event: EventName): string {
	const { status, reason } = STATE_BY_EVENT[event];
	const composed = composeEvent(event, {
		conversionId: EXAMPLE_CONVERSION_ID,
		orderId: EXAMPLE_ORDER_ID,
		programId: EXAMPLE_PROGRAM_ID,
		status,
		eventType: "SALE",
		...AMOUNTS,
		reason,
		test: false,
		occurredAtMs: SOLD_AT_MS,
	});
	return bodySentAt(composed, exampleSentAtMs(event));
}

export function exampleSentAtMs(event: EventName): number {
	return EXAMPLE_NOW_MS + STATE_BY_EVENT[event].day * DAY_MS + 40;
}
