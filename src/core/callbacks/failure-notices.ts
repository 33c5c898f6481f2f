// Writes notices of failing callbacks, in the transaction that stores the results, because a crash in between would
// lose the notice. A pass without failures and recoveries runs no statement here. A failed test causes no notice,
// because its page and the list of deliveries already show it.

import { isTestEvent } from "../domain/event.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { isSerious, isToBePublished, SERIOUS_AFTER_MS } from "../domain/notice.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import type { Clock, Random } from "../ports.ts";
import { setAside } from "../store/queries/deliveries.ts";
import { countUndelivered, type Undelivered } from "../store/queries/delivery-health.ts";
import {
	addFailures,
	addRecoveries,
	endTroubles,
	type FailedAttempts,
	findOpenNotice,
	forgetWatched,
	type ShownNotice,
	tellTroubles,
	tellWatched,
} from "../store/queries/notices.ts";
import type { Settlement } from "../store/queries/queue.ts";
import type { ReceiverColumns } from "../store/queries/receivers.ts";
import type { Db, Store } from "../store/store.ts";

export interface Noted {
	/** Receivers that have an open notice after these results. */
	failing: readonly ReceiverId[];
	recovered: readonly ReceiverId[];
	/** Whether a notice was published, so that a mail may have to be sent. */
	hasNews: boolean;
}

interface NotingDeps {
	trx: Db;
	random: Random;
	nowMs: number;
}

/** Writes the notices that follow from these results. `failing` are the receivers known to have an open notice. */
export async function noteFailures(
	trx: Db,
	random: Random,
	settlements: readonly Settlement[],
	failing: ReadonlySet<ReceiverId>,
	nowMs: number,
): Promise<Noted> {
	const lostTests = settlements.filter((settlement) => isTest(settlement) && isLost(settlement));
	await setAside(
		trx,
		lostTests.map(({ delivery }) => delivery),
	);
	const { recovered, failed } = sumUp(settlements, failing);
	const deps = { trx, random, nowMs };
	// Recoveries come first. A receiver that recovered and fails again within one pass gets a new notice.
	const hasRecovered = await noteRecovered(deps, recovered);
	const hasFailed = await noteFailed(deps, failed);
	const stillFailing = new Set(failed.map(({ receiver_id }) => receiver_id));
	return {
		failing: [...stillFailing],
		recovered: recovered.filter((id) => !stillFailing.has(id)),
		hasNews: hasRecovered || hasFailed,
	};
}

export type FailedAttempt =
	| Extract<Settlement, { kind: "retry" }>
	| (Extract<Settlement, { kind: "finished" }> & { state: "failed" });

export function isFailedAttempt(settlement: Settlement): settlement is FailedAttempt {
	return settlement.kind === "retry" || (settlement.kind === "finished" && settlement.state === "failed");
}

function isLost(settlement: Settlement): boolean {
	return settlement.kind === "finished" && settlement.state === "failed";
}

/** Returns whether the result is about a test conversion. */
export function isTest({ delivery }: Settlement): boolean {
	return isTestEvent(delivery.eventBody);
}

interface Sums {
	/** Receivers whose open notice ends because a callback succeeded. */
	recovered: ReceiverId[];
	/** Failed attempts of each receiver that is failing now. */
	failed: FailedAttempts[];
}

/**
 * Sums up the results by receiver. A receiver with a final failure is failing, even if another delivery of it succeeded in
 * the same pass. Otherwise a busy shop that refuses some deliveries would get two notices for every pass.
 */
function sumUp(settlements: readonly Settlement[], failing: ReadonlySet<ReceiverId>): Sums {
	const failed = new Map<ReceiverId, FailedAttempts>();
	const recovered = new Set<ReceiverId>();
	for (const settlement of settlements) {
		const { receiverId } = settlement.delivery;
		const before = failed.get(receiverId);
		if (isFailedAttempt(settlement)) {
			if (isTest(settlement)) continue;
			failed.set(receiverId, addUp(before, failureOf(settlement)));
			if (settlement.kind === "finished") recovered.delete(receiverId);
		} else if (settlement.kind === "finished" && (before === undefined || before.failures === 0)) {
			failed.delete(receiverId);
			if (failing.has(receiverId)) recovered.add(receiverId);
		}
	}
	// All processes sort receivers in the same way. Two transactions that write the notices of the same receivers
	// therefore cannot deadlock.
	return {
		recovered: [...recovered].sort((a, b) => a - b),
		failed: [...failed.values()].sort((a, b) => a.receiver_id - b.receiver_id),
	};
}

