// A refund lowers the value of a conversion, and commission and network fee are computed again from the value
// that is left. A refund of everything that is left is a reversal, which keeps the amounts. The shop names
// each refund, and repeating a refund changes nothing and gives the same answer.

import { awaitsConfirmation, judgeMove, type KnownOrder, type Status } from "#core/domain/conversion.ts";
import { type Fault, faultOf, type Result, refusalOf, refuse, succeed } from "#core/domain/fault.ts";
import {
	addAmounts,
	currencyDigits,
	decimalCount,
	formatMinor,
	isZero,
	minorUnits,
	parseAmount,
	parseFormAmount,
} from "#core/domain/money.ts";
import { type AppliedRates, amountLeft } from "#core/domain/rate.ts";

/** The value of a refund: either the amount that is refunded, or the value that is left after it. */
export type RefundValue = { amount: string } | { basketValue: string };

export interface AskedRefund {
	refundId: string;
	value: RefundValue;
}

/** A refund that was stored before. */
export interface KnownRefund {
	refundId: string;
	amount: string;
	/** Value that was left after the refund. */
	basketValue: string;
}

/** The part of a conversion that a refund depends on. */
export interface Refundable extends KnownOrder {
	currency: string;
	/** Value that is left after earlier refunds. */
	basketValue: string;
	/** Rates from which commission and network fee are computed. They stay the same through all refunds. */
	rates: AppliedRates;
}

interface RefundedAmounts {
	basketValue: string;
	commission: string;
	networkFee: string;
}

export type RefundVerdict =
	| { kind: "refund"; amount: string; left: RefundedAmounts }
	/** The refund takes everything that was left. */
	| { kind: "reverse"; amount: string }
	/** The same refund was already stored before. */
	| { kind: "already" }
	| { kind: "refuse"; fault: Fault };

/** Maximum number of refunds of one conversion. All of them are read for each further one. */
export const MAX_REFUNDS = 200;

/** Decides what a refund does. `refunds` are the earlier refunds of the conversion. */
export function judgeRefund(
	conversion: Refundable,
	refunds: readonly KnownRefund[],
	asked: AskedRefund,
): RefundVerdict {
	const { currency } = conversion;
	const earlier = refunds.find(({ refundId }) => refundId === asked.refundId);
	if (earlier !== undefined) {
		if (isSameValue(earlier, asked.value)) return { kind: "already" };
		return refuseWith(
			faultOf(
				"refund_id_used",
				{ refundId: asked.refundId, amount: earlier.amount, currency },
				`The refund ${asked.refundId} of this conversion was entered before, with ${earlier.amount} ${currency}. Choose another refund ID for a new refund.`,
			),
		);
	}
	const obstacle = findRefundObstacle(conversion);
	if (obstacle !== null) return refuseWith(obstacle);
	if (refunds.length >= MAX_REFUNDS)
		return refuseWith(faultOf("too_many_refunds", { count: refunds.length }));
	return judgeValue(conversion, minorUnits(conversion.basketValue), asked.value);
}

/** Returns why no part of the conversion can be refunded, or null if a part can. */
export function findRefundObstacle(conversion: Refundable): Fault | null {
	const move = judgeMove(conversion.status, "refund");
	if (move.kind === "refuse") return move.fault;
	if (awaitsConfirmation(conversion)) {
		return faultOf(
			"not_confirmed",
			{},
			"Only a pixel has reported this order, so its value is not certain yet. It can be refunded once the shop's server has confirmed it, or the shop has approved it.",
		);
	}
	const { basketValue, currency } = conversion;
	if (minorUnits(basketValue) > 0n) return null;
	return faultOf(
		"nothing_to_refund",
		{ value: basketValue, currency },
		`This conversion has a value of ${basketValue} ${currency}, so nothing of it can be refunded. Reverse it if it does not count any more.`,
	);
}

