// POST /v1/approvals, /v1/rejections and /v1/reversals: the shop decides, by its own order id.

import * as z from "zod";
import type { Decision } from "../conversions/decide.ts";
import { DECISION_MOVES, decisionRequest, type OrderName } from "../conversions/decide.ts";
import type { InTransaction } from "../conversions/deps.ts";
import { parseReason } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { postEndpoint } from "./endpoint.ts";
import { checkFields } from "./read-request.ts";
import { ORDER_NAME, parseOrderName, REASON } from "./sale-fields.ts";

export const APPROVAL_BODY = z.strictObject(ORDER_NAME);
/** Optional here because a missing reason has a code of its own. */
export const REASONED_BODY = APPROVAL_BODY.extend({ reason: REASON.optional() });

interface NamedDecision {
	order: OrderName;
	decision: Decision;
}

export const postApprovals = postEndpoint(parseApproval, namedDecisionRequest);

export const postRejections = postEndpoint(
	(json: unknown) => parseReasoned(json, "reject"),
	namedDecisionRequest,
);

export const postReversals = postEndpoint(
	(json: unknown) => parseReasoned(json, "reverse"),
	namedDecisionRequest,
);

function parseApproval(json: unknown): Result<NamedDecision> {
	const fields = checkFields(APPROVAL_BODY, json);
	if (!fields.ok) return fields;
	const order = parseOrderName(fields.value);
	if (!order.ok) return order;
	return succeed({ order: order.value, decision: { move: "approve", decidedBy: "shop" } });
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

/** Of a batch, where each item says which decision it is. */
export const DECISION_ITEM = REASONED_BODY.extend({
	decision: z.string().meta({
		enum: DECISION_MOVES,
		description: "What to do. `reject` and `reverse` need a `reason`, `approve` takes none.",
		examples: ["approve"],
	}),
});

export function parseDecisionItem(json: unknown): Result<NamedDecision> {
	const fields = checkFields(DECISION_ITEM, json);
	if (!fields.ok) return fields;
	const { decision: word, ...body } = fields.value;
	const move = DECISION_MOVES.find((known) => known === word);
	if (move === undefined) {
		return refuse("invalid_field", `decision must be one of ${DECISION_MOVES.join(", ")}.`, "decision");
	}
	return move === "approve" ? parseApproval(body) : parseReasoned(body, move);
}

export function namedDecisionRequest(
	_: InTransaction,
	programme: Programme,
	{ order, decision }: NamedDecision,
) {
	return decisionRequest(programme, order, decision);
}
