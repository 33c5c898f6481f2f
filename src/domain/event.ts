// The body of a callback: the 14 fields of contract section 2.1, in that order. An event is composed once, when it happens.
// Each attempt only adds its own sentAt.

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

/** Returns the first 13 fields as JSON. This text is stored. */
export function composeEvent(event: EventName, subject: EventSubject): string {
	return JSON.stringify({
		event,
		conversionId: subject.conversionId,
		orderId: subject.orderId,
		programId: subject.programId,
		status: subject.status,
		eventType: subject.eventType,
		basketValue: subject.basketValue,
		commission: subject.commission,
		networkFee: subject.networkFee,
		currency: subject.currency,
		reason: subject.reason,
		test: subject.test,
		occurredAt: isoTime(subject.occurredAtMs),
	});
}

/** Returns whether the event is about a test conversion. Quotes inside values are escaped, so only the field itself can match. */
export function isTestEvent(composedEvent: string): boolean {
	return composedEvent.includes('"test":true');
}

/** Returns the body of one attempt. It joins text instead of parsing JSON, because it runs for every request. */
export function bodySentAt(composedEvent: string, sentAtMs: number): string {
	return `${composedEvent.slice(0, -1)},"sentAt":"${isoTime(sentAtMs)}"}`;
}
