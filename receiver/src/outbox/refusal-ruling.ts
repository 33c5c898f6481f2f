// Decides what a refusal of an outbox's call means. Some refusals end by themselves, because the sale is only not known
// yet, and some need nobody, because the sale has already become what the call wanted.

import type { Client } from "../client/create-client.ts";
import type { Refused } from "../client/failure.ts";
import { conversionKey } from "../conversion-key.ts";
import type { OutboxCall } from "./outbox-entry.ts";

/**
 * `early` means that the report of the sale may still come. `settled` means that there is nothing left to do. `refused`
 * means that a person must decide.
 */
export type Ruling = "early" | "settled" | "refused";

/** Number of conversions of one order that are looked up. There is one for each event type, besides replaced ones. */
const lookUpLimit = 50;

export async function ruleOnRefusal(
	client: Pick<Client, "conversions">,
	call: OutboxCall,
	{ code, status }: Pick<Refused, "code" | "status">,
	signal: AbortSignal,
): Promise<Ruling> {
	if (call?.call === "record" || status === null) return "refused";
	switch (code) {
		// If the call and the report of its sale are written by two transactions, the call may be committed first. Then the
		// service knows nothing of the order, or only what a pixel has reported.
		case "unknown_order":
		case "not_confirmed":
			return "early";
		case "nothing_to_refund":
			return "settled";
		case "move_not_allowed":
		case "value_not_lower":
			return ruleByStatus(client, call, signal);
		default:
			return "refused";
	}
}

type Decision = Exclude<OutboxCall, { call: "record" }>;

async function ruleByStatus(
	client: Pick<Client, "conversions">,
	call: Decision,
	signal: AbortSignal,
): Promise<Ruling> {
	const page = await client.conversions({ orderId: call.orderId, limit: lookUpLimit }, { signal });
	// The conversions could not be read. They may be readable at the next try.
	if (!page.ok) return "early";
	const key = conversionKey(call.orderId, call.eventType);
	const found = page.conversions.find(({ orderId, eventType }) => conversionKey(orderId, eventType) === key);
	switch (found?.status) {
		case "PARKED":
		case "EXPIRED":
			return "early";
		case "REJECTED":
		case "REVERSED":
			return call.call === "approve" ? "refused" : "settled";
		default:
			return found !== undefined && hasValue(call, found.basketValue) ? "settled" : "refused";
	}
}

/** Returns whether the call is a refund that leaves the value that the conversion already has. */
function hasValue(call: Decision, basketValue: string): boolean {
	return call.call === "refund" && Number(call.basketValue) === Number(basketValue);
}
