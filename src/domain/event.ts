// The callback's body: the 14 fields of contract section 2.1, in its order. An event is composed once,
// when it happens; each attempt only adds its own sentAt.

import type { EventType, Reason, Status } from "./conversion.ts";
import type { EventName } from "./event-name.ts";
import { isoTime } from "./time.ts";

/** The conversion as an event shows it. Amounts are decimal strings: contract section 2.1. */
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

/** The first 13 fields as JSON: what the outbox keeps. */
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

/** Of a test conversion: quotes in a value are escaped, so only the field itself reads like this. */
export function isTestEvent(composedEvent: string): boolean {
	return composedEvent.includes('"test":true');
}

/** The body of one attempt. Joins text instead of parsing: this runs for every request sent. */
export function bodySentAt(composedEvent: string, sentAtMs: number): string {
	return `${composedEvent.slice(0, -1)},"sentAt":"${isoTime(sentAtMs)}"}`;
}
