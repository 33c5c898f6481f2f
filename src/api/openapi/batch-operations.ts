// Many sales or decisions in one call: described beside the calls that take one.

import type { Operation } from "../../openapi.ts";
import { BATCH_BODY } from "../answers.ts";
import { batchBody, MAX_BATCH_BYTES, MAX_ITEMS } from "../post-batch.ts";
import { SALE_BODY } from "../post-conversions.ts";
import { DECISION_ITEM } from "../post-decisions.ts";
import { EXAMPLE_ORDER_ID } from "../sale-fields.ts";
import { exampleConversion } from "./example-values.ts";
import { requestSchema } from "./json-schema.ts";
import { jsonAnswer, signedOperation } from "./operation.ts";
import type { Instance } from "./signing.ts";

const TAKEN = `Up to ${MAX_ITEMS} of them, in a body of at most ${MAX_BATCH_BYTES / 1_024} KiB. They are taken in their order, also several about one order, and \`results\` has the outcome or the problem of each at the same place. A problem with one is nobody else's: the others are done. The call may be repeated after a lost answer, signed anew: nothing is done twice.`;

export function recordBatch(instance: Instance): Operation {
	const items = [{ orderId: EXAMPLE_ORDER_ID, basketValue: "129.90" }];
	return signedOperation(instance, {
		operationId: "recordConversions",
		summary: "Report many sales in one call",
		description: `Each item is what \`POST /v1/conversions\` takes, and does what it does. ${TAKEN}`,
		tag: "Conversions",
		body: {
			description: "The sales.",
			schema: requestSchema(batchBody(SALE_BODY), "Sales as the shop's server reports them."),
			examples: { sales: { value: { items } } },
		},
		responses: {
			"200": jsonAnswer("What became of each.", BATCH_BODY, "results", {
				results: [{ outcome: "RECORDED", conversion: exampleConversion("conversion.recorded") }],
			}),
		},
		codes: ["invalid_field", "unknown_field"],
		sampleTarget: "/v1/conversions/batch",
	});
}

export function decideBatch(instance: Instance): Operation {
	const items = [{ decision: "approve", orderId: EXAMPLE_ORDER_ID }];
	return signedOperation(instance, {
		operationId: "decideConversions",
		summary: "Decide about many conversions in one call",
		description: `Each item is a decision, its order and, to reject or reverse, the reason. ${TAKEN} Of several decisions about one order the earlier are then refused with \`move_not_allowed\`.`,
		tag: "Decisions",
		body: {
			description: "The decisions.",
			schema: requestSchema(batchBody(DECISION_ITEM), "Decisions by the shop's own order ids."),
			examples: { decisions: { value: { items } } },
		},
		responses: {
			"200": jsonAnswer("What became of each.", BATCH_BODY, "results", {
				results: [{ outcome: "APPROVED", conversion: exampleConversion("conversion.approved") }],
			}),
		},
		codes: ["invalid_field", "unknown_field"],
		sampleTarget: "/v1/decisions/batch",
	});
}
