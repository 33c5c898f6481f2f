// Many decisions in one transaction, with few statements: those that make the same change to the same status go
// together. The rule is the one for a single decision, and so is what happens when somebody else was faster.

import { judgeMove, type Status } from "../domain/conversion.ts";
import { type Result, succeed } from "../domain/fault.ts";
import { type Conversion, findByPublicId, insertMoves, updateManyIfStill } from "../store/conversions.ts";
import type { Db } from "../store/store.ts";
import { type Decision, decideConversion } from "./decide.ts";
import type { InTransaction } from "./deps.ts";
import { oweEvents } from "./owe.ts";

export interface Wish {
	conversion: Conversion;
	decision: Decision;
}

/** "already": it was decided so before; nothing changed and nothing is sent. */
export type WishOutcome = "changed" | "already";

export interface DecidedMany {
	/** In the order of the wishes. */
	results: readonly Result<WishOutcome>[];
	owedProgrammeIds: readonly number[];
}

interface Group {
	decision: Decision;
	from: Status;
	wishes: { wish: Wish; place: number }[];
}

/** No two wishes may be about the same conversion. */
export async function decideMany(
	trx: Db,
	deps: InTransaction,
	wishes: readonly Wish[],
	personId: number,
): Promise<DecidedMany> {
	const results: Result<WishOutcome>[] = wishes.map(() => succeed("already"));
	const owed = new Set<number>();
	const groups = new Map<string, Group>();
	wishes.forEach((wish, place) => {
		const { conversion, decision } = wish;
		const verdict = judgeMove(conversion.status, decision.move);
		if (verdict.kind === "refuse") results[place] = { ok: false, fault: verdict.fault };
		if (verdict.kind !== "apply") return;
		const key = JSON.stringify([decision, conversion.status]);
		const group = groups.get(key) ?? { decision, from: conversion.status, wishes: [] };
		group.wishes.push({ wish, place });
		groups.set(key, group);
	});
	for (const group of groups.values()) {
		const changed = await applyGroup(trx, deps, group, personId);
		for (const programmeId of changed.owedProgrammeIds) owed.add(programmeId);
		for (const { wish, place } of group.wishes) {
			if (changed.ids.has(wish.conversion.id)) {
				results[place] = succeed("changed");
				continue;
			}
			const late = await decideLate(trx, deps, wish, personId);
			for (const programmeId of late.owedProgrammeIds) owed.add(programmeId);
			results[place] = late.result;
		}
	}
	return { results, owedProgrammeIds: [...owed] };
}

/** Somebody moved it between the read and the write: look again, and decide by itself. */
async function decideLate(
	trx: Db,
	deps: InTransaction,
	{ conversion, decision }: Wish,
	personId: number,
): Promise<{ result: Result<WishOutcome>; owedProgrammeIds: readonly number[] }> {
	const present = (await findByPublicId(trx, conversion.programme_id, conversion.public_id)) ?? conversion;
	const isAlready = judgeMove(present.status, decision.move).kind === "already";
	const decided = await decideConversion(trx, deps, present, decision, personId);
	if (!decided.ok) return { result: decided, owedProgrammeIds: [] };
	return {
		result: succeed(isAlready ? "already" : "changed"),
		owedProgrammeIds: decided.value.owedProgrammeIds,
	};
}

async function applyGroup(
	trx: Db,
	deps: InTransaction,
	{ decision, from, wishes }: Group,
	personId: number,
): Promise<{ ids: ReadonlySet<number>; owedProgrammeIds: readonly number[] }> {
	const verdict = judgeMove(from, decision.move);
	if (verdict.kind !== "apply") return { ids: new Set(), owedProgrammeIds: [] };
	const nowMs = deps.clock.nowMs();
	const reason = decision.move === "approve" ? null : decision.reason;
	const changed = await updateManyIfStill(
		trx,
		wishes.map(({ wish }) => wish.conversion.id),
		from,
		{
			status: verdict.to,
			reason,
			decided_by: decision.decidedBy,
			window_ends_at_ms: null,
			updated_at_ms: nowMs,
		},
	);
	await insertMoves(
		trx,
		changed.map(({ id }) => ({
			conversion_id: id,
			move: decision.move,
			to_status: verdict.to,
			decided_by: decision.decidedBy,
			person_id: personId,
			reason,
			at_ms: nowMs,
		})),
	);
	const owedProgrammeIds =
		verdict.announces === null ? [] : await oweEvents(trx, deps, verdict.announces, changed);
	return { ids: new Set(changed.map(({ id }) => id)), owedProgrammeIds };
}
