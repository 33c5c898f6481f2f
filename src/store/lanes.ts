// Lanes as everybody but the engines writes them: a lane says that its receiver has something due, and whoever must see
// exactly what is in hand holds it still.

import { hotWrites } from "./hot-writes.ts";
import { NEVER_MS } from "./queue.ts";
import type { Db } from "./store.ts";

/**
 * To be called once, after all rows of the queue that the transaction writes, in a statement of its own: the transaction
 * then has its number before it looks at the lane, and an engine that shuts the lane waits for it to end (see `shut` in
 * queue.ts). Called twice, two transactions could each wait for a lane that the other has marked.
 * A lane that is due already is only read: an update would lock it, and a busy shop's sales would wait for each other.
 */
export async function markDue(trx: Db, receiverIds: Iterable<number>, dueAtMs: number): Promise<void> {
	// In one order for everybody, so that two transactions do not wait for each other.
	const ids = [...new Set(receiverIds)].sort((a, b) => a - b);
	if (ids.length > 0) await hotWrites(trx).markDue(trx, ids, dueAtMs);
}

export interface StillLane {
	/** Nobody's, and nothing in it is ever due: it was made for this. */
	isEmpty: boolean;
	/** Who has it, and how long its lease is good; or null. */
	engine: { id: number; goodUntilMs: number } | null;
}

/**
 * Until the transaction ends nobody leases this lane, and its engine begins no pass. The lane first, then its engine,
 * and both before a programme's row: a pass holds its engine's row and may wait for a programme's, and never waits for
 * a lane.
 */
export async function holdStill(trx: Db, receiverId: number): Promise<StillLane> {
	// The update changes nothing, and locks the lane on both databases. One statement: between two its engine could remove it.
	const { engine_id: engineId, next_due_ms: nextDueMs } = await trx
		.insertInto("lanes")
		.values({ receiver_id: receiverId, next_due_ms: NEVER_MS })
		.onConflict((conflict) =>
			conflict.column("receiver_id").doUpdateSet((eb) => ({ engine_id: eb.ref("lanes.engine_id") })),
		)
		.returning(["engine_id", "next_due_ms"])
		.executeTakeFirstOrThrow();
	if (engineId === null) return { isEmpty: nextDueMs === NEVER_MS, engine: null };
	const engine = await trx
		.updateTable("engines")
		.set((eb) => ({ held: eb.ref("held") }))
		.where("id", "=", engineId)
		.returning(["id", "good_until_ms as goodUntilMs"])
		.executeTakeFirst();
	return { isEmpty: false, engine: engine ?? null };
}

/** What is in the engine's hands: "id due" of each, for what is in the queue as it was handed out. The lane is held still. */
export async function readInHand(trx: Db, engineId: number): Promise<Set<string>> {
	const handouts = await trx
		.selectFrom("handouts")
		.select(["delivery_ids as ids", "dues"])
		.where("engine_id", "=", engineId)
		.execute();
	return new Set(
		handouts.flatMap(({ ids, dues }) => {
			const dueAtMs = dues.split(",");
			return ids.split(",").map((id, index) => `${id} ${dueAtMs[index]}`);
		}),
	);
}
