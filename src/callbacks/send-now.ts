// A person does not wait for the next attempt of a callback: it goes out now. It counts as the next of the seven, and the
// delays go on from it. Pressed twice, or by two people who saw the same attempt, it is sent once.

import { type Result, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { bringForward, listWaiting, type WaitingRow } from "../store/queries/bring-forward.ts";
import { type Delivery, findDelivery } from "../store/queries/deliveries.ts";
import type { Db } from "../store/store.ts";
import { type ResendDeps, refuseCancelled, refuseNoUrl, refuseUnknown } from "./resend.ts";

/** "under way": it is due already, or being sent. "tried since": there was another attempt than the person saw. */
export type SentNow = "sent" | "under way" | "tried since" | "ended";

/** Per transaction. */
const BATCH_ROWS = 500;

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

/** Everything that waits for its next attempt. Resolves to how many are sent now. */
export async function sendAllWaiting(
	{ store, clock }: ResendDeps,
	programmeId: number,
	personId: number | null = null,
): Promise<Result<number>> {
	const untilMs = clock.nowMs();
	let sent = 0;
	let after: Pick<WaitingRow, "id" | "dueAtMs"> = { dueAtMs: untilMs, id: Number.MAX_SAFE_INTEGER };
	for (;;) {
		const page = { after, untilMs, limit: BATCH_ROWS };
		const waiting = await store.lookAlongIndexes((db) => listWaiting(db, programmeId, page));
		const last = waiting.at(-1);
		if (last === undefined) return succeed(sent);
		const dueAtMs = clock.nowMs();
		const brought = await store.transact(async (trx) => {
			const ids = await bringForward(trx, programmeId, waiting, dueAtMs);
			const detail = `${ids?.length ?? 0} that were waiting`;
			const note = { personId, programmeId, action: "deliveries.sent_now", detail } as const;
			if (ids !== null && ids.length > 0) await noteAudit(trx, note, clock.nowMs());
			return ids;
		});
		if (brought === null) return refuseNoUrl();
		sent += brought.length;
		store.announceDue({ programmeIds: [programmeId], dueAtMs });
		if (waiting.length < BATCH_ROWS) return succeed(sent);
		after = last;
		await clock.yieldLoop();
	}
}
