// Somebody decides: approve, reject or reverse, one conversion or many in one transaction. Repeating a decision that
// was already taken answers as before, changes nothing and sends nothing.

import { type DecidedBy, judgeMove, type Reason } from "../domain/conversion.ts";
import { type Result, succeed } from "../domain/fault.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { Decided, InTransaction, Owing } from "./deps.ts";
import { type Judgement, judgeAndMove, type OrderRequest, refuseBusy } from "./judge-and-move.ts";
import type { Step } from "./make-moves.ts";

export type Decision =
	| { move: "approve"; decidedBy: "shop" }
	| { move: "reject"; decidedBy: Exclude<DecidedBy, "window">; reason: Reason }
	| { move: "reverse"; decidedBy: "shop"; reason: Reason };

/** On a test conversion anybody takes any step, and the history says whose it was. */
export type TestDecision =
	| { move: "approve"; decidedBy: Exclude<DecidedBy, "window"> }
	| { move: "reject" | "reverse"; decidedBy: Exclude<DecidedBy, "window">; reason: Reason };

export interface DecisionRequest {
	conversion: Conversion;
	decision: Decision | TestDecision;
}

export interface DecidedRequest {
	/** As it is now. */
	conversion: Conversion;
	/** "already": it was decided so before; nothing changed and nothing is sent. */
	outcome: "changed" | "already";
}

export interface DecidedMany {
	/** In the order of the requests. */
	results: readonly Result<DecidedRequest>[];
	owed: Owed;
}

export type DecisionOutcome = "APPROVED" | "REJECTED" | "REVERSED";

const OUTCOMES = { approve: "APPROVED", reject: "REJECTED", reverse: "REVERSED" } as const;

/** At most MAX_STEPS requests. */
export async function decideMany(
	trx: Db,
	deps: InTransaction,
	requests: readonly DecisionRequest[],
	personId: number | null,
): Promise<DecidedMany> {
	return judgeAndMove(
		trx,
		deps,
		requests.map(({ conversion, decision }): OrderRequest<DecidedRequest> => {
			return {
				programmeId: conversion.programme_id,
				orderId: conversion.order_id,
				eventType: conversion.event_type,
				present: conversion,
				judge: (present) =>
					// Removed meanwhile, and perhaps reported again: that is another sale than was decided about.
					present?.public_id === conversion.public_id
						? judgeDecisionOn(present, decision, personId)
						: { kind: "answer", result: refuseBusy() },
			};
		}),
	);
}

export function judgeDecisionOn(
	present: Conversion,
	decision: Decision | TestDecision,
	personId: number | null,
): Judgement<DecidedRequest> {
	const verdict = judgeMove(present.status, decision.move);
	switch (verdict.kind) {
		case "refuse":
			return { kind: "answer", result: { ok: false, fault: verdict.fault } };
		case "already":
			return { kind: "answer", result: succeed({ conversion: present, outcome: "already" }) };
		case "apply":
			return {
				kind: "move",
				step: stepFor(present, decision, personId),
				done: (conversion) => ({ conversion, outcome: "changed" }),
			};
		default:
			return verdict satisfies never;
	}
}

function stepFor(known: Conversion, decision: Decision | TestDecision, personId: number | null): Step {
	const { move, decidedBy } = decision;
	const reason = decision.move === "approve" ? null : decision.reason;
	const change = { reason, decided_by: decidedBy, window_ends_at_ms: null };
	return { move, known, change, decidedBy, personId, reason };
}

/** The outcome word is the same for a decision that is made and one that was made before. */
export function decisionOutcome({ move }: Decision | TestDecision): DecisionOutcome {
	return OUTCOMES[move];
}

export async function decideConversion(
	trx: Db,
	deps: InTransaction,
	conversion: Conversion,
	decision: Decision | TestDecision,
	personId: number | null = null,
): Promise<Result<Decided<DecisionOutcome> & Owing>> {
	const { results, owed } = await decideMany(trx, deps, [{ conversion, decision }], personId);
	const result = results[0] ?? refuseBusy();
	if (!result.ok) return result;
	const decided = { outcome: OUTCOMES[decision.move], conversion: result.value.conversion };
	return succeed({ ...decided, showsPixelWorks: false, owed });
}
