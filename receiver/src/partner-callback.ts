// Verifies callbacks to a partner, and parses their events. A partner's callback is signed like a shop's, but has other
// fields. It is a POST with a JSON body, or a GET whose query has the values that the partner chose.

import { readFields } from "./field-reader.ts";
import { isObject, parseJson } from "./json.ts";
import { type Refusal, refuse } from "./refusal.ts";
import { type PostbackRequest, readRequest } from "./request.ts";
import { judgeGenuine } from "./verify.ts";
import type { AnnouncedStatus, EventName, EventType, OrLater, Reason } from "./words.ts";

/**
 * Content of a callback to a partner about a sale that is credited to the partner. It never has an order ID.
 */
export type PartnerEvent = {
	readonly event: EventName;
	readonly conversionId: string;
	readonly programId: string;
	readonly partnerId: string;
	/** Code of the link that was clicked, or null if no click decided the credit. */
	readonly linkId: string | null;
	readonly status: AnnouncedStatus;
	readonly eventType: EventType;
	/** Amount as a decimal string, or null if the programme does not show baskets to partners. */
	readonly basketValue: string | null;
	readonly commission: string;
	readonly currency: string;
	/** Reason of a rejection or reversal. REASSIGNED says that the sale is credited to somebody else now. */
	readonly reason: Reason | "REASSIGNED" | null;
	readonly creditedBy: OrLater<"CODE" | "CLICK" | "ASSIGNED">;
	readonly sub1: string | null;
	readonly sub2: string | null;
	readonly sub3: string | null;
	readonly test: boolean;
	/** Time of the click. All times are ISO 8601 in UTC. */
	readonly clickedAt: string | null;
	readonly occurredAt: string;
	readonly sentAt: string;
};

/** The result of a verification. The event is null for a GET, whose values are in the query of the URL. */
export type PartnerVerification = { readonly ok: true; readonly event: PartnerEvent | null } | Refusal;

/** A callback to a partner. The body of a GET is empty. */
export type PartnerRequest = PostbackRequest & { readonly method: "POST" | "GET" };

/** Verifies a callback to a partner. It never throws on bad input. */
export async function verifyPartnerCallback(request: PartnerRequest): Promise<PartnerVerification> {
	const read = readRequest(request);
	if (!read.ok) return read;
	const refusal = await judgeGenuine(read, request.method);
	if (refusal !== undefined) return refusal;
	if (request.method === "GET") return { ok: true, event: null };
	const event = parsePartnerEvent(read.body);
	if (typeof event === "string") return refuse("malformed_body", event);
	return { ok: true, event };
}

/** Parses the body of a POST. Returns a sentence if it is not a partner's event. Unknown fields are ignored. */
function parsePartnerEvent(body: Uint8Array): PartnerEvent | string {
	const fields = parseJson(new TextDecoder().decode(body));
	if (!isObject(fields)) return "The body is not a JSON object in UTF-8.";
	const { text, textOrNull, flag, wrong } = readFields<keyof PartnerEvent>(fields);
	const event: PartnerEvent = {
		event: text("event"),
		conversionId: text("conversionId"),
		programId: text("programId"),
		partnerId: text("partnerId"),
		linkId: textOrNull("linkId"),
		status: text("status"),
		eventType: text("eventType"),
		basketValue: textOrNull("basketValue"),
		commission: text("commission"),
		currency: text("currency"),
		reason: textOrNull("reason"),
		creditedBy: text("creditedBy"),
		sub1: textOrNull("sub1"),
		sub2: textOrNull("sub2"),
		sub3: textOrNull("sub3"),
		test: flag("test"),
		clickedAt: textOrNull("clickedAt"),
		occurredAt: text("occurredAt"),
		sentAt: text("sentAt"),
	};
	if (wrong.length === 0) return event;
	return `Missing or of the wrong type: ${wrong.map(({ name, type }) => `${name} (${type})`).join(", ")}.`;
}
