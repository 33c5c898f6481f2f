// The fields of a refund in requests and answers of the signed API.

import * as z from "zod";
import { AMOUNT, UTC_TIME } from "#core/api/answer-fields.ts";
import { AMOUNT_PATTERN, CURRENCY, NAME_PATTERN } from "#core/api/sale-fields.ts";
import { REASONS } from "#core/domain/conversion.ts";
import { MAX_ORDER_ID_CHARACTERS } from "#core/domain/order-id.ts";
import { isoTime } from "#core/domain/time.ts";
import type { StoredRefund } from "../use-cases/refund-changes.ts";

export const REFUND_ID = z.string().meta({
	minLength: 1,
	maxLength: MAX_ORDER_ID_CHARACTERS,
	pattern: NAME_PATTERN,
	description:
		"The shop's own name for the refund. It follows the rules of `orderId` and is unique within the conversion: the same `refundId` again is the same refund.",
	examples: ["R-1"],
});

/** The fields that say how much is refunded. Exactly one of the two amounts must be sent. */
export const REFUND_VALUE = {
	amount: z
		.string()
		.meta({
			pattern: AMOUNT_PATTERN,
			description:
				"The amount that was refunded, as a decimal string. Send either `amount` or `basketValue`.",
			examples: ["30.00"],
		})
		.optional(),
	basketValue: z
		.string()
		.meta({
			pattern: AMOUNT_PATTERN,
			description:
				"The value of the order that is left after the refund, as a decimal string. It must be below the present value.",
			examples: ["99.90"],
		})
		.optional(),
	currency: CURRENCY.optional(),
};

/** A refund of a part of the order that all examples use, five days after the sale. */
export const EXAMPLE_REFUND = {
	refundId: "R-1",
	amount: "30.00",
	basketValue: "99.90",
	reason: "RETURN",
	refundedAt: "2026-03-06T11:30:00.000Z",
} as const;

export const REFUND = z
	.strictObject({
		refundId: z.string().meta({ description: "The shop's own name for the refund.", examples: ["R-1"] }),
		amount: AMOUNT.meta({ description: "The amount that was refunded.", examples: ["30.00"] }),
		basketValue: AMOUNT.meta({
			description: "The value that was left after this refund. 0 if it was a reversal.",
			examples: ["99.90"],
		}),
		reason: z.enum(REASONS).describe("Why it was refunded."),
		refundedAt: UTC_TIME.describe("The time at which the refund was stored."),
	})
	.meta({
		id: "Refund",
		description: "A refund of a part of a conversion's value.",
		examples: [EXAMPLE_REFUND],
	});
export type RefundBody = z.output<typeof REFUND>;

export function refundBody({ refund_id, amount, basket_value, reason, at_ms }: StoredRefund): RefundBody {
	return {
		refundId: refund_id,
		amount,
		basketValue: basket_value,
		reason,
		refundedAt: isoTime(at_ms),
	};
}
