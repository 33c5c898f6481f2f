// The body of a callback to a partner. It says what the partner may know about a sale that is credited to it, and never
// contains an order ID, a customer or an address. As with the shop's callback (event.ts), the values of an event
// are fixed when it happens, and each attempt composes the request from them and adds its own `sentAt`.

import { announcedStatus, type EventType, type Reason } from "./conversion.ts";
import type { EventName } from "./event-name.ts";
import { isoTime } from "./time.ts";

/** Reason of the event that tells a partner that its sale was credited to another partner, or to nobody. */
export const REASSIGNED = "REASSIGNED";

/** A credited conversion as its partner sees it. */
export interface PartnerEventSubject {
	conversionId: string;
	programId: string;
	partnerId: string;
	/** Code of the partner link that was clicked, or null if no click decided the credit. */
	linkId: string | null;
	eventType: EventType;
	basketValue: string | null;
	commission: string;
	currency: string;
	reason: Reason | typeof REASSIGNED | null;
	creditedBy: string;
	subIds: readonly [string, string, string];
	test: boolean;
	clickedAtMs: number | null;
	occurredAtMs: number;
}

/**
 * Returns the values of the event in the form in which they are stored, one per line and without names. No value has a
 * line break. The line for `test` is the same as in a shop's event, because `isTestEvent` reads events of both kinds.
 */
export function composePartnerEvent(subject: PartnerEventSubject): string {
	return endPartnerEvent(startPartnerEvent(subject), subject);
}

/**
 * Returns the beginning of the stored event, without its last two lines. A database statement that stores a new sale
 * together with its event appends these two values itself.
 */
export function startPartnerEvent(subject: Omit<PartnerEventSubject, "partnerId" | "linkId">): string {
	const { clickedAtMs } = subject;
	return [
		subject.conversionId,
		subject.programId,
		subject.eventType,
		subject.basketValue ?? "",
		subject.commission,
		subject.currency,
		subject.reason ?? "",
		subject.creditedBy,
		clickedAtMs === null ? "" : isoTime(clickedAtMs),
		subject.test ? "test" : "",
		isoTime(subject.occurredAtMs),
		...subject.subIds,
		"",
	].join("\n");
}

function endPartnerEvent(
	start: string,
	{ partnerId, linkId }: Pick<PartnerEventSubject, "partnerId" | "linkId">,
): string {
	return `${start}${partnerId}\n${linkId ?? ""}`;
}

/** Lines of a stored event whose values the partner chose: the three sub IDs and the code of the link. */
const CHOSEN_LINES: readonly number[] = [11, 12, 13, 15];

/** Returns a stored event in which the values that the partner chose are empty. */
export function eraseSubIds(composedEvent: string): string {
	const lines = composedEvent.split("\n");
	return lines.map((line, index) => (CHOSEN_LINES.includes(index) ? "" : line)).join("\n");
}

/** Names of the fields in the order of the body. Each name is also a macro of a GET callback. */
export const PARTNER_FIELDS = [
	"event",
	"conversionId",
	"programId",
	"partnerId",
	"linkId",
	"status",
	"eventType",
	"basketValue",
	"commission",
	"currency",
	"reason",
	"creditedBy",
	"sub1",
	"sub2",
	"sub3",
	"test",
	"clickedAt",
	"occurredAt",
	"sentAt",
] as const;
export type PartnerField = (typeof PARTNER_FIELDS)[number];

/** Returns the values of one attempt as text. A value that the event does not have is empty. */
export function readPartnerEvent(
	event: EventName,
	composedEvent: string,
	sentAtMs: number,
): Readonly<Record<PartnerField, string>> {
	const lines = composedEvent.split("\n");
	const line = (index: number): string => lines[index] ?? "";
	return {
		event,
		conversionId: line(0),
		programId: line(1),
		partnerId: line(14),
		linkId: line(15),
		status: announcedStatus(event),
		eventType: line(2),
		basketValue: line(3),
		commission: line(4),
		currency: line(5),
		reason: line(6),
		creditedBy: line(7),
		sub1: line(11),
		sub2: line(12),
		sub3: line(13),
		test: String(line(9) !== ""),
		clickedAt: line(8),
		occurredAt: line(10),
		sentAt: isoTime(sentAtMs),
	};
}

/**
 * Returns the JSON body of one attempt. A value that the event does not have is null. It joins text, because it runs for
 * every request, and only the sub IDs need escaping.
 */
export function partnerBodySentAt(event: EventName, composedEvent: string, sentAtMs: number): string {
	const fields = readPartnerEvent(event, composedEvent, sentAtMs);
	return (
		`{"event":"${event}","conversionId":"${fields.conversionId}","programId":"${fields.programId}"` +
		`,"partnerId":"${fields.partnerId}","linkId":${quoted(fields.linkId)},"status":"${fields.status}"` +
		`,"eventType":"${fields.eventType}","basketValue":${quoted(fields.basketValue)}` +
		`,"commission":"${fields.commission}","currency":"${fields.currency}","reason":${quoted(fields.reason)}` +
		`,"creditedBy":"${fields.creditedBy}","sub1":${escaped(fields.sub1)},"sub2":${escaped(fields.sub2)}` +
		`,"sub3":${escaped(fields.sub3)},"test":${fields.test},"clickedAt":${quoted(fields.clickedAt)}` +
		`,"occurredAt":"${fields.occurredAt}","sentAt":"${fields.sentAt}"}`
	);
}

function quoted(value: string): string {
	return value === "" ? "null" : `"${value}"`;
}

function escaped(value: string): string {
	return value === "" ? "null" : JSON.stringify(value);
}
