// Who may decide what from a page: approving and reversing are the shop's, rejecting is the shop's or the review
// team's (contract section 3).

import { parseReason } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { Decision, TestDecision } from "./decide.ts";

export const DECISION_MOVES = ["approve", "reject", "reverse"] as const;
export type DecisionMove = Decision["move"];

/** In whose name a person decides. */
export type Side = "shop" | "review";

export function sideOf(kind: PersonKind): Side {
	return kind === "staff" ? "review" : "shop";
}

export function parseMove(text: string): Result<DecisionMove> {
	const move = DECISION_MOVES.find((known) => known === text.trim().toLowerCase());
	if (move !== undefined) return succeed(move);
	const plain = "Choose what to do: approve, reject or reverse.";
	return refuse("invalid_field", `decision must be one of ${DECISION_MOVES.join(", ")}.`, "decision", plain);
}

export function judgeDecision(side: Side, move: DecisionMove, reason: string): Result<Decision> {
	if (move !== "reject" && side === "review") {
		return refuse(
			"not_allowed",
			`Only the shop's owners can ${move} a conversion. The review team can reject it.`,
			"decision",
		);
	}
	if (move === "approve") return succeed({ move, decidedBy: "shop" });
	const parsed = parseReason(reason);
	if (!parsed.ok) return parsed;
	if (move === "reject") return succeed({ move, decidedBy: side, reason: parsed.value });
	return succeed({ move, decidedBy: "shop", reason: parsed.value });
}

/** The shop's moves, whoever tries them out: no money hangs on a test conversion. */
export function judgeTestDecision(side: Side, move: DecisionMove, reason: string): Result<TestDecision> {
	const judged = judgeDecision("shop", move, reason);
	return judged.ok ? succeed({ ...judged.value, decidedBy: side }) : judged;
}
