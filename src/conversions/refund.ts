// Refunds a part of a conversion's value. The shop reports refunds of its customers over the API, in files and on the
// conversion's page. A refund of everything that is left is a reversal. decide.ts makes requests of refunds, together
// with other decisions.

import type { Reason } from "../domain/conversion.ts";
import { addAmounts, zeroIn } from "../domain/money.ts";
import { writeRates } from "../domain/rate.ts";
import {
	type AskedRefund,
	isFullRefund,
	judgeRefund,
	type KnownRefund,
	type Refundable,
} from "../domain/refund.ts";
import { type Conversion, knownOrderOf } from "../store/queries/conversions.ts";
import type { StoredRefund } from "./deps.ts";
import { appliedRatesOf } from "./later-credit.ts";
import type { RefundStep, Step } from "./moves.ts";
import type { Judgement } from "./order-request.ts";

/** A refund that was asked for. Only the shop refunds, because the money is its own. */
export interface RefundDecision extends AskedRefund {
	move: "refund";
	decidedBy: "shop";
	reason: Reason;
}

export interface RefundedRequest {
	/** The conversion before and after the refund. */
	before: Conversion;
	conversion: Conversion;
	/** "already" if the same refund was stored before. */
	outcome: "changed" | "already";
	refund: StoredRefund;
}

/** Judges a refund on the present conversion and its earlier refunds. */
export function judgeRefundOn<Done>(
	present: Conversion,
	refunds: readonly StoredRefund[],
	decision: RefundDecision,
	personId: number | null,
	done: (refunded: RefundedRequest) => Done,
): Judgement<Done> {
	const { refundId: refund_id, reason, decidedBy } = decision;
	const known = refunds.find((refund) => refund.refund_id === refund_id);
	const refundable = refundableOf(present);
	const verdict = judgeRefund(refundable, refunds.map(knownRefundOf), decision);
	const moveTo = (step: Step, refund: RefundStep): Judgement<Done> => ({
		kind: "move",
		step: { ...step, decidedBy, personId, reason, refund },
		done: (conversion) =>
			done({
				before: present,
				conversion,
				outcome: "changed",
				refund: { ...refund, at_ms: conversion.updated_at_ms },
			}),
	});
	switch (verdict.kind) {
		case "refuse":
			return { kind: "answer", result: { ok: false, fault: verdict.fault } };
		case "already":
			if (known === undefined) throw new Error("a refund that is not stored was taken for a repeated one");
			return {
				kind: "keep",
				done: (conversion) => done({ before: conversion, conversion, outcome: "already", refund: known }),
			};
		case "refund": {
			const { amount, left } = verdict;
			const change = {
				basket_value: left.basketValue,
				commission: left.commission,
				network_fee: left.networkFee,
				rates: writeRates(refundable.rates),
				refunded_value: addAmounts(present.refunded_value ?? zeroIn(present.currency), amount),
			};
			const step = { move: "refund", change } as const;
			return moveTo(step, { refund_id, amount, basket_value: left.basketValue, reason });
		}
		case "reverse": {
			const change = { reason, decided_by: decidedBy, window_ends_at_ms: null };
			const step = { move: "reverse", change } as const;
			const { amount } = verdict;
			return moveTo(step, { refund_id, amount, basket_value: zeroIn(present.currency), reason });
		}
		default:
			return verdict satisfies never;
	}
}

function knownRefundOf({ refund_id, amount, basket_value }: RefundStep): KnownRefund {
	return { refundId: refund_id, amount, basketValue: basket_value };
}

/** Returns the outcome word of a refund. It is the same whether the refund is stored now or was stored before. */
export function refundOutcome({ basket_value }: Pick<StoredRefund, "basket_value">): "REFUNDED" | "REVERSED" {
	return isFullRefund({ basketValue: basket_value }) ? "REVERSED" : "REFUNDED";
}

/** Returns the part of a conversion on which a refund is judged. */
export function refundableOf(conversion: Conversion): Refundable {
	const { currency, basket_value: basketValue } = conversion;
	return { ...knownOrderOf(conversion), currency, basketValue, rates: appliedRatesOf(conversion) };
}
