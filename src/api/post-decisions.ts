// POST /v1/approvals, /v1/rejections and /v1/reversals: the shop decides, by its own order id.

import * as z from "zod";
import type { Decision } from "../conversions/decide.ts";
import { decideByOrder, type OrderName } from "../conversions/decide-by-order.ts";
import { parseEventType, parseReason } from "../domain/conversion.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { parseOrderId } from "../domain/order-id.ts";
import { decidedAnswer } from "./answers.ts";
import { checkFields, parseJson } from "./fields.ts";
import { mentionedOrderId } from "./mentioned-order.ts";
import type { Endpoint } from "./signed-call.ts";
import { EVENT_TYPE, ORDER_ID, REASON } from "./wire-fields.ts";

export const APPROVAL_BODY = z.strictObject({ orderId: ORDER_ID, eventType: EVENT_TYPE.default("SALE") });
/** Optional here because a missing reason has a code of its own. */
export const REASONED_BODY = APPROVAL_BODY.extend({ reason: REASON.optional() });

interface NamedDecision {
	order: OrderName;
	decision: Decision;
}

export const postApprovals = decisionEndpoint((json) => {
	const fields = checkFields(APPROVAL_BODY, json);
	if (!fields.ok) return fields;
	const order = parseOrder(fields.value);
	if (!order.ok) return order;
	return succeed({ order: order.value, decision: { move: "approve", decidedBy: "shop" } });
});

export const postRejections = decisionEndpoint((json) => parseReasoned(json, "reject"));

export const postReversals = decisionEndpoint((json) => parseReasoned(json, "reverse"));

function decisionEndpoint(parse: (json: unknown) => Result<NamedDecision>): Endpoint {
	return async (trx, deps, call) => {
		const json = parseJson(call);
		if (!json.ok) return { result: json, orderId: null };
		const orderId = mentionedOrderId(json.value);
		const parsed = parse(json.value);
		if (!parsed.ok) return { result: parsed, orderId };
		const { order, decision } = parsed.value;
		const decided = await decideByOrder(trx, deps, call.programme, order, decision);
		if (!decided.ok) return { result: decided, orderId };
		return { result: succeed(decidedAnswer(decided.value, call.programme)), orderId };
	};
}

function parseReasoned(json: unknown, move: "reject" | "reverse"): Result<NamedDecision> {
	const fields = checkFields(REASONED_BODY, json);
	if (!fields.ok) return fields;
	const order = parseOrder(fields.value);
	if (!order.ok) return order;
	const reason = parseReason(fields.value.reason);
	if (!reason.ok) return reason;
	return succeed({ order: order.value, decision: { move, decidedBy: "shop", reason: reason.value } });
}

function parseOrder(fields: { orderId: string; eventType: string }): Result<OrderName> {
	const orderId = parseOrderId(fields.orderId);
	if (!orderId.ok) return orderId;
	const eventType = parseEventType(fields.eventType);
	if (!eventType.ok) return eventType;
	return succeed({ orderId: orderId.value, eventType: eventType.value });
}
