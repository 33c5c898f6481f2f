// The calls by which a shop's server decides: by its own order id, one decision a call.

import type { EventName } from "../../domain/event-name.ts";
import type { JsonSchema, Operation, PathItem } from "../../openapi.ts";
import { APPROVAL_BODY, REASONED_BODY } from "../post-decisions.ts";
import { jsonAnswer, problemAnswers } from "./answers.ts";
import { EXAMPLE_ORDER_ID, exampleConversion } from "./example-values.ts";
import { type ApiProblemCode, BODY_CODES, CALLER_CODES, OWN_CODES } from "./problem-list.ts";
import { alsoRequiring, requestSchema } from "./request-schemas.ts";
import { outcomeSchema } from "./schemas.ts";
import { type Instance, SIGNED, sampleRequest } from "./signing.ts";

interface Decision {
	path: string;
	operationId: string;
	summary: string;
	description: string;
	event: EventName;
	outcome: string;
	schema: JsonSchema;
	example: object;
	codes: readonly ApiProblemCode[];
}

const ORDER_CODES: readonly ApiProblemCode[] = [
	"unknown_order",
	"move_not_allowed",
	"invalid_field",
	"unknown_field",
	"unknown_event_type",
];
const REASON_CODES: readonly ApiProblemCode[] = ["missing_reason", "unknown_reason"];

const AGAIN = "Repeating it answers as before, changes nothing and sends nothing.";

export function decisionPaths(instance: Instance): Record<string, PathItem> {
	const reasoned = (description: string) =>
		alsoRequiring(requestSchema(REASONED_BODY, description), "reason");
	const decisions: readonly Decision[] = [
		{
			path: "/v1/approvals",
			operationId: "approveConversion",
			summary: "Approve a conversion",
			description: `For one that is \`RECORDED\`, before its approval window ends. Announced with \`conversion.approved\`. ${AGAIN}`,
			event: "conversion.approved",
			outcome: "APPROVED",
			schema: requestSchema(APPROVAL_BODY, "Which order is approved."),
			example: { orderId: EXAMPLE_ORDER_ID },
			codes: ORDER_CODES,
		},
		{
			path: "/v1/rejections",
			operationId: "rejectConversion",
			summary: "Reject a conversion",
			description: `For one that is \`RECORDED\`. Announced with \`conversion.rejected\`, and final. ${AGAIN}`,
			event: "conversion.rejected",
			outcome: "REJECTED",
			schema: reasoned("Which order is rejected, and why."),
			example: { orderId: EXAMPLE_ORDER_ID, reason: "CANCELLED" },
			codes: [...ORDER_CODES, ...REASON_CODES],
		},
		{
			path: "/v1/reversals",
			operationId: "reverseConversion",
			summary: "Report a reversal",
			description: `For one that is \`RECORDED\` or \`APPROVED\`: the goods came back, the payment failed. Announced with \`conversion.reversed\`, and final. ${AGAIN}`,
			event: "conversion.reversed",
			outcome: "REVERSED",
			schema: reasoned("Which order is reversed, and why."),
			example: { orderId: EXAMPLE_ORDER_ID, reason: "RETURN" },
			codes: [...ORDER_CODES, ...REASON_CODES],
		},
	];
	return Object.fromEntries(
		decisions.map((decision) => [decision.path, { post: decisionOperation(instance, decision) }]),
	);
}

function decisionOperation(instance: Instance, decision: Decision): Operation {
	const { path, outcome, example } = decision;
	return {
		operationId: decision.operationId,
		summary: decision.summary,
		description: decision.description,
		tags: ["Decisions"],
		security: SIGNED,
		requestBody: {
			required: true,
			description: "The order, and where one is needed the reason.",
			content: { "application/json": { schema: decision.schema, examples: { order: { value: example } } } },
		},
		responses: {
			"200": jsonAnswer(
				`\`${outcome}\`: it is done, now or before.`,
				outcomeSchema([outcome], "It is done, now or before."),
				{ [outcome.toLowerCase()]: { outcome, conversion: exampleConversion(decision.event) } },
			),
			...problemAnswers(instance, [...BODY_CODES, ...CALLER_CODES, ...decision.codes, ...OWN_CODES]),
		},
		"x-codeSamples": sampleRequest(instance, "POST", path, JSON.stringify(example)),
	};
}
