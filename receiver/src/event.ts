// The event in a delivery's body (section 2.1), checked field by field.

import { readFields } from "./field-reader.ts";
import { isObject, parseJson } from "./json.ts";
import type { EventType, OrLater, Reason } from "./words.ts";

type EventFields = {
	readonly conversionId: string;
	readonly orderId: string;
	readonly programId: string;
	readonly status: OrLater<"RECORDED" | "APPROVED" | "REJECTED" | "REVERSED">;
	readonly eventType: EventType;
	/** Decimal amounts stay strings: turning one into a number may round it. */
	readonly basketValue: string;
	readonly commission: string;
	readonly networkFee: string;
	readonly currency: string;
	readonly test: boolean;
	/** When the sale happened, ISO 8601 UTC. */
	readonly occurredAt: string;
	/** When this attempt was made, ISO 8601 UTC: the one field that differs between attempts. */
	readonly sentAt: string;
};

type Named<Name extends string, Why> = EventFields & { readonly event: Name; readonly reason: Why };

/** By its name: a rejection and a reversal have a reason, which is null otherwise. */
export type KnownEvent =
	| Named<"conversion.recorded", Reason | null>
	| Named<"conversion.approved", Reason | null>
	| Named<"conversion.rejected", Reason>
	| Named<"conversion.reversed", Reason>;

/** Its name is unknown today. It must still reach the shop: a 4xx would end its delivery for good. */
export type LaterEvent = Named<OrLater<never>, Reason | null>;

/** The compiler cannot tell a later name from today's: ask `isKnownEvent` before a `switch` over them. */
export type PostbackEvent = KnownEvent | LaterEvent;

const knownNames: readonly string[] = [
	"conversion.recorded",
	"conversion.approved",
	"conversion.rejected",
	"conversion.reversed",
] satisfies KnownEvent["event"][];

/** Whether it is one of the four events of today. */
export function isKnownEvent(event: PostbackEvent): event is KnownEvent {
	return knownNames.includes(event.event);
}

export type ParsedEvent =
	| { readonly ok: true; readonly event: PostbackEvent }
	| { readonly ok: false; readonly detail: string };

/** Fields the contract does not name are left out of the event, and are no fault. */
export function parseEvent(body: Uint8Array): ParsedEvent {
	const fields = parseJson(decodeStrictly(body));
	if (!isObject(fields)) return { ok: false, detail: "The body is not a JSON object in UTF-8." };

	const { text, textOrNull, flag, wrong } = readFields<keyof PostbackEvent>(fields);
	const event: UnprovenEvent = {
		event: text("event"),
		conversionId: text("conversionId"),
		orderId: text("orderId"),
		programId: text("programId"),
		status: text("status"),
		eventType: text("eventType"),
		basketValue: text("basketValue"),
		commission: text("commission"),
		networkFee: text("networkFee"),
		currency: text("currency"),
		reason: textOrNull("reason"),
		test: flag("test"),
		occurredAt: text("occurredAt"),
		sentAt: text("sentAt"),
	};
	if (wrong.length === 0 && isProven(event)) return { ok: true, event };
	const named = wrong.map(({ name, type }) => `${name} (${type})`).join(", ");
	return { ok: false, detail: `Missing or of the wrong type: ${named || "reason (string)"}.` };
}

type UnprovenEvent = Named<string, string | null>;
const reasonedNames: readonly string[] = [
	"conversion.rejected",
	"conversion.reversed",
] satisfies KnownEvent["event"][];

// Any name is one of today's or a later one, so that only the reason is left to be asked for.
function isProven(event: UnprovenEvent): event is PostbackEvent {
	return event.reason !== null || !reasonedNames.includes(event.event);
}

/** Empty, which is no JSON, where the bytes are no UTF-8. */
function decodeStrictly(body: Uint8Array): string {
	try {
		return new TextDecoder("utf-8", { fatal: true }).decode(body);
	} catch {
		return "";
	}
}
