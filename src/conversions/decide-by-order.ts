// A shop decides by its own order id and event type: the names it knows a conversion by.

import type { EventType } from "../domain/conversion.ts";
import { EVENT_TYPES } from "../domain/conversion.ts";
import { type Result, refuse } from "../domain/fault.ts";
import { listConversions } from "../store/conversion-list.ts";
import { findByOrder } from "../store/conversions.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import { type Decision, type DecisionOutcome, decideConversion } from "./decide.ts";
import type { Decided, InTransaction } from "./deps.ts";

export interface OrderName {
	orderId: string;
	eventType: EventType;
}

export async function decideByOrder(
	trx: Db,
	deps: InTransaction,
	programme: Programme,
	{ orderId, eventType }: OrderName,
	decision: Decision,
): Promise<Result<Decided<DecisionOutcome>>> {
	const found = await findByOrder(trx, programme.id, orderId, eventType);
	if (found !== undefined) return decideConversion(trx, deps, found, decision);
	const { rows: namesakes } = await listConversions(trx, {
		programmeId: programme.id,
		orderId,
		limit: EVENT_TYPES.length,
	});
	return refuseUnknownOrder(
		{ orderId, eventType },
		namesakes.map((conversion) => conversion.event_type),
	);
}

/** `known` are the event types that this order is on record with. */
export function refuseUnknownOrder(
	{ orderId, eventType }: OrderName,
	known: readonly EventType[],
): ReturnType<typeof refuse> {
	const found = `This programme has no ${eventType} with order id ${orderId}.`;
	const others = known.join(", ");
	if (known.length > 0) {
		return refuse(
			"unknown_order",
			`${found} It is known as ${others}: send that eventType if it is the one you mean.`,
			"orderId",
			`${found} It is known as ${others}: write that as eventType if it is the one you mean.`,
		);
	}
	return refuse(
		"unknown_order",
		`${found} Check the spelling, and that its POST /v1/conversions was answered RECORDED or CONFIRMED.`,
		"orderId",
		`${found} Check the spelling. The inbound log on Integration says what was reported for it.`,
	);
}
