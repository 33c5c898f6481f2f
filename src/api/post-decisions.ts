// POST /v1/approvals, /v1/rejections and /v1/reversals: the shop decides, by its own order id.

import * as z from "zod";
import type { Decision } from "../conversions/decide.ts";
import { decisionRequest, type OrderName } from "../conversions/decide-by-order.ts";
import { parseReason } from "../domain/conversion.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { type Endpoint, postEndpoint } from "./endpoint.ts";
import { checkFields } from "./read-request.ts";
import { ORDER_NAME, parseOrderName, REASON } from "./sale-fields.ts";

export const APPROVAL_BODY = z.strictObject(ORDER_NAME);
/** Optional here because a missing reason has a code of its own. */
export const REASONED_BODY = APPROVAL_BODY.extend({ reason: REASON.optional() });

interface NamedDecision {
	order: OrderName;
	decision: Decision;
}

export const postApprovals = decisionEndpoint((json) => {
	const fields = checkFields(APPROVAL_BODY, json);
	if (!fields.ok) return fields;
	const order = parseOrderName(fields.value);
	if (!order.ok) return order;
	return succeed({ order: order.value, decision: { move: "approve", decidedBy: "shop" } });
});

export const postRejections = decisionEndpoint((json) => parseReasoned(json, "reject"));

export const postReversals = decisionEndpoint((json) => parseReasoned(json, "reverse"));

function decisionEndpoint(parse: (json: unknown) => Result<NamedDecision>): Endpoint {
	return postEndpoint(parse, (_, programme, { order, decision }) =>
		decisionRequest(programme, order, decision),
	);
}

function parseReasoned(json: unknown, move: "reject" | "reverse"): Result<NamedDecision> {
	const fields = checkFields(REASONED_BODY, json);
	if (!fields.ok) return fields;
	const order = parseOrderName(fields.value);
	if (!order.ok) return order;
	const reason = parseReason(fields.value.reason);
	if (!reason.ok) return reason;
	return succeed({ order: order.value, decision: { move, decidedBy: "shop", reason: reason.value } });
}
