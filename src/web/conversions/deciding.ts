// What a reader of the pages may decide, in whose name, and how they are told what came of it.

import { DECISION_MOVES, type DecisionMove, judgeDecision, sideOf } from "../../conversions/decide.ts";
import { judgeMove, type Status } from "../../domain/conversion.ts";
import { plainWords } from "../../domain/fault.ts";
import { grants, type Standing } from "../../domain/roles.ts";
import type { DecidedOnPage, Decider } from "../../jobs/decide-from-page.ts";
import { makerOf, type WebContext } from "../page.ts";
import { countOf } from "../ui.ts";

export function deciderOf(c: WebContext): Decider {
	const maker = makerOf(c);
	return { ...maker, side: sideOf(maker.kind) };
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

export const MOVE_WORDS: Readonly<Record<DecisionMove, { verb: string; done: string }>> = {
	approve: { verb: "Approve", done: "approved" },
	reject: { verb: "Reject", done: "rejected" },
	reverse: { verb: "Reverse", done: "reversed" },
};

export function describeDecided(
	move: DecisionMove,
	{ changed, already, refused }: DecidedOnPage,
): readonly ["good" | "info" | "warn", string] {
	const { done } = MOVE_WORDS[move];
	const [only, ...others] = [...changed, ...already];
	if (only !== undefined && others.length === 0 && refused.length === 0) {
		return changed.length === 1
			? ["good", `Order ${only.order_id} is ${done}.`]
			: ["info", `Order ${only.order_id} was ${done} before. Nothing was changed.`];
	}
	const sentences = [`${countOf(changed.length, "conversion")} ${done}.`];
	if (already.length > 0) {
		sentences.push(`${already.length} ${already.length === 1 ? "was" : "were"} ${done} before.`);
	}
	const [first, ...rest] = refused;
	if (first !== undefined) {
		const more =
			rest.length === 0 ? "" : ` ${rest.length} more ${rest.length === 1 ? "was" : "were"} refused.`;
		sentences.push(`Order ${first.conversion.order_id}: ${plainWords(first.fault)}${more}`);
	}
	return [refused.length === 0 ? "good" : "warn", sentences.join(" ")];
}
