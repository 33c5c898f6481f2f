// Which buttons a reader gets, and which of them can do something to a conversion as it is.

import {
	DECISION_MOVES,
	type DecisionMove,
	judgeDecision,
	sideOf,
} from "../../conversions/decision-rights.ts";
import { judgeMove, type Status } from "../../domain/conversion.ts";
import type { Role } from "../../store/tables/people.ts";

export function movesFor(role: Role, status?: Status): readonly DecisionMove[] {
	return DECISION_MOVES.filter((move) => {
		// With any reason, because whether one is given is not the question yet.
		const mayDecide = judgeDecision(sideOf(role), move, "OTHER").ok;
		return mayDecide && (status === undefined || judgeMove(status, move).kind === "apply");
	});
}
