// What people send again or before its time. A finished delivery is sent again as a new run: up to seven attempts, to the
// URL saved now; the event is the same, so receivers that deduplicate take it once. One that waits for its next attempt
// goes out now: it counts as the next of the seven, and the delays go on from it. Pressed twice, or by two people who saw
// the same attempt, it is sent once.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { isoTime } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { bringForward, listWaiting, type WaitingRow } from "../store/queries/bring-forward.ts";
import {
	type Delivery,
	failedSince,
	findDeliveries,
	findDelivery,
	requeue,
} from "../store/queries/deliveries.ts";
import type { Db, Store } from "../store/store.ts";

interface ResendDeps {
	store: Store;
	clock: Clock;
}

/** Per transaction; what is more goes batch by batch. */
const BATCH_ROWS = 500;

export async function resendDelivery(
	{ store, clock }: ResendDeps,
	programmeId: number,
	publicId: string,
	personId: number | null = null,
): Promise<Result<true>> {
	const nowMs = clock.nowMs();
	const resent = await store.transact(async (trx): Promise<Result<true>> => {
		const delivery = await findDelivery(trx, programmeId, publicId);
		if (delivery === undefined) return refuseUnknown(publicId);
		if (delivery.state === "pending") {
			return refuse(
				"delivery_not_finished",
				"This callback is still pending. Wait until it has finished, or send it now.",
			);
		}
		if (delivery.state === "cancelled") return refuseCancelled();
		// None started means that somebody else has just pressed the same button.
		const started = await requeue(trx, programmeId, [delivery], nowMs);
		if (started === null) return refuseNoUrl();
		await noteAudit(trx, { personId, programmeId, action: "delivery.resent", subject: publicId }, nowMs);
		return succeed(true);
	});
	if (resent.ok) store.announceDue({ programmeIds: [programmeId], dueAtMs: nowMs });
	return resent;
}

/** "under way": it is due already, or being sent. "tried since": there was another attempt than the person saw. */
export type SentNow = "sent" | "under way" | "tried since" | "ended";

export async function sendNow(
	{ store, clock }: ResendDeps,
	programmeId: number,
	publicId: string,
	/** The number of the last attempt that the person saw. */
	lastSeq: number,
	personId: number | null = null,
): Promise<Result<SentNow>> {
	const nowMs = clock.nowMs();
	const sent = await store.transact(async (trx): Promise<Result<SentNow>> => {
		const delivery = await findDelivery(trx, programmeId, publicId);
		if (delivery === undefined) return refuseUnknown(publicId);
		if (delivery.state === "cancelled") return refuseCancelled();
		if (delivery.state !== "pending") return succeed("ended");
		const brought = await bringForward(trx, programmeId, [{ id: delivery.id, seq: lastSeq }], nowMs);
		if (brought === null) return refuseNoUrl();
		if (brought.length === 0) return explainNothing(trx, delivery, lastSeq);
		const note = { personId, programmeId, action: "delivery.sent_now", subject: publicId } as const;
		await noteAudit(trx, note, nowMs);
		return succeed("sent");
	});
	if (sent.ok && sent.value === "sent") store.announceDue({ programmeIds: [programmeId], dueAtMs: nowMs });
	return sent;
}

async function explainNothing(trx: Db, { id }: Delivery, lastSeq: number): Promise<Result<SentNow>> {
	const row = await trx
		.selectFrom("queue")
		.innerJoin("programmes", "programmes.id", "queue.receiver_id")
		.select(["queue.seq", "queue.endpoint_epoch as epoch", "programmes.endpoint_epoch as presentEpoch"])
		.where("queue.id", "=", id)
		.executeTakeFirst();
	if (row === undefined) return succeed("ended");
	if (row.epoch < row.presentEpoch) return refuseCancelled();
	return succeed(row.seq === lastSeq ? "under way" : "tried since");
}

/** One batch in its transaction, noted and told. Resolves to how many, or null where there is no URL or no secret. */
async function startMany(
	{ store, clock }: ResendDeps,
	who: { programmeId: number; personId: number | null },
	action: "deliveries.resent" | "deliveries.sent_now",
	what: string,
	start: (trx: Db, dueAtMs: number) => Promise<readonly unknown[] | null>,
): Promise<number | null> {
	const dueAtMs = clock.nowMs();
	const started = await store.transact(async (trx) => {
		const count = (await start(trx, dueAtMs))?.length ?? null;
		if (count !== null && count > 0) {
			await noteAudit(trx, { ...who, action, detail: `${count}${what}` }, clock.nowMs());
		}
		return count;
	});
	if (started !== null) store.announceDue({ programmeIds: [who.programmeId], dueAtMs });
	return started;
}

