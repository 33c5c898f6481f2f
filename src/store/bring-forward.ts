// Sending now what waits for its next attempt: the due time of its row in the queue becomes this moment. The lane is held
// still meanwhile: what is in hand is known by its due time, which therefore must not change under its engine.

import { holdStill, markDue, readInHand } from "./lanes.ts";
import { programmesOwedEvents } from "./outbox.ts";
import type { Db } from "./store.ts";

export interface Waiting {
	id: number;
	/** The number of its last attempt, as whoever asks has seen it: after another one nobody has asked. */
	seq: number;
}

/** A row of the queue, as much of it as is needed to walk along it. */
export interface WaitingRow extends Waiting {
	dueAtMs: number;
}

/**
 * Those of them that were brought forward; null when there is no URL or no secret now. The others are due already or in
 * hand, have been tried since, are of a URL that was removed, or have ended.
 */
export async function bringForward(
	trx: Db,
	receiverId: number,
	waiting: readonly Waiting[],
	nowMs: number,
): Promise<number[] | null> {
	const { isEmpty, engine } = await holdStill(trx, receiverId);
	const target = (await programmesOwedEvents(trx, [receiverId])).get(receiverId);
	const inHand = engine === null ? new Set<string>() : await readInHand(trx, engine.id);
	const seqOf = new Map(waiting.map(({ id, seq }) => [id, seq]));
	const rows = await trx
		.selectFrom("queue")
		.select(["id", "due_at_ms", "seq"])
		.where("id", "in", [...seqOf.keys()])
		.where("receiver_id", "=", receiverId)
		.where("due_at_ms", ">", nowMs)
		.where("endpoint_epoch", "=", target?.endpointEpoch ?? -1)
		.execute();
	const free = rows
		.filter(({ id, seq }) => seqOf.get(id) === seq)
		// By a clock that is ahead of ours it may be due, and in hand. And the new time must not be one of which a
		// handout says that it is in hand: clocks are set back.
		.filter(({ id, due_at_ms }) => !inHand.has(`${id} ${due_at_ms}`) && !inHand.has(`${id} ${nowMs}`))
		.map(({ id }) => id);
	if (free.length > 0) {
		await trx.updateTable("queue").set({ due_at_ms: nowMs }).where("id", "in", free).execute();
		await markDue(trx, [receiverId], nowMs);
	} else if (isEmpty) {
		// Made to be held, and nothing has come of it.
		await trx.deleteFrom("lanes").where("receiver_id", "=", receiverId).execute();
	}
	return target === undefined ? null : free;
}

/**
 * What waits for its next attempt, the soonest first, along queue_by_due. Nothing that was tried after `untilMs`: whoever
 * walks along the queue would meet what fails again meanwhile, and bring it forward again and again.
 */
export async function listWaiting(
	db: Db,
	receiverId: number,
	{ after, untilMs, limit }: { after: Pick<WaitingRow, "id" | "dueAtMs">; untilMs: number; limit: number },
): Promise<WaitingRow[]> {
	return db
		.selectFrom("queue")
		.innerJoin("deliveries", "deliveries.id", "queue.id")
		.select(["queue.id", "queue.seq", "queue.due_at_ms as dueAtMs"])
		.where("queue.receiver_id", "=", receiverId)
		.where((eb) => eb(eb.refTuple("queue.due_at_ms", "queue.id"), ">", eb.tuple(after.dueAtMs, after.id)))
		.where((eb) =>
			eb.or([
				eb("deliveries.last_attempt_at_ms", "is", null),
				eb("deliveries.last_attempt_at_ms", "<=", untilMs),
			]),
		)
		.orderBy("queue.due_at_ms")
		.orderBy("queue.id")
		.limit(limit)
		.execute();
}
