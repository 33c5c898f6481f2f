// A person decides on a page: one conversion, or (the review team) several of any programme. Written down with who
// it was, in the same transaction.

import {
	type DecidedRequest,
	type Decision,
	type DecisionMove,
	decideMany,
	judgeDecision,
} from "../conversions/decide.ts";
import type { ConversionsDeps } from "../conversions/deps.ts";
import { judgeMove } from "../domain/conversion.ts";
import { type Fault, type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { type Conversion, findByPublicId, findManyByPublicId } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import type { Decider } from "./bulk-upload.ts";

export interface AskedOnPage {
	conversionId: string;
	move: DecisionMove;
	reason: string;
}

/** What deciding would come to, for the question whether they are sure. Nothing is changed. */
export async function previewOne(
	{ store }: ConversionsDeps,
	programme: Programme,
	decider: Decider,
	asked: AskedOnPage,
): Promise<Result<DecidedRequest>> {
	const decision = judgeDecision(decider.side, asked.move, asked.reason);
	if (!decision.ok) return decision;
	const conversion = await findByPublicId(store.db, programme.id, asked.conversionId);
	if (conversion === undefined) return refuseUnknownConversion();
	const verdict = judgeMove(conversion.status, asked.move);
	if (verdict.kind === "refuse") return { ok: false, fault: verdict.fault };
	return succeed({ conversion, outcome: verdict.kind === "apply" ? "changed" : "already" });
}

export async function decideOne(
	deps: ConversionsDeps,
	programme: Programme,
	decider: Decider,
	asked: AskedOnPage,
): Promise<Result<DecidedRequest>> {
	const decision = judgeDecision(decider.side, asked.move, asked.reason);
	if (!decision.ok) return decision;
	const done = await deps.store.transact(async (trx) => {
		const conversion = await findByPublicId(trx, programme.id, asked.conversionId);
		if (conversion === undefined) return null;
		return decideAndNote(trx, deps, decider, [conversion], decision.value);
	});
	const [only] = done?.decided ?? [];
	if (done === null || only === undefined) return refuseUnknownConversion();
	deps.store.announceDue(done.owed);
	return only.result;
}

function refuseUnknownConversion(): ReturnType<typeof refuse> {
	return refuse("unknown_conversion", "This programme has no such conversion. Go back to the list.");
}

export interface RejectedMany {
	changed: number;
	already: number;
	refused: readonly { conversion: Conversion; fault: Fault }[];
}

/** For the review team, whose list crosses programmes. */
export async function rejectMany(
	deps: ConversionsDeps,
	decider: Decider,
	asked: { conversionIds: readonly string[]; reason: string },
): Promise<Result<RejectedMany>> {
	const decision = judgeDecision(decider.side, "reject", asked.reason);
	if (!decision.ok) return decision;
	const done = await deps.store.transact(async (trx) => {
		const found = await findManyByPublicId(trx, [...new Set(asked.conversionIds)]);
		return decideAndNote(trx, deps, decider, found, decision.value);
	});
	deps.store.announceDue(done.owed);
	if (done.decided.length === 0) {
		return refuse(
			"nothing_selected",
			"Nothing is selected. Select conversions first, then choose what to do.",
		);
	}
	const outcomes = done.decided.map(({ result }) => (result.ok ? result.value.outcome : "refused"));
	return succeed({
		changed: outcomes.filter((outcome) => outcome === "changed").length,
		already: outcomes.filter((outcome) => outcome === "already").length,
		refused: done.decided.flatMap(({ conversion, result }) =>
			result.ok ? [] : [{ conversion, fault: result.fault }],
		),
	});
}

async function decideAndNote(
	trx: Db,
	deps: ConversionsDeps,
	{ personId }: Decider,
	conversions: readonly Conversion[],
	decision: Decision,
) {
	const requests = conversions.map((conversion) => ({ conversion, decision }));
	const { results, owed } = await decideMany(trx, deps, requests, personId);
	const decided = conversions.flatMap((conversion, index) => {
		const result = results[index];
		return result === undefined ? [] : [{ conversion, result }];
	});
	const reason = decision.move === "approve" ? "" : ` (${decision.reason})`;
	for (const { conversion, result } of decided) {
		if (!result.ok || result.value.outcome !== "changed") continue;
		const note = {
			personId,
			programmeId: conversion.programme_id,
			action: "conversion.decided" as const,
			subject: conversion.public_id,
			detail: `${decision.move}${reason}`,
		};
		await noteAudit(trx, note, deps.clock.nowMs());
	}
	return { decided, owed };
}
