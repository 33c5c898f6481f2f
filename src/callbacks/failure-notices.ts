// Notices of failing callbacks: in the transaction that stores results, final failures are added to the programme's
// open notice and a success ends it. A notice that is not written with its result could be lost.

import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { mailDueAtMs } from "../domain/notice.ts";
import type { Random } from "../ports.ts";
import {
	addFailures,
	endOpenNotice,
	type FailureCount,
	insertNotice,
	lastMailedAtMs,
} from "../store/notices.ts";
import type { Settlement } from "../store/queue.ts";
import type { Db } from "../store/store.ts";

/** Programmes that a notice was written for: their owners may have to be mailed. */
export interface Told {
	failing: readonly number[];
	recovered: readonly number[];
}

/** `failing` are the programmes known to have an open notice. */
export async function noteFailures(
	trx: Db,
	random: Random,
	settlements: readonly Settlement[],
	failing: ReadonlySet<number>,
	nowMs: number,
): Promise<Told> {
	const failures = countFailures(settlements);
	const recovered = recoveredProgrammes(settlements, failures, failing);
	const told: Told = { failing: [...failures.keys()], recovered };
	// In one order for everybody: two engines that meet the same programmes must not wait for each other.
	const programmeIds = [...told.failing, ...recovered].sort((a, b) => a - b);
	if (programmeIds.length === 0) return told;
	const mailed = await lastMailedAtMs(trx, programmeIds);
	const fresh = (programmeId: number) => ({
		publicId: makeId("ntc", nowMs, random.bytes(ID_RANDOM_BYTES)),
		mailDueAtMs: mailDueAtMs(nowMs, mailed.get(programmeId) ?? null),
	});
	for (const programmeId of programmeIds) {
		const failure = failures.get(programmeId);
		if (failure !== undefined) await addFailures(trx, failure, fresh(programmeId), nowMs);
		else await openWorkingAgain(trx, programmeId, fresh(programmeId), nowMs);
	}
	return told;
}

async function openWorkingAgain(
	trx: Db,
	programmeId: number,
	fresh: { publicId: string; mailDueAtMs: number },
	nowMs: number,
): Promise<void> {
	if (!(await endOpenNotice(trx, programmeId, nowMs))) return;
	await insertNotice(trx, {
		public_id: fresh.publicId,
		receiver_id: programmeId,
		kind: "callbacks_working_again",
		opened_at_ms: nowMs,
		updated_at_ms: nowMs,
		failures: 0,
		mailed_failures: 0,
		mail_due_at_ms: fresh.mailDueAtMs,
	});
}

function countFailures(settlements: readonly Settlement[]): Map<number, FailureCount> {
	const counts = new Map<number, FailureCount>();
	for (const settlement of settlements) {
		if (settlement.kind !== "finished" || settlement.state !== "failed") continue;
		const { id, programmeId } = settlement.delivery;
		counts.set(programmeId, {
			programmeId,
			failures: (counts.get(programmeId)?.failures ?? 0) + 1,
			lastDeliveryId: id,
			lastVerdict: settlement.verdict,
			lastHttpStatus: settlement.attempt.httpStatus,
		});
	}
	return counts;
}

/** A programme that failed and succeeded within one batch is failing: better told once too often. */
function recoveredProgrammes(
	settlements: readonly Settlement[],
	failures: ReadonlyMap<number, FailureCount>,
	failing: ReadonlySet<number>,
): number[] {
	const recovered = new Set<number>();
	for (const settlement of settlements) {
		if (settlement.kind !== "finished" || settlement.state !== "delivered") continue;
		const { programmeId } = settlement.delivery;
		if (!failures.has(programmeId) && failing.has(programmeId)) recovered.add(programmeId);
	}
	return [...recovered];
}
