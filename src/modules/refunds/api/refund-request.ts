// The request that reports a refund, alone or as an item of a batch of decisions.

import { checkFields } from "#core/api/read-request.ts";
import { parseOrderName, REASONED_BODY } from "#core/api/sale-fields.ts";
import type { SignedCall } from "#core/api/signed-call.ts";
import type { Decided } from "#core/conversions/deps.ts";
import type { OrderRequest } from "#core/conversions/order-request.ts";
import { parseReason } from "#core/domain/conversion.ts";
import { checkAll, type Result, succeed } from "#core/domain/fault.ts";
import { parseRefundId } from "#core/domain/order-id.ts";
import { parseRefundValue } from "../domain/refund.ts";
import { type RefundOutcome, refundRequest } from "../use-cases/refund.ts";
import { REFUND_ID, REFUND_VALUE } from "./refund-fields.ts";

export const REFUND_BODY = REASONED_BODY.extend({ refundId: REFUND_ID, ...REFUND_VALUE });

/** Parses a refund. Like a reversal, it may be reported with every key. */
export function parseRefund(
	json: unknown,
	{ programme }: SignedCall,
): Result<OrderRequest<Decided<RefundOutcome>>> {
	const fields = checkFields(REFUND_BODY, json);
	if (!fields.ok) return fields;
	const parsed = checkAll({
		order: parseOrderName(fields.value),
		refundId: parseRefundId(fields.value.refundId),
		value: parseRefundValue(fields.value, programme.currency),
		reason: parseReason(fields.value.reason),
	});
	if (!parsed.ok) return parsed;
	const { order, ...refund } = parsed.value;
	const decision = { move: "refund", decidedBy: "shop", ...refund } as const;
	return succeed(refundRequest(programme, order, decision));
}
