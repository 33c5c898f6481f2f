// Somebody decides: approve, reject or reverse, one conversion or many in one transaction. Repeating a decision that
// was already taken answers as before, changes nothing and sends nothing.

import { type DecidedBy, judgeMove, type Reason } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Conversion, findManyByPublicId } from "../store/conversions.ts";
import type { Db } from "../store/store.ts";
import type { Decided, InTransaction } from "./deps.ts";
import { makeMoves, type Step } from "./make-moves.ts";

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
	owedProgrammeIds: readonly number[];
}

export type DecisionOutcome = "APPROVED" | "REJECTED" | "REVERSED";

const OUTCOMES = { approve: "APPROVED", reject: "REJECTED", reverse: "REVERSED" } as const;

/** Losing the race once means somebody else decided; the second look then meets a status that stays. */
const MAX_LOOKS = 3;

/** At most MAX_STEPS requests, no two of them about the same conversion. */
export async function decideMany(
	trx: Db,
	deps: InTransaction,
	requests: readonly DecisionRequest[],
	personId: number | null,
): Promise<DecidedMany> {
	const results = new Map<DecisionRequest, Result<DecidedRequest>>();
	const owed = new Set<number>();
	let open = requests.map((request) => ({ request, present: request.conversion }));
	for (let look = 0; look < MAX_LOOKS && open.length > 0; look++) {
		const steps: Step[] = [];
		open = open.filter(({ request, present }) => {
			const verdict = judgeMove(present.status, request.decision.move);
			if (verdict.kind === "refuse") results.set(request, { ok: false, fault: verdict.fault });
			if (verdict.kind === "already") {
				results.set(request, succeed({ conversion: present, outcome: "already" }));
			}
			if (verdict.kind !== "apply") return false;
			steps.push(stepFor(present, request.decision, personId));
			return true;
		});
		const made = await makeMoves(trx, deps, steps);
		for (const programmeId of made.owedProgrammeIds) owed.add(programmeId);
		open = open.filter(({ request }, index) => {
			const conversion = made.conversions[index];
			if (conversion !== undefined) results.set(request, succeed({ conversion, outcome: "changed" }));
			return conversion === undefined;
		});
		open = await lookAgain(trx, open);
	}
	return {
		results: requests.map((request) => results.get(request) ?? refuseBusy()),
		owedProgrammeIds: [...owed],
	};
}

function stepFor(known: Conversion, decision: Decision | TestDecision, personId: number | null): Step {
	const { move, decidedBy } = decision;
	const reason = decision.move === "approve" ? null : decision.reason;
	const change = { reason, decided_by: decidedBy, window_ends_at_ms: null };
	return { move, known, change, decidedBy, personId, reason };
}

/** Somebody moved these between the read and the write. */
async function lookAgain(
	trx: Db,
	open: readonly { request: DecisionRequest; present: Conversion }[],
): Promise<{ request: DecisionRequest; present: Conversion }[]> {
	const ids = open.map(({ present }) => present.public_id);
	const byId = new Map((await findManyByPublicId(trx, ids)).map((found) => [found.public_id, found]));
	return open.flatMap(({ request, present }) => {
		const found = byId.get(present.public_id);
		return found === undefined ? [] : [{ request, present: found }];
	});
}

function refuseBusy(): Result<never> {
	return refuse(
		"unavailable",
		"This conversion is being changed by others right now. Try again in a moment.",
	);
}

export async function decideConversion(
	trx: Db,
	deps: InTransaction,
	conversion: Conversion,
	decision: Decision | TestDecision,
	personId: number | null = null,
): Promise<Result<Decided<DecisionOutcome>>> {
	const { results, owedProgrammeIds } = await decideMany(trx, deps, [{ conversion, decision }], personId);
	const result = results[0] ?? refuseBusy();
	if (!result.ok) return result;
	return succeed({ outcome: OUTCOMES[decision.move], conversion: result.value.conversion, owedProgrammeIds });
}
