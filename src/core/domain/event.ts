// The body of a callback has the 14 fields of contract section 2.1, in that order. The values of an event are
// fixed when it happens. Each attempt to send the event composes the body from them and adds its own
// `sentAt`.

import { announcedStatus, type EventType, type Reason, type Status } from "./conversion.ts";
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

/**
 * Returns what the callback says about the conversion in the form in which it is stored: one value per line, without names
 * and quotes, which takes a third of the space. No value has a line break (see domain/order-id.ts). The event's name is
 * stored beside it, and the status follows from the name. A new field must be added as the last line, because stored events
 * do not have it.
 */
export function composeEvent(subject: EventSubject): string {
	return [
		subject.conversionId,
		subject.orderId,
		subject.programId,
		subject.eventType,
		subject.basketValue,
		subject.commission,
		subject.networkFee,
		subject.currency,
		subject.reason ?? "",
		subject.test ? TEST : "",
		isoTime(subject.occurredAtMs),
	].join("\n");
}

const TEST = "test";
const TEST_LINE = 9;

export function isTestEvent(composedEvent: string): boolean {
	return composedEvent.split("\n")[TEST_LINE] === TEST;
}

const COMMISSION_LINE = 5;

export function commissionOfEvent(composedEvent: string): string {
	return composedEvent.split("\n")[COMMISSION_LINE] ?? "";
}

/** Returns the body of one attempt. It joins text, because it runs for every request, and only the order id needs escaping. */
export function bodySentAt(event: EventName, composedEvent: string, sentAtMs: number): string {
	const [
		conversionId,
		orderId,
		programId,
		eventType,
		basketValue,
		commission,
		networkFee,
		currency,
		reason,
		test,
		occurredAt,
	] = composedEvent.split("\n");
	return (
		`{"event":"${event}","conversionId":"${conversionId}","orderId":${JSON.stringify(orderId)}` +
		`,"programId":"${programId}","status":"${announcedStatus(event)}","eventType":"${eventType}"` +
		`,"basketValue":"${basketValue}","commission":"${commission}","networkFee":"${networkFee}"` +
		`,"currency":"${currency}","reason":${reason === "" ? null : `"${reason}"`},"test":${test === TEST}` +
		`,"occurredAt":"${occurredAt}","sentAt":"${isoTime(sentAtMs)}"}`
	);
}