function failureOf({ delivery, kind, verdict, attempt, endedAtMs }: FailedAttempt): FailedAttempts {
	return {
		receiver_id: delivery.receiverId,
		failed_attempts: 1,
		failures: kind === "finished" ? 1 : 0,
		opened_at_ms: endedAtMs,
		last_failed_at_ms: endedAtMs,
		last_delivery_id: delivery.id,
		last_result: attempt.result,
		last_verdict: verdict,
		last_http_status: attempt.httpStatus,
		last_detail: attempt.detail,
	};
}

/**
 * Combines failed attempts of one receiver. A final failure needs the owner's attention, so the notice names it as the
 * cause even if later attempts failed in another way and will be retried.
 */
function addUp(earlier: FailedAttempts | undefined, later: FailedAttempts): FailedAttempts {
	if (earlier === undefined) return later;
	return {
		...(earlier.failures > 0 && later.failures === 0 ? earlier : later),
		failed_attempts: earlier.failed_attempts + later.failed_attempts,
		failures: earlier.failures + later.failures,
		opened_at_ms: earlier.opened_at_ms,
	};
}

/** Adds failures to the notices of their receivers. Returns whether a notice was published. */
async function noteFailed(deps: NotingDeps, failed: readonly FailedAttempts[]): Promise<boolean> {
	if (failed.length === 0) return false;
	const { trx, nowMs } = deps;
	const troubles = await addFailures(
		trx,
		failed.map((attempts) => ({ ...attempts, public_id: newPublicId(deps) })),
	);
	const withFinalFailure = new Set(
		failed.filter(({ failures }) => failures > 0).map((row) => row.receiver_id),
	);
	const news = troubles.filter(
		(trouble) =>
			withFinalFailure.has(trouble.receiverId) ||
			(trouble.toldAtMs === null && isToBePublished(trouble, trouble.lastMailedAtMs, nowMs)),
	);
	if (news.length === 0) return false;
	await tellTroubles(
		trx,
		news.map(({ id }) => id),
		nowMs,
	);
	return true;
}

/** Ends the notices of receivers that have recovered. Returns whether a notice was published. */
async function noteRecovered(deps: NotingDeps, receiverIds: readonly ReceiverId[]): Promise<boolean> {
	if (receiverIds.length === 0) return false;
	const { trx, nowMs } = deps;
	const published = await endTroubles(trx, receiverIds, "success", nowMs);
	if (published.length === 0) return false;
	const recoveries = published.map(({ receiverId }) => ({ receiverId, publicId: newPublicId(deps) }));
	await addRecoveries(trx, recoveries, nowMs);
	return true;
}

function newPublicId({ random, nowMs }: NotingDeps): string {
	return makeId("ntc", nowMs, random.bytes(ID_RANDOM_BYTES));
}

/**
 * Publishes trouble that has lasted for ten minutes, even if no attempt is due at that time. A single pending
 * delivery, for example, has its third attempt after six minutes and its fourth only after thirty-six. Returns how
 * many notices were published.
 */
export async function publishLastingTrouble(
	{ store: { db }, clock }: { store: Store; clock: Clock },
	isStopping: () => boolean,
): Promise<number> {
	const untilMs = clock.nowMs() - SERIOUS_AFTER_MS;
	await forgetWatched(db, untilMs);
	let count = 0;
	// Each notice has its own statement, so that no engine waits while many of them are locked.
	while (!isStopping() && (await tellWatched(db, untilMs, clock.nowMs()))) count++;
	return count;
}

/** Trouble with a receiver's callbacks, as pages and the health check show it. */
export interface PresentTrouble {
	notice: ShownNotice;
	/** False while the trouble is only watched, because only a few attempts have failed and the next one may succeed. */
	isSerious: boolean;
	undelivered: Undelivered;
}

/** Returns the present trouble with a receiver's callbacks, or null if the newest attempt succeeded. */
export async function readTrouble(
	db: Db,
	{ receiver_id: receiverId, endpoint_id: endpointId }: Pick<ReceiverColumns, "receiver_id" | "endpoint_id">,
	nowMs: number,
): Promise<PresentTrouble | null> {
	// Without a URL nothing is sent, so nothing is failing. A request in flight may have left a notice open when the URL
	// was removed.
	if (endpointId === null) return null;
	const notice = await findOpenNotice(db, receiverId);
	if (notice === undefined) return null;
	const { opened_at_ms: openedAtMs, failed_attempts: failedAttempts, failures } = notice;
	return {
		notice,
		isSerious: notice.told_at_ms !== null || isSerious({ openedAtMs, failedAttempts, failures }, nowMs),
		undelivered: await countUndelivered(db, receiverId),
	};
}
