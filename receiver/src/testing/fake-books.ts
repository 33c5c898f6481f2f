// The conversions of the fake service, and the moves that the service allows.

import type { RecordedRefund } from "../client/recorded-refund.ts";
import type { Conversion } from "../conversion-fields.ts";
import { conversionKey } from "../conversion-key.ts";
import type { PostbackEvent } from "../event.ts";
import type { ConversionStatus, Reason } from "../words.ts";
import { parseUnits, percentOf, writeUnits } from "./fake-amounts.ts";
import { type FakeAnswer, problem } from "./fake-answer.ts";

/** Everything that the fake service remembers. */
export type FakeBooks = {
	readonly currency: string;
	readonly commissionPercent: number;
	readonly networkFeePercent: number;
	readonly now: () => number;
	/** The conversions by order id and event type, in the order in which they were recorded. */
	readonly conversions: Map<string, Conversion>;
	/** Refunds by the id of their conversion, the oldest first. */
	readonly refunds: Map<string, readonly RecordedRefund[]>;
	/** Events that have not been delivered yet, the oldest first. */
	pending: PostbackEvent[];
};

/** A decision of the network's staff or of the approval window. */
export type FakeDecision =
	| { readonly move: "approve" }
	| { readonly move: "reject" | "reverse"; readonly reason: Reason };

export type Fields = Readonly<Record<string, unknown>>;
type Move = FakeDecision["move"];

const moves: Readonly<Record<Move, { from: readonly string[]; to: ConversionStatus; event: string }>> = {
	approve: { from: ["RECORDED"], to: "APPROVED", event: "conversion.approved" },
	reject: { from: ["RECORDED"], to: "REJECTED", event: "conversion.rejected" },
	reverse: { from: ["RECORDED", "APPROVED"], to: "REVERSED", event: "conversion.reversed" },
};
/** Maximum number of coupon codes that the service takes. */
const mostCouponCodes = 10;
/** Length of the part after the prefix in the service's ids. */
const idLength = 26;
export const programmeId = `prg_${"0".repeat(idLength)}`;

export function recordSale(books: FakeBooks, fields: Fields): FakeAnswer {
	const { orderId, eventType = "SALE", basketValue, currency = books.currency, couponCodes } = fields;
	if (typeof orderId !== "string" || typeof eventType !== "string") {
		return problem(422, "invalid_field", "orderId is missing. Send it as a string.", "orderId");
	}
	if (typeof basketValue !== "string") {
		return problem(422, "amount_not_a_string", "basketValue must be a string.", "basketValue");
	}
	const units = parseUnits(basketValue);
	if (units === undefined) {
		return problem(422, "malformed_amount", "basketValue must be digits with a point.", "basketValue");
	}
	if (currency !== books.currency) {
		return problem(422, "wrong_currency", `This programme is in ${books.currency}.`, "currency");
	}
	if (Array.isArray(couponCodes) && couponCodes.length > mostCouponCodes) {
		const detail = `couponCodes may have at most ${mostCouponCodes} codes.`;
		return problem(422, "too_many_coupon_codes", detail, "couponCodes");
	}
	const known = books.conversions.get(conversionKey(orderId, eventType));
	if (known !== undefined) return done("DUPLICATE", known);
	const conversion = store(books, newConversion(books, orderId, eventType, units, fields));
	announce(books, "conversion.recorded", conversion);
	return { ...done("RECORDED", conversion), status: 201 };
}

/** Makes a move that the shop asks for. A move that was made before is answered in the same way. */
export function moveOrder(books: FakeBooks, move: Move, fields: Fields): FakeAnswer {
	const { orderId, eventType = "SALE", reason } = fields;
	const known = books.conversions.get(conversionKey(orderId, eventType));
	if (known === undefined) return unknownOrder(orderId);
	if (move !== "approve" && typeof reason !== "string") return missingReason();
	const { from, to } = moves[move];
	if (known.status === to) return done(to, known);
	if (!from.includes(known.status)) return notAllowed(known);
	return done(to, moveTo(books, known, move, move === "approve" ? null : String(reason), "shop"));
}

/** Refunds a part of an order. A refund of everything that is left is a reversal. */
export function refundOrder(books: FakeBooks, fields: Fields): FakeAnswer {
	const { orderId, eventType = "SALE", refundId, amount, basketValue, reason } = fields;
	const known = books.conversions.get(conversionKey(orderId, eventType));
	if (known === undefined) return unknownOrder(orderId);
	if (typeof reason !== "string") return missingReason();
	const left = parseUnits(known.basketValue) ?? 0n;
	const rest = parseUnits(basketValue);
	const units = parseUnits(amount) ?? (rest === undefined ? undefined : left - rest);
	if (typeof refundId !== "string" || units === undefined) {
		return problem(422, "invalid_field", "Send refundId, and either amount or basketValue.", "refundId");
	}
	const refunds = refundsOf(books, known);
	const earlier = refunds.find((one) => one.refundId === refundId);
	if (earlier !== undefined) return repeatRefund(known, earlier, fields);
	if (!moves.reverse.from.includes(known.status)) return notAllowed(known);
	if (rest !== undefined && units <= 0n) {
		return problem(409, "value_not_lower", `basketValue must be below ${known.basketValue}.`, "basketValue");
	}
	if (units <= 0n) return problem(422, "zero_refund", "amount must be more than zero.", "amount");
	if (units > left) return problem(409, "refund_above_value", `Only ${known.basketValue} is left.`, "amount");
	const refund: RecordedRefund = {
		refundId,
		amount: writeUnits(units),
		basketValue: writeUnits(left - units),
		reason,
		refundedAt: timeOf(books),
	};
	books.refunds.set(known.id, [...refunds, refund]);
	if (units === left) return done("REVERSED", moveTo(books, known, "reverse", reason, "shop"), refund);
	const refundedValue = writeUnits((parseUnits(known.refundedValue) ?? 0n) + units);
	const amounts = { ...amountsOf(books, left - units), refundedValue, updatedAt: timeOf(books) };
	return done("REFUNDED", store(books, { ...known, ...amounts }), refund);
}