function judgeValue(conversion: Refundable, present: bigint, value: RefundValue): RefundVerdict {
	const { currency, basketValue: left } = conversion;
	const digits = decimalCount(left);
	if ("basketValue" in value) {
		const after = minorUnits(value.basketValue);
		if (after >= present) return refuseWith(faultOf("value_not_lower", { left, currency }));
		return refundOrReverse(conversion, formatMinor(present - after, digits));
	}
	if (minorUnits(value.amount) > present) {
		return refuseWith(
			faultOf(
				"refund_above_value",
				{ left, currency, amount: value.amount },
				`Only ${left} ${currency} is left of this conversion. Refund at most that.`,
			),
		);
	}
	return refundOrReverse(conversion, value.amount);
}

function refundOrReverse(conversion: Refundable, amount: string): RefundVerdict {
	const basketValue = addAmounts(conversion.basketValue, `-${amount}`);
	if (isZero(basketValue)) return { kind: "reverse", amount };
	const { commission, fee } = conversion.rates;
	return {
		kind: "refund",
		amount,
		left: {
			basketValue,
			commission: amountLeft(basketValue, commission),
			networkFee: amountLeft(basketValue, fee),
		},
	};
}

function isSameValue(known: KnownRefund, value: RefundValue): boolean {
	return "amount" in value ? known.amount === value.amount : known.basketValue === value.basketValue;
}

function refuseWith(fault: Fault): RefundVerdict {
	return { kind: "refuse", fault };
}

/** Returns whether the refund left nothing, so that it was stored as a reversal. */
export function isFullRefund({ basketValue }: Pick<KnownRefund, "basketValue">): boolean {
	return isZero(basketValue);
}

/**
 * Returns whether the conversion contains all these refunds. It does not if it was read before the last of them was
 * stored.
 */
export function includesRefunds(
	{ status, refundedValue }: { status: Status; refundedValue: string | null },
	refunds: readonly KnownRefund[],
): boolean {
	const partial = refunds.filter((refund) => !isFullRefund(refund));
	const sum = partial.reduce((total, { amount }) => total + minorUnits(amount), 0n);
	const isReversed = partial.length === refunds.length || status === "REVERSED";
	return isReversed && sum === minorUnits(refundedValue ?? "0");
}

/** Fields with which a shop or a person enters the value of a refund. */
export interface RefundValueInput {
	amount?: string | undefined;
	basketValue?: string | undefined;
	currency?: string | undefined;
}

/** Parses the refunded amount as a person writes it, with a decimal point or a decimal comma. */
export function parseTypedRefund(text: string, currency: string): Result<RefundValue> {
	const amount = parseFormAmount(text, currency, "amount", "refunded amount");
	if (amount.ok) return parseRefundValue({ amount: amount.value }, currency);
	if (amount.fault.code !== "negative_amount") return amount;
	return refuse("negative_amount", "Enter what was refunded, without a minus sign.", "amount");
}

/** Parses the value of a refund in the programme's currency, and returns it in canonical form. */
export function parseRefundValue(input: RefundValueInput, currency: string): Result<RefundValue> {
	const { amount, basketValue } = input;
	if (input.currency !== undefined) {
		const digits = currencyDigits(input.currency);
		if (!digits.ok) return digits;
		if (input.currency !== currency) return refusalOf("wrong_currency", { currency });
	}
	if ((amount === undefined) === (basketValue === undefined)) {
		return refuse(
			"invalid_field",
			"Send either amount, which is what was refunded, or basketValue, which is what is left of the order.",
			"amount",
		);
	}
	if (amount === undefined) {
		const value = parseAmount(basketValue ?? "", currency, "basketValue");
		return value.ok ? succeed({ basketValue: value.value }) : value;
	}
	const value = parseAmount(amount, currency, "amount");
	if (!value.ok) {
		const isNegative = value.fault.code === "negative_amount";
		return isNegative
			? refuse("negative_amount", "amount must be what was refunded, without a minus sign.", "amount")
			: value;
	}
	return isZero(value.value) ? refusalOf("zero_refund", {}) : succeed({ amount: value.value });
}
