// Approves, rejects or reverses conversions. A conversion is identified by its id. A shop may also use its own order id
// together with the event type. Repeating a decision gives the same answer, changes nothing and sends nothing. The shop may
// approve, reject and reverse. The review team may only reject (contract section 3).

import { type DecidedBy, type EventType, judgeMove, parseReason, type Reason } from "../domain/conversion.ts";
import { type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { changeOrders } from "./change-orders.ts";
import type { Decided, InTransaction, Owing } from "./deps.ts";
import { composeChanged } from "./moves.ts";
import { type About, type Judgement, type OrderRequest, refuseBusy } from "./order-request.ts";

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

export type Side = Exclude<DecidedBy, "window">;

export interface DecidedRequest {
	/** The conversion right before the decision. It may differ from the one that the caller had read. */
	before: Conversion;
	conversion: Conversion;
	/**
	 * Whether the decision was made now. "already" means that the same decision was made before, so nothing has changed
	 * and nothing is sent.
	 */
	outcome: "changed" | "already";
}

export type DecisionOutcome = "APPROVED" | "REJECTED" | "REVERSED";

const OUTCOMES = { approve: "APPROVED", reject: "REJECTED", reverse: "REVERSED" } as const;

/** Prepares a decision about a conversion that the caller has read. */
export function decisionOn(
	conversion: Conversion,
	decision: Decision | TestDecision,
	personId: number | null,
): OrderRequest<DecidedRequest> {
	return requestOn(conversion, (present) => judgeOn(present, decision, personId, (decided) => decided));
}

/** Prepares a request about a conversion that the caller has read. It is refused if the conversion is gone. */
export function requestOn<Done>(
	conversion: Conversion,
	judge: (present: Conversion, about: About) => Judgement<Done>,
): OrderRequest<Done> {
	return {
		programmeId: conversion.programme_id,
		orderId: conversion.order_id,
		eventType: conversion.event_type,
		conversionId: conversion.id,
		judge: (present, about) =>
			present === null ? { kind: "answer", result: refuseBusy() } : judge(present, about),
	};
}

/** Returns what a decision about this conversion would do. It changes nothing. */
export function foresee(conversion: Conversion, decision: Decision, nowMs: number): Result<DecidedRequest> {
	const judged = judgeOn<DecidedRequest>(conversion, decision, null, (decided) => decided);
	return foreseeJudged(conversion, judged, nowMs);
}

export function foreseeJudged<Done>(
	conversion: Conversion,
	judged: Judgement<Done>,
	nowMs: number,
): Result<Done> {
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
	decision: Decision | TestDecision,
	personId: number | null = null,
): Promise<Result<Decided<DecisionOutcome> & Owing>> {
	const { results, owed } = await changeOrders(trx, deps, [decisionOn(conversion, decision, personId)]);
	const result = results[0] ?? refuseBusy();
	return result.ok ? succeed({ ...decidedAs(decision, result.value), owed }) : result;
}

export interface OrderName {
	orderId: string;
	eventType: EventType;
}

/** Prepares a shop's decision about an order. change-orders.ts handles it together with other requests. */
export function decisionRequest(
	programme: Pick<Programme, "id">,
	order: OrderName,
	decision: Decision,
): OrderRequest<Decided<DecisionOutcome>> {
	return requestByOrder(programme, order, (present) =>
		judgeOn(present, decision, null, (decided) => decidedAs(decision, decided)),
	);
}

/** Prepares a request about an order. It is refused if the order is not known. */
export function requestByOrder<Done>(
	programme: Pick<Programme, "id">,
	order: OrderName,
	judge: (present: Conversion, about: About) => Judgement<Done>,
): OrderRequest<Done> {
	return {
		programmeId: programme.id,
		...order,
		judge: (present, about) =>
			present === null
				? { kind: "answer", result: refuseUnknownOrder(order, about.namesakes()) }
				: judge(present, about),
	};
}

function judgeOn<Done>(
	present: Conversion,
	decision: Decision | TestDecision,
	personId: number | null,
	done: (decided: DecidedRequest) => Done,
): Judgement<Done> {
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
function decidedAs(
	{ move }: Decision | TestDecision,
	{ conversion }: DecidedRequest,
): Decided<DecisionOutcome> {
	return { outcome: OUTCOMES[move], conversion, showsPixelWorks: false };
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
