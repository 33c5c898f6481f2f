// The body of a callback has the 14 fields of contract section 2.1, in that order. The values of an event are
// fixed when it happens. Each attempt to send the event composes the body from them and adds its own
// `sentAt`.

import type { EventType, Reason, Status } from "./conversion.ts";
import type { EventName } from "./event-name.ts";
import { isoTime } from "./time.ts";

/** The conversion as an event shows it. Amounts are decimal strings (contract section 2.1). */
export interface EventSubject {
	conversionId: string;
	orderId: string;
	programId: string;
	status: Status;
	eventType: EventType;
	basketValue: string;
	commission: string;
	networkFee: string;
	currency: string;
	reason: Reason | null;
	test: boolean;
	occurredAtMs: number;
}

/** The fields of a callback except `sentAt`, in the contract's order. */
const FIELDS = [
	"event",
	"conversionId",
	"orderId",
	"programId",
	"status",
	"eventType",
	"basketValue",
	"commission",
	"networkFee",
	"currency",
	"reason",
	"test",
	"occurredAt",
] as const;
const TEST_LINE = FIELDS.indexOf("test");

/**
 * Returns the event in its stored form: the values of the fields as JSON, one per line, without the names of
 * the fields, which would double the size. JSON escapes line breaks, so no value contains one.
 */
export function composeEvent(event: EventName, subject: EventSubject): string {
	const { conversionId, orderId, programId, status, eventType, basketValue, commission, networkFee } =
		subject;
	const values: Readonly<Record<(typeof FIELDS)[number], string | boolean | null>> = {
		event,
		conversionId,
		orderId,
		programId,
		status,
		eventType,
		basketValue,
		commission,
		networkFee,
		currency: subject.currency,
		reason: subject.reason,
		test: subject.test,
		occurredAt: isoTime(subject.occurredAtMs),
	};
	return FIELDS.map((field) => JSON.stringify(values[field])).join("\n");
}

/** Returns whether the event is about a test conversion. */
export function isTestEvent(composedEvent: string): boolean {
	return composedEvent.split("\n")[TEST_LINE] === "true";
}

/**
 * Returns the body of one attempt. It joins text and does not parse JSON, because it runs for every callback.
 */
export function bodySentAt(composedEvent: string, sentAtMs: number): string {
	const values = composedEvent.split("\n");
	let body = "{";
	for (const [at, field] of FIELDS.entries()) body += `"${field}":${values[at]},`;
	return `${body}"sentAt":"${isoTime(sentAtMs)}"}`;
}
