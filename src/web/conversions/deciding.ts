// What a reader of the pages may decide, and in whose name.

import { DECISION_MOVES, type DecisionMove, judgeDecision, sideOf } from "../../conversions/decide.ts";
import { judgeMove, type Status } from "../../domain/conversion.ts";
import { grants, type Standing } from "../../domain/roles.ts";
import type { Decider } from "../../jobs/bulk-upload.ts";
import { viewerOf, type WebContext } from "../page.ts";

export function deciderOf(c: WebContext): Decider {
	const { personId, kind } = viewerOf(c);
	return { personId, side: sideOf(kind) };
}

/** Which buttons a reader gets; with a status, those that can do something to a conversion that has it. */
export function movesFor(standing: Standing, status?: Status): readonly DecisionMove[] {
	if (!grants(standing, "decide")) return [];
	const side = sideOf(standing === "staff" ? "staff" : "shop");
	return DECISION_MOVES.filter((move) => {
		// With any reason, because whether one is given is not the question yet.
		const mayDecide = judgeDecision(side, move, "OTHER").ok;
		return mayDecide && (status === undefined || judgeMove(status, move).kind === "apply");
	});
}
