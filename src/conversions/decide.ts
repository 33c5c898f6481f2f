// A person or the shop's server decides: approve, reject or reverse. Repeating a decision that was already
// taken answers as before, changes nothing and sends nothing.

import { type DecidedBy, judgeMove, type Reason } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Conversion, findByPublicId, insertMoves, updateIfStill } from "../store/conversions.ts";
import type { Db } from "../store/store.ts";
import type { Decided, InTransaction } from "./deps.ts";
import { oweEvents } from "./owe.ts";

export type Decision =
	| { move: "approve"; decidedBy: "shop" }
	| { move: "reject"; decidedBy: Exclude<DecidedBy, "window">; reason: Reason }
	| { move: "reverse"; decidedBy: "shop"; reason: Reason };

/** On a test conversion anybody takes any step, and the books say whose it was. */
export type TestDecision =
	| { move: "approve"; decidedBy: Exclude<DecidedBy, "window"> }
	| { move: "reject" | "reverse"; decidedBy: Exclude<DecidedBy, "window">; reason: Reason };

export type DecisionOutcome = "APPROVED" | "REJECTED" | "REVERSED";

const OUTCOMES = { approve: "APPROVED", reject: "REJECTED", reverse: "REVERSED" } as const;

/** Losing the race once means somebody else decided; the second look then meets a status that stays. */
const MAX_LOOKS = 3;

export async function decideConversion(
	trx: Db,
	deps: InTransaction,
	found: Conversion,
	decision: Decision | TestDecision,
	personId: number | null = null,
): Promise<Result<Decided<DecisionOutcome>>> {
	const outcome = OUTCOMES[decision.move];
	let present: Conversion | undefined = found;
	for (let look = 0; look < MAX_LOOKS && present !== undefined; look++) {
		const verdict = judgeMove(present.status, decision.move);
		if (verdict.kind === "refuse") return { ok: false, fault: verdict.fault };
		if (verdict.kind === "already") return succeed({ outcome, conversion: present, owedProgrammeIds: [] });
		const nowMs = deps.clock.nowMs();
		const reason = decision.move === "approve" ? null : decision.reason;
		const conversion = await updateIfStill(trx, present.id, present.status, {
			status: verdict.to,
			reason,
			decided_by: decision.decidedBy,
			window_ends_at_ms: null,
			updated_at_ms: nowMs,
		});
		if (conversion !== undefined) {
			await insertMoves(trx, [
				{
					conversion_id: conversion.id,
					move: decision.move,
					to_status: verdict.to,
					decided_by: decision.decidedBy,
					person_id: personId,
					reason,
					at_ms: nowMs,
				},
			]);
			const owedProgrammeIds =
				verdict.announces === null ? [] : await oweEvents(trx, deps, verdict.announces, [conversion]);
			return succeed({ outcome, conversion, owedProgrammeIds });
		}
		present = await findByPublicId(trx, present.programme_id, present.public_id);
	}
	return refuse(
		"unavailable",
		"This conversion is being changed by others right now. Try again in a moment.",
	);
}
