// Notices of failing callbacks, in the transaction that stores the results they come from: a notice that is not written
// with its result could be lost. Results count in the order in which they came in. A pass without a failure, and
// without a success of a receiver that is known to be failing, costs nothing here.

import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { isSerious, isToBeTold, mailDueAtMs } from "../domain/notice.ts";
import type { Random } from "../ports.ts";
import { lastMailedAtMs } from "../store/notice-mails.ts";
import {
	addFailures,
	addRecoveries,
	endTroubles,
	type FailedAttempts,
	tellTroubles,
} from "../store/notices.ts";
import type { Settlement } from "../store/queue.ts";
import type { Db } from "../store/store.ts";

export interface Noted {
	/** Receivers with an open notice from now on, and those without one. */
	failing: readonly number[];
	recovered: readonly number[];
	/** Something was told: there may be a mail to send. */
	hasNews: boolean;
}

interface NotingDeps {
	trx: Db;
	random: Random;
	nowMs: number;
}

/** `failing` are the receivers known to have an open notice, watched or told. */
export async function noteFailures(
	trx: Db,
	random: Random,
	settlements: readonly Settlement[],
	failing: ReadonlySet<number>,
	nowMs: number,
): Promise<Noted> {
	const { recovered, failed } = sumUp(settlements, failing);
	const deps = { trx, random, nowMs };
	// In this order: one that worked in between and fails again has a new trouble.
	const hasRecovered = await noteRecovered(deps, recovered);
	const hasFailed = await noteFailed(deps, failed);
	const stillFailing = new Set(failed.map(({ receiverId }) => receiverId));
	return {
		failing: [...stillFailing],
		recovered: recovered.filter((id) => !stillFailing.has(id)),
		hasNews: hasRecovered || hasFailed,
	};
}

type FailedAttempt =
	| Extract<Settlement, { kind: "retry" }>
	| (Extract<Settlement, { kind: "finished" }> & { state: "failed" });

export function isFailedAttempt(settlement: Settlement): settlement is FailedAttempt {
	return settlement.kind === "retry" || (settlement.kind === "finished" && settlement.state === "failed");
}

interface Sums {
	/** Receivers whose open notice ends. */
	recovered: number[];
	/** What failed in a row, up to the newest result. */
	failed: FailedAttempts[];
}

/**
 * A receiver of which a delivery finally failed is failing, also when another was delivered in the same pass: better
 * told once too often, and a busy shop that refuses some does not get two notices for every pass.
 */
function sumUp(settlements: readonly Settlement[], failing: ReadonlySet<number>): Sums {
	const failed = new Map<number, FailedAttempts>();
	const recovered = new Set<number>();
	for (const settlement of settlements) {
		const { receiverId } = settlement.delivery;
		const before = failed.get(receiverId);
		if (isFailedAttempt(settlement)) {
			failed.set(receiverId, addUp(before, failureOf(settlement)));
			if (settlement.kind === "finished") recovered.delete(receiverId);
		} else if (settlement.kind === "finished" && (before === undefined || before.failures === 0)) {
			failed.delete(receiverId);
			if (failing.has(receiverId)) recovered.add(receiverId);
		}
	}
	// In one order for everybody: two processes that meet the same receivers must not wait for each other.
	return {
		recovered: [...recovered].sort((a, b) => a - b),
		failed: [...failed.values()].sort((a, b) => a.receiverId - b.receiverId),
	};
}

function failureOf({ delivery, kind, verdict, attempt, endedAtMs }: FailedAttempt): FailedAttempts {
	return {
		receiverId: delivery.receiverId,
		attempts: 1,
		failures: kind === "finished" ? 1 : 0,
		firstAtMs: endedAtMs,
		lastAtMs: endedAtMs,
		lastDeliveryId: delivery.id,
		lastResult: attempt.result,
		lastVerdict: verdict,
		lastHttpStatus: attempt.httpStatus,
		lastDetail: attempt.detail,
	};
}

function addUp(earlier: FailedAttempts | undefined, later: FailedAttempts): FailedAttempts {
	if (earlier === undefined) return later;
	return {
		...later,
		attempts: earlier.attempts + later.attempts,
		failures: earlier.failures + later.failures,
		firstAtMs: earlier.firstAtMs,
	};
}

/** True when something was told. */
async function noteFailed(deps: NotingDeps, failed: readonly FailedAttempts[]): Promise<boolean> {
	if (failed.length === 0) return false;
	const { trx, nowMs } = deps;
	const troubles = await addFailures(
		trx,
		failed.map((attempts) => ({ ...attempts, publicId: newPublicId(deps) })),
	);
	const haveFinally = new Set(failed.filter(({ failures }) => failures > 0).map((row) => row.receiverId));
	const serious = troubles.filter(
		(trouble) =>
			haveFinally.has(trouble.receiverId) || (trouble.toldAtMs === null && isSerious(trouble, nowMs)),
	);
	if (serious.length === 0) return false;
	const mailed = await readMailed(deps, serious);
	const news = serious.filter(
		(trouble) =>
			haveFinally.has(trouble.receiverId) || isToBeTold(trouble, mailed(trouble.receiverId), nowMs),
	);
	if (news.length === 0) return false;
	const told = news.map(({ id, receiverId }) => ({
		id,
		mailDueAtMs: mailDueAtMs(nowMs, mailed(receiverId)),
	}));
	await tellTroubles(trx, told, nowMs);
	return true;
}

/** True when something was told. */
async function noteRecovered(deps: NotingDeps, receiverIds: readonly number[]): Promise<boolean> {
	if (receiverIds.length === 0) return false;
	const { trx, nowMs } = deps;
	const told = await endTroubles(trx, receiverIds, "success", nowMs);
	if (told.length === 0) return false;
	const mailed = await readMailed(deps, told);
	const recoveries = told.map(({ receiverId }) => ({
		receiverId,
		publicId: newPublicId(deps),
		mailDueAtMs: mailDueAtMs(nowMs, mailed(receiverId)),
	}));
	await addRecoveries(trx, recoveries, nowMs);
	return true;
}

/** When the programme's people were last mailed. */
async function readMailed(
	{ trx }: NotingDeps,
	of: readonly { receiverId: number }[],
): Promise<(receiverId: number) => number | null> {
	const mailed = await lastMailedAtMs(
		trx,
		of.map(({ receiverId }) => receiverId),
	);
	return (receiverId) => mailed.get(receiverId) ?? null;
}

function newPublicId({ random, nowMs }: NotingDeps): string {
	return makeId("ntc", nowMs, random.bytes(ID_RANDOM_BYTES));
}