/** Answers a refund whose id was used before. It is the same refund only if its value is the same. */
function repeatRefund(
	known: Conversion,
	earlier: RecordedRefund,
	{ amount, basketValue }: Fields,
): FakeAnswer {
	const isSame =
		amount === undefined
			? parseUnits(basketValue) === parseUnits(earlier.basketValue)
			: parseUnits(amount) === parseUnits(earlier.amount);
	if (!isSame) return problem(409, "refund_id_used", `The refund ${earlier.refundId} has another value.`);
	return done(parseUnits(earlier.basketValue) === 0n ? "REVERSED" : "REFUNDED", known, earlier);
}

/** Returns the refunds of a conversion, the oldest first. */
export function refundsOf({ refunds }: FakeBooks, { id }: Conversion): readonly RecordedRefund[] {
	return refunds.get(id) ?? [];
}

/** Makes a move that the network decides. Throws if the conversion's status does not allow it. */
export function decideOrder(books: FakeBooks, orderId: string, decision: FakeDecision): Conversion {
	const known = books.conversions.get(conversionKey(orderId));
	if (known === undefined) throw new Error(`The fake service has no order ${orderId}.`);
	if (!moves[decision.move].from.includes(known.status)) {
		throw new Error(`Order ${orderId} is ${known.status}, so ${decision.move} is not possible.`);
	}
	if (decision.move === "approve") return moveTo(books, known, "approve", null, "window");
	return moveTo(books, known, decision.move, decision.reason, "review");
}

function newConversion(
	books: FakeBooks,
	orderId: string,
	eventType: string,
	units: bigint,
	{ test, occurredAt }: Fields,
): Conversion {
	const at = timeOf(books);
	return {
		id: `cnv_${String(books.conversions.size + 1).padStart(idLength, "0")}`,
		orderId,
		programId: programmeId,
		status: "RECORDED",
		eventType,
		...amountsOf(books, units),
		currency: books.currency,
		reason: null,
		test: test === true,
		source: "postback",
		pixelBasketValue: null,
		refundedValue: "0.00",
		decidedBy: null,
		occurredAt: typeof occurredAt === "string" ? new Date(occurredAt).toISOString() : at,
		createdAt: at,
		updatedAt: at,
		approvesAt: null,
		expiresAt: null,
	};
}

function moveTo(
	books: FakeBooks,
	conversion: Conversion,
	move: Move,
	reason: Reason | null,
	decidedBy: string,
): Conversion {
	const { to: status, event } = moves[move];
	const moved = store(books, { ...conversion, status, reason, decidedBy, updatedAt: timeOf(books) });
	announce(books, event, moved);
	return moved;
}

function store(books: FakeBooks, conversion: Conversion): Conversion {
	books.conversions.set(conversionKey(conversion.orderId, conversion.eventType), conversion);
	return conversion;
}

function announce(books: FakeBooks, event: string, conversion: Conversion): void {
	const { id: conversionId, orderId, programId, status, eventType, currency } = conversion;
	const { basketValue, commission, networkFee, reason, test, occurredAt } = conversion;
	const names = { event, conversionId, orderId, programId, status, eventType };
	const amounts = { basketValue, commission, networkFee, currency };
	books.pending.push({ ...names, ...amounts, reason, test, occurredAt, sentAt: timeOf(books) });
}

function amountsOf({ commissionPercent, networkFeePercent }: FakeBooks, units: bigint) {
	return {
		basketValue: writeUnits(units),
		commission: writeUnits(percentOf(units, commissionPercent)),
		networkFee: writeUnits(percentOf(units, networkFeePercent)),
	};
}

function done(outcome: string, conversion: Conversion, refund?: RecordedRefund): FakeAnswer {
	return { status: 200, body: { outcome, conversion, ...(refund === undefined ? {} : { refund }) } };
}

function unknownOrder(orderId: unknown): FakeAnswer {
	return problem(404, "unknown_order", `This programme has no order ${orderId}.`, "orderId");
}

function missingReason(): FakeAnswer {
	return problem(422, "missing_reason", "A reason is needed here.", "reason");
}

function notAllowed({ status }: Conversion): FakeAnswer {
	return problem(409, "move_not_allowed", `This conversion is ${status}, which does not allow it.`);
}

function timeOf({ now }: FakeBooks): string {
	return new Date(now()).toISOString();
}