/** All that have failed, or since a time. Resolves to how many were sent again. */
export async function resendFailed(
	deps: ResendDeps,
	programmeId: number,
	sinceMs: number | null = null,
	personId: number | null = null,
): Promise<Result<number>> {
	const { clock } = deps;
	// Only what had failed by now: what is refused again meanwhile must not be sent round and round.
	const untilMs = clock.nowMs();
	const what = sinceMs === null ? ": all that had failed" : `: that failed since ${isoTime(sinceMs)}`;
	const who = { programmeId, personId };
	let resent = 0;
	for (let found = BATCH_ROWS; found === BATCH_ROWS; ) {
		const started = await startMany(deps, who, "deliveries.resent", what, async (trx, dueAtMs) => {
			const failed = await failedSince(trx, programmeId, sinceMs ?? 0, BATCH_ROWS, untilMs);
			found = failed.length;
			return requeue(trx, programmeId, failed, dueAtMs);
		});
		if (started === null && found > 0) return refuseNoUrl();
		resent += started ?? 0;
		await clock.yieldLoop();
	}
	return succeed(resent);
}

/** Everything that waits for its next attempt. Resolves to how many are sent now. */
export async function sendAllWaiting(
	deps: ResendDeps,
	programmeId: number,
	personId: number | null = null,
): Promise<Result<number>> {
	const { store, clock } = deps;
	const untilMs = clock.nowMs();
	let sent = 0;
	let after: Pick<WaitingRow, "id" | "dueAtMs"> = { dueAtMs: untilMs, id: Number.MAX_SAFE_INTEGER };
	for (;;) {
		const page = { after, untilMs, limit: BATCH_ROWS };
		const waiting = await store.lookAlongIndexes((db) => listWaiting(db, programmeId, page));
		const last = waiting.at(-1);
		if (last === undefined) return succeed(sent);
		const who = { programmeId, personId };
		const brought = await startMany(deps, who, "deliveries.sent_now", " that were waiting", (trx, dueAtMs) =>
			bringForward(trx, programmeId, waiting, dueAtMs),
		);
		if (brought === null) return refuseNoUrl();
		sent += brought;
		if (waiting.length < BATCH_ROWS) return succeed(sent);
		after = last;
		await clock.yieldLoop();
	}
}

export interface SeenDelivery {
	publicId: string;
	run: number;
	/** The number of its last attempt. */
	seq: number;
}

export interface SelectedSent {
	/** In a new run. */
	resent: number;
	/** Those that waited for their next attempt. */
	sentNow: number;
	/** Cancelled for good, being sent at this moment, or sent by somebody else. */
	leftAlone: number;
}

/**
 * Those that a person has ticked in the list, at most as many as a page shows: what has ended is sent again, what waits is
 * sent now. Each as the person saw it: what somebody else has sent meanwhile is left alone.
 */
export async function sendSelected(
	deps: ResendDeps,
	programmeId: number,
	selected: readonly SeenDelivery[],
	personId: number | null = null,
): Promise<Result<SelectedSent>> {
	const seen = new Map(selected.map((delivery) => [delivery.publicId, delivery]));
	const found = await findDeliveries(deps.store.db, programmeId, [...seen.keys()]);
	const asSeen = found.filter(({ public_id, run, attempts }) => {
		const { run: seenRun, seq } = seen.get(public_id) ?? {};
		return run === seenRun && attempts === seq;
	});
	const ended = asSeen.filter(({ state }) => state === "delivered" || state === "failed");
	const waiting = asSeen.filter(({ state }) => state === "pending");
	const who = { programmeId, personId };
	const what = " chosen from the list";
	const resent = await startMany(deps, who, "deliveries.resent", what, (trx, dueAtMs) =>
		requeue(trx, programmeId, ended, dueAtMs),
	);
	const rows = waiting.map(({ id, attempts }) => ({ id, seq: attempts }));
	const sentNow =
		rows.length === 0
			? 0
			: await startMany(deps, who, "deliveries.sent_now", what, (trx, dueAtMs) =>
					bringForward(trx, programmeId, rows, dueAtMs),
				);
	if (resent === null || sentNow === null) return refuseNoUrl();
	return succeed({ resent, sentNow, leftAlone: seen.size - resent - sentNow });
}

function refuseUnknown(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_delivery", `There is no callback ${publicId} here.`);
}

function refuseCancelled(): ReturnType<typeof refuse> {
	return refuse(
		"delivery_cancelled",
		"This callback was cancelled for good when the Postback URL was removed. Read the conversion's current status from the API instead.",
	);
}

function refuseNoUrl(): ReturnType<typeof refuse> {
	return refuse(
		"no_postback_url",
		"There is no Postback URL or no signing secret now. Save a URL first, then resend.",
	);
}
