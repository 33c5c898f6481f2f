// Retention: deliveries and inbound calls that are old enough are removed in small batches, each its own
// transaction, so that nobody waits for it. Nonces and notices are few and go at once.

import type { Clock } from "../ports.ts";
import type { Db, Store } from "./store.ts";

const BATCH_ROWS = 500;
/** Another machine's clock may be behind ours, and still take a timestamp that is stale here. */
const CLOCK_MARGIN_MS = 300_000;

export async function pruneNonces({ db }: Store, nowMs: number): Promise<void> {
	await db
		.deleteFrom("nonces")
		.where("expires_at_ms", "<", nowMs - CLOCK_MARGIN_MS)
		.execute();
}

/** Walks the rows from the oldest on and stops at the first that is young enough. Resolves to how many went. */
export async function pruneDeliveries(
	store: Store,
	clock: Clock,
	olderThanMs: number,
	isStopping: () => boolean,
): Promise<number> {
	let removed = 0;
	for (let afterId = 0; !isStopping(); ) {
		const batch = await oldestDeliveries(store.db, afterId, olderThanMs);
		const last = batch.at(-1);
		if (last === undefined) break;
		afterId = last.id;
		const ids = batch
			.filter((row) => row.finished_at_ms !== null && row.finished_at_ms < olderThanMs)
			.map((row) => row.id);
		if (ids.length > 0) removed += await store.transact((trx) => removeDeliveries(trx, ids));
		await clock.turn();
	}
	return removed;
}

async function oldestDeliveries(db: Db, afterId: number, olderThanMs: number) {
	const rows = await db
		.selectFrom("deliveries")
		.select(["id", "created_at_ms", "finished_at_ms"])
		.where("id", ">", afterId)
		.orderBy("id")
		.limit(BATCH_ROWS)
		.execute();
	// Ids follow the time of making, so nothing behind a young row is old enough.
	const firstYoung = rows.findIndex((row) => row.created_at_ms >= olderThanMs);
	return firstYoung === -1 ? rows : rows.slice(0, firstYoung);
}

async function removeDeliveries(trx: Db, ids: readonly number[]): Promise<number> {
	// Names the state again: one that was resent since the list was read stays.
	const finished = await trx
		.deleteFrom("deliveries")
		.where("id", "in", ids)
		.where("state", "<>", "pending")
		.returning("id")
		.execute();
	const gone = finished.map((row) => row.id);
	if (gone.length === 0) return 0;
	await trx.deleteFrom("attempts").where("delivery_id", "in", gone).execute();
	await trx.deleteFrom("events").where("id", "in", gone).execute();
	return gone.length;
}

export async function pruneInboundCalls(
	store: Store,
	clock: Clock,
	olderThanMs: number,
	isStopping: () => boolean,
): Promise<number> {
	let removed = 0;
	while (!isStopping()) {
		const rows = await store.db
			.selectFrom("inbound_calls")
			.select(["id", "at_ms"])
			.orderBy("id")
			.limit(BATCH_ROWS)
			.execute();
		const ids = rows.filter((row) => row.at_ms < olderThanMs).map((row) => row.id);
		if (ids.length === 0) break;
		await store.db.deleteFrom("inbound_calls").where("id", "in", ids).execute();
		removed += ids.length;
		await clock.turn();
	}
	return removed;
}

export async function pruneNotices({ db }: Store, olderThanMs: number): Promise<void> {
	await db
		.deleteFrom("notices")
		.where("updated_at_ms", "<", olderThanMs)
		.where("mail_due_at_ms", "is", null)
		.where((eb) => eb.or([eb("ended_at_ms", "is not", null), eb("kind", "=", "callbacks_working_again")]))
		.execute();
}
