// A shop decides by its own order id and event type: the names it knows a conversion by.

import type { EventType } from "../domain/conversion.ts";
import { refusalOf, refuse, succeed } from "../domain/fault.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { type Decision, type DecisionOutcome, decisionOutcome, judgeDecisionOn } from "./decide.ts";
import type { Decided } from "./deps.ts";
import type { OrderRequest } from "./judge-and-move.ts";

export interface OrderName {
	orderId: string;
	eventType: EventType;
}

/** To be judged with others: see judge-and-move. */
export function decisionRequest(
	programme: Programme,
	order: OrderName,
	decision: Decision,
): OrderRequest<Decided<DecisionOutcome>> {
	return {
		programmeId: programme.id,
		...order,
		present: undefined,
		judge(present, namesakes) {
			if (present === null) return { kind: "answer", result: refuseUnknownOrder(order, namesakes) };
			const judged = judgeDecisionOn(present, decision, null);
			const decided = (conversion: Conversion) => ({
				outcome: decisionOutcome(decision),
				conversion,
				showsPixelWorks: false,
			});
			if (judged.kind === "move") return { ...judged, done: decided };
			const { result } = judged;
			return { kind: "answer", result: result.ok ? succeed(decided(result.value.conversion)) : result };
		},
	};
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
	const plain = `${found} Check the spelling. The inbound log on Integration says what was reported for it.`;
	return refusalOf("unknown_order", { eventType, orderId }, plain);
}
