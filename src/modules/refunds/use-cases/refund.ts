// Refunds a part of a conversion's value. The shop reports refunds of its customers over the API, in files and on the
// conversion's page. A refund of everything that is left is a reversal.

import { appliedRatesOf } from "#core/conversions/applied-rates.ts";
import {
	type DecidedRequest,
	foreseeJudged,
	type OrderName,
	requestByOrder,
	requestOn,
} from "#core/conversions/decide.ts";
import type { Decided } from "#core/conversions/deps.ts";
import type { Step } from "#core/conversions/moves.ts";
import type { Judgement, OrderRequest } from "#core/conversions/order-request.ts";
import type { Reason } from "#core/domain/conversion.ts";
import type { Result } from "#core/domain/fault.ts";

import { addAmounts, zeroIn } from "#core/domain/money.ts";
import { writeRates } from "#core/domain/rate.ts";
import { type Conversion, knownOrderOf } from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import {
	type AskedRefund,
	isFullRefund,
	judgeRefund,
	type KnownRefund,
	type Refundable,
} from "../domain/refund.ts";
import type { RefundStep, StoredRefund } from "./refund-changes.ts";

/** A requested refund. Only the shop may refund, because the money is its own. */
export interface RefundDecision extends AskedRefund {
	move: "refund";
	decidedBy: "shop";
	reason: Reason;
}

export interface RefundedRequest extends DecidedRequest {
	refund: StoredRefund;
}

export type RefundOutcome = "REFUNDED" | "REVERSED";

/** Prepares a refund of a conversion that the caller has read. */
export function refundOn(
	conversion: Conversion,
	decision: RefundDecision,
	personId: number | null,
): OrderRequest<RefundedRequest> {
	const request = requestOn<RefundedRequest>(conversion, (present, { known }) =>
		judgeOn(present, known.refunds, decision, personId, (refunded) => refunded),
	);
	return { ...request, needsRefunds: true };
}

export function refundRequest(
	programme: Pick<Programme, "id">,
	order: OrderName,
	decision: RefundDecision,
): OrderRequest<Decided<RefundOutcome>> {
	const request = requestByOrder<Decided<RefundOutcome>>(programme, order, (present, { known }) =>
		judgeOn(present, known.refunds, decision, null, ({ conversion, refund }) => ({
			outcome: refundOutcome(refund),
			conversion,
			showsPixelWorks: false,
			refund,
		})),
	);
	return { ...request, needsRefunds: true };
}

/** Returns what a refund of this conversion would do. It changes nothing. */
export function foreseeRefund(
	conversion: Conversion,
	refunds: readonly StoredRefund[],
	decision: RefundDecision,
	nowMs: number,
): Result<RefundedRequest> {
	const judged = judgeOn(conversion, refunds, decision, null, (refunded) => refunded);
	return foreseeJudged(conversion, judged, nowMs);
}

/** Judges a refund on the present conversion and its earlier refunds. */
function judgeOn<Done>(
	present: Conversion,
	refunds: readonly StoredRefund[],
	decision: RefundDecision,
	personId: number | null,
	done: (refunded: RefundedRequest) => Done,
): Judgement<Done> {
	const { refundId: refund_id, reason, decidedBy } = decision;
	const stored = refunds.find((refund) => refund.refund_id === refund_id);
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
			if (stored === undefined) throw new Error("a refund that is not stored was taken for a repeated one");
			return {
				kind: "keep",
				done: (conversion) => done({ before: conversion, conversion, outcome: "already", refund: stored }),
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
export function refundOutcome({ basket_value }: Pick<StoredRefund, "basket_value">): RefundOutcome {
	return isFullRefund({ basketValue: basket_value }) ? "REVERSED" : "REFUNDED";
}

/** Returns the part of a conversion on which a refund is judged. */
export function refundableOf(conversion: Conversion): Refundable {
	const { currency, basket_value: basketValue } = conversion;
	return { ...knownOrderOf(conversion), currency, basketValue, rates: appliedRatesOf(conversion) };
}
