// POST /v1/approvals, /v1/rejections and /v1/reversals, with which a shop's server decides about an order by the shop's own
// order id, and batches of decisions and refunds.

import * as z from "zod";
import { REFUND_ID } from "#modules/refunds/api/refund-fields.ts";
import { parseRefund, REFUND_BODY } from "#modules/refunds/api/refund-request.ts";
import {
	DECISION_MOVES,
	type DecisionMove,
	type DecisionOutcome,
	decisionRequest,
	judgeDecision,
} from "../conversions/decide.ts";
import type { Decided } from "../conversions/deps.ts";
import type { OrderRequest } from "../conversions/order-request.ts";
import type { EventName } from "../domain/event-name.ts";
import { type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import { type Outcome, outcomeAnswer } from "./answers.ts";
import { exampleConversion } from "./openapi/examples.ts";
import { ABOUT_ITEMS, batch, single } from "./order-call.ts";
import { checkFields } from "./read-request.ts";
import { answer, type DescribedCall, type SignedRoute } from "./route.ts";
import { APPROVAL_BODY, parseOrderName, REASONED_BODY } from "./sale-fields.ts";
import type { SignedCall } from "./signed-call.ts";

interface DecisionCall extends Pick<DescribedCall, "path" | "operationId" | "summary" | "description"> {
	event: EventName;
	outcome: DecisionOutcome;
	faults?: DescribedCall["faults"];
}

export const DECISIONS: readonly SignedRoute[] = [
	decision("approve", {
		path: "/v1/approvals",
		operationId: "approveConversion",
		summary: "Approve a conversion",
		description:
			"Approves a `RECORDED` conversion before its approval window ends, and announces it with `conversion.approved`. A key that may only report can approve test conversions only.",
		event: "conversion.approved",
		outcome: "APPROVED",
		faults: ["key's right"],
	}),
	decision("reject", {
		path: "/v1/rejections",
		operationId: "rejectConversion",
		summary: "Reject a conversion",
		description:
			"Rejects a `RECORDED` conversion, and announces it with `conversion.rejected`. A rejection is final. A key that may only report can reject test conversions only.",
		event: "conversion.rejected",
		outcome: "REJECTED",
		faults: ["key's right"],
	}),
	decision("reverse", {
		path: "/v1/reversals",
		operationId: "reverseConversion",
		summary: "Report a reversal",
		description:
			"Reverses a `RECORDED` or `APPROVED` conversion, for example because the goods were returned or the payment failed, and announces it with `conversion.reversed`. A reversal is final.",
		event: "conversion.reversed",
		outcome: "REVERSED",
	}),
];

/** Describes a call that makes one kind of decision. */
function decision(
	move: DecisionMove,
	{ event, outcome, description, faults = [], ...words }: DecisionCall,
): SignedRoute {
	const conversion = exampleConversion(event);
	const { orderId, reason } = conversion;
	const body: z.ZodObject = reason === null ? APPROVAL_BODY : REASONED_BODY.required({ reason: true });
	return single({
		...words,
		tag: "Decisions",
		description: `${description} If it is repeated, the answer is the same, nothing changes and nothing is sent.`,
		body,
		sample: reason === null ? { orderId } : { orderId, reason },
		answers: {
			200: answer(
				`\`${outcome}\`: the decision was made now, or had been made before.`,
				outcomeAnswer([outcome], "The decision was made now, or had been made before."),
				{ outcome, conversion },
			),
		},
		faults: [
			...faults,
			"decision",
			"fields",
			"event type",
			...(reason === null ? [] : (["reason"] as const)),
		],
		parser: () => (json, call) => parseDecision(json, call, move),
	});
}

function parseDecision(
	json: unknown,
	{ programme, mayDecide }: SignedCall,
	move: DecisionMove,
): Result<OrderRequest<Decided<Outcome>>> {
	const fields: Result<{ orderId: string; eventType: string; reason?: string | undefined }> =
		move === "approve" ? checkFields(APPROVAL_BODY, json) : checkFields(REASONED_BODY, json);
	if (!fields.ok) return fields;
	const order = parseOrderName(fields.value);
	if (!order.ok) return order;
	const decision = judgeDecision("shop", move, fields.value.reason);
	if (!decision.ok) return decision;
	const request = decisionRequest(programme, order.value, decision.value);
	return succeed(mayDecide || move === "reverse" ? request : forTestsOnly(request));
}

/**
 * Restricts a request to test conversions. A key that may only report may also decide about test conversions.
 */
function forTestsOnly<Done>(request: OrderRequest<Done>): OrderRequest<Done> {
	return {
		...request,
		judge: (present, about) =>
			present === null || present.test === 1
				? request.judge(present, about)
				: { kind: "answer", result: refusalOf("key_may_not_decide", {}) },
	};
}

const ITEM_DECISIONS = [...DECISION_MOVES, "refund"] as const;
/** Item of a batch of decisions. Each item says which decision it makes. */
const DECISION_ITEM = REFUND_BODY.extend({
	refundId: REFUND_ID.optional(),
	decision: z.string().meta({
		enum: ITEM_DECISIONS,
		description:
			"The decision. All but `approve` need a `reason`. `refund` has the fields of `POST /v1/refunds`, and no other decision has a `refundId` or an amount.",
		examples: ["approve"],
	}),
});

const APPROVED = exampleConversion("conversion.approved");

export const DECIDE_CONVERSIONS = batch({
	path: "/v1/decisions/batch",
	tag: "Decisions",
	operationId: "decideConversions",
	summary: "Decide about many conversions in one call",
	description: `Each item has a decision, its order and, except for an approval, the reason. A refund also has a \`refundId\` and its amount. ${ABOUT_ITEMS} If a repeated call has several decisions about one order, the earlier ones are refused with \`move_not_allowed\`. With a key that may only report, approvals and rejections of real conversions are refused with \`key_may_not_decide\`.`,
	item: DECISION_ITEM,
	sampleItem: { decision: "approve", orderId: APPROVED.orderId },
	result: { outcome: "APPROVED", conversion: APPROVED },
	parser: () => parseDecisionItem,
});

function parseDecisionItem(json: unknown, call: SignedCall): Result<OrderRequest<Decided<Outcome>>> {
	const fields = checkFields(DECISION_ITEM, json);
	if (!fields.ok) return fields;
	const { decision, ...body } = fields.value;
	const move = ITEM_DECISIONS.find((one) => one === decision);
	if (move === "refund") return parseRefund(body, call);
	if (move !== undefined) return parseDecision(body, call, move);
	return refuse("invalid_field", `decision must be one of ${ITEM_DECISIONS.join(", ")}.`, "decision");
}
