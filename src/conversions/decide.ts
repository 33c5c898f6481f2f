// Approves, rejects, reverses or refunds one conversion or many in one transaction. A conversion is identified by its id.
// A shop may also use its own order id together with the event type. Repeating a decision gives the same answer, changes
// nothing and sends nothing. The shop may approve, reject, reverse and refund. The review team may only reject (contract
// section 3).

import { type DecidedBy, type EventType, judgeMove, parseReason, type Reason } from "../domain/conversion.ts";
import { type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { type Changed, changeOrders } from "./change-orders.ts";
import type { Decided, InTransaction, Owing, StoredRefund } from "./deps.ts";
import { composeChanged } from "./moves.ts";
import { type Judgement, type OrderRequest, refuseBusy } from "./order-request.ts";
import { judgeRefundOn, type RefundDecision, refundOutcome } from "./refund.ts";

export type Decision =
	| { move: "approve"; decidedBy: "shop" }
	| { move: "reject"; decidedBy: Side; reason: Reason }
	| { move: "reverse"; decidedBy: "shop"; reason: Reason };

/**
 * A decision about a test conversion. Both sides may approve, reject and reverse it, and the history names
 * the person who did.
 */
export type TestDecision =
	| { move: "approve"; decidedBy: Side }
	| { move: "reject" | "reverse"; decidedBy: Side; reason: Reason };

export const DECISION_MOVES = ["approve", "reject", "reverse"] as const;
export type DecisionMove = Decision["move"];

/** The party for which a person decides. */
export type Side = Exclude<DecidedBy, "window">;

/** A decision of any kind, or a refund. */
type AnyDecision = Decision | TestDecision | RefundDecision;

export interface DecisionRequest {
	conversion: Conversion;
	decision: AnyDecision;
}

export interface DecidedRequest {
	/** The conversion right before the decision. It may differ from the one that the caller had read. */
	before: Conversion;
	/** The conversion after the decision. */
	conversion: Conversion;
	/** "already" if the same decision was made before. In that case nothing has changed and nothing is sent. */
	outcome: "changed" | "already";
	/** The refund, if the decision is one. */
	refund?: StoredRefund;
}

export type DecisionOutcome = "APPROVED" | "REJECTED" | "REVERSED" | "REFUNDED";

const OUTCOMES = { approve: "APPROVED", reject: "REJECTED", reverse: "REVERSED" } as const;

/** Makes decisions about conversions. There may be at most MAX_REQUESTS. */
export function decideMany(
	trx: Db,
	deps: InTransaction,
	requests: readonly DecisionRequest[],
	personId: number | null,
): Promise<Changed<DecidedRequest>> {
	return changeOrders(
		trx,
		deps,
		requests.map(({ conversion, decision }) => ({
			programmeId: conversion.programme_id,
			orderId: conversion.order_id,
			eventType: conversion.event_type,
			conversionId: conversion.id,
			needsRefunds: needsRefunds(decision),
			judge: (present, about) =>
				present === null
					? { kind: "answer", result: refuseBusy() }
					: judgeOn(present, about, decision, personId, (decided) => decided),
		})),
	);
}

/** A conversion with its refunds, on which decisions are judged. */
export interface Decidable {
	conversion: Conversion;
	refunds: readonly StoredRefund[];
}

/** Returns what a decision about this conversion would do. It changes nothing. */
export function foresee(
	{ conversion, refunds }: Decidable,
	decision: AnyDecision,
	nowMs: number,
): Result<DecidedRequest> {
	const judged = judgeOn(conversion, { refunds }, decision, null, (decided) => decided);
	if (judged.kind === "answer") return judged.result;
	if (judged.kind === "keep") return succeed(judged.done(conversion));
	const { step, done } = judged;
	if ("sale" in step) throw new Error("a decision starts a conversion");
	return succeed(done(composeChanged(conversion, step, nowMs)));
}

export async function decideConversion(
	trx: Db,
	deps: InTransaction,
	conversion: Conversion,
	decision: AnyDecision,
	personId: number | null = null,
): Promise<Result<Decided<DecisionOutcome> & Owing>> {
	const { results, owed } = await decideMany(trx, deps, [{ conversion, decision }], personId);
	const result = results[0] ?? refuseBusy();
	return result.ok ? succeed({ ...decidedAs(decision, result.value), owed }) : result;
}

export interface OrderName {
	orderId: string;
	eventType: EventType;
}

/** Prepares a shop's decision about an order. change-orders.ts handles it together with other requests. */
export function decisionRequest(
	programme: Programme,
	order: OrderName,
	decision: Decision | RefundDecision,
): OrderRequest<Decided<DecisionOutcome>> {
	return {
		programmeId: programme.id,
		...order,
		needsRefunds: needsRefunds(decision),
		judge: (present, about) =>
			present === null
				? { kind: "answer", result: refuseUnknownOrder(order, about.namesakes) }
				: judgeOn(present, about, decision, null, (decided) => decidedAs(decision, decided)),
	};
}

function needsRefunds({ move }: AnyDecision): true | undefined {
	return move === "refund" ? true : undefined;
}

function judgeOn<Done>(
	present: Conversion,
	{ refunds }: { refunds: readonly StoredRefund[] },
	decision: AnyDecision,
	personId: number | null,
	done: (decided: DecidedRequest) => Done,
): Judgement<Done> {
	if (decision.move === "refund") return judgeRefundOn(present, refunds, decision, personId, done);
	const { move, decidedBy } = decision;
	const verdict = judgeMove(present.status, move);
	switch (verdict.kind) {
		case "refuse":
			return { kind: "answer", result: { ok: false, fault: verdict.fault } };
		case "already":
			return {
				kind: "keep",
				done: (conversion) => done({ before: conversion, conversion, outcome: "already" }),
			};
		case "apply": {
			const reason = decision.move === "approve" ? null : decision.reason;
			const change = { reason, decided_by: decidedBy, window_ends_at_ms: null };
			return {
				kind: "move",
				step: { move, change, decidedBy, personId, reason },
				done: (conversion) => done({ before: present, conversion, outcome: "changed" }),
			};
		}
		default:
			return verdict satisfies never;
	}
}

/** Returns the outcome of a decision. It is the same whether the decision is made now or was made before. */
function decidedAs({ move }: AnyDecision, { conversion, refund }: DecidedRequest): Decided<DecisionOutcome> {
	const decided = { conversion, showsPixelWorks: false };
	if (move !== "refund") return { ...decided, outcome: OUTCOMES[move] };
	if (refund === undefined) throw new Error("a refund came back without its row");
	return { ...decided, outcome: refundOutcome(refund), refund };
}

/**
 * Refuses a decision about a conversion that does not exist. `known` lists the event types of the programme's other
 * conversions with this order ID.
 */
export function refuseUnknownOrder(
	{ orderId, eventType }: OrderName,
	known: readonly EventType[],
): ReturnType<typeof refuse> {
	const found = `This programme has no ${eventType} with order ID ${orderId}.`;
	const others = known.join(", ");
	if (known.length > 0) {
		return refuse(
			"unknown_order",
			`${found} It is known as ${others}: send that eventType if it is the one you mean.`,
			"orderId",
			`${found} It is known as ${others}: write that as eventType if it is the one you mean.`,
		);
	}
	const plain = `${found} Check the spelling. The inbound log on Integration says what was reported for it.`;
	return refusalOf("unknown_order", { eventType, orderId }, plain);
}

export function sideOf(kind: PersonKind): Side {
	return kind === "staff" ? "review" : "shop";
}

export function parseMove(text: string): Result<DecisionMove> {
	const move = DECISION_MOVES.find((known) => known === text.trim().toLowerCase());
	if (move !== undefined) return succeed(move);
	const plain = "Choose what to do: approve, reject or reverse.";
	return refuse("invalid_field", `decision must be one of ${DECISION_MOVES.join(", ")}.`, "decision", plain);
}

export function judgeDecision(side: Side, move: DecisionMove, reason: string | undefined): Result<Decision> {
	const right = judgeRight(side, move);
	if (!right.ok) return right;
	if (move === "approve") return succeed({ move, decidedBy: "shop" });
	const parsed = parseReason(reason);
	if (!parsed.ok) return parsed;
	if (move === "reject") return succeed({ move, decidedBy: side, reason: parsed.value });
	return succeed({ move, decidedBy: "shop", reason: parsed.value });
}

/** Checks whether a side may make a decision or a refund. */
export function judgeRight(side: Side, move: DecisionMove | "refund"): Result<null> {
	if (move === "reject" || side === "shop") return succeed(null);
	return refuse(
		"not_allowed",
		`Only the shop's owners can ${move} a conversion. The review team can reject it.`,
		"decision",
	);
}

/**
 * Checks a decision about a test conversion. Everybody may make the same decisions as the shop, because no money
 * depends on it.
 */
export function judgeTestDecision(side: Side, move: DecisionMove, reason: string): Result<TestDecision> {
	const judged = judgeDecision("shop", move, reason);
	return judged.ok ? succeed({ ...judged.value, decidedBy: side }) : judged;
}
