// POST /v1/refunds reports that a part of an order's value was refunded.

import { outcomeAnswer } from "#core/api/answers.ts";
import { exampleConversion } from "#core/api/openapi/examples.ts";
import { single } from "#core/api/order-call.ts";
import { answer } from "#core/api/route.ts";
import { EXAMPLE_ORDER_ID } from "#core/api/sale-fields.ts";
import { EXAMPLE_REFUND, REFUND } from "./refund-fields.ts";
import { parseRefund, REFUND_BODY } from "./refund-request.ts";

const REFUNDED = outcomeAnswer(
	["REFUNDED", "REVERSED"],
	"The refund was stored now, or had been stored before.",
).extend({ refund: REFUND });

export const REFUND_CONVERSION = single({
	path: "/v1/refunds",
	tag: "Decisions",
	operationId: "refundConversion",
	summary: "Report a refund of a part of an order",
	description:
		"Lowers the value of a `RECORDED` or `APPROVED` conversion. Partner and rates stay, and commission and fee are computed again from the value that is left. The answer has the new amounts. No event announces them, because the events of a conversion are `recorded`, `approved`, `rejected` and `reversed`. If the conversion is approved later, `conversion.approved` has the new amounts. A refund of everything that is left is a reversal, which `conversion.reversed` announces. The same `refundId` with the same value is the same refund: nothing changes and the answer has the present conversion, also if it was reversed since. Every key may report refunds.",
	body: REFUND_BODY.required({ reason: true }),
	sample: { orderId: EXAMPLE_ORDER_ID, refundId: "R-1", amount: "30.00", reason: "RETURN" },
	answers: {
		200: answer(
			"`REFUNDED`: a part was refunded, now or before. `REVERSED`: the refund left nothing, so the conversion is reversed.",
			REFUNDED,
			{
				outcome: "REFUNDED",
				conversion: {
					...exampleConversion("conversion.recorded"),
					basketValue: EXAMPLE_REFUND.basketValue,
					commission: "7.99",
					networkFee: "2.50",
					refundedValue: EXAMPLE_REFUND.amount,
					updatedAt: EXAMPLE_REFUND.refundedAt,
				},
				refund: EXAMPLE_REFUND,
			},
		),
	},
	faults: ["decision", "fields", "sale", "event type", "reason", "refund"],
	parser: () => parseRefund,
});
