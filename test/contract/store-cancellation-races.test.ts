// A batch of deliveries is cancelled on PostgreSQL while others are at the same slot: between any two of its statements.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { SLOTS, slotOf } from "../../src/domain/slot.ts";
import { cancelBatch } from "../../src/store/queries/cancellations.ts";
import type { Programme } from "../../src/store/queries/programmes.ts";
import { removeEndpoint } from "../../src/store/queries/programmes.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { holdsSomebodyUp, interruptAfter } from "../support/between-statements.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { demandNoLimbo, readDelivery } from "../support/pending-rows.ts";
import { addEngine, settle, takeDue } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, delivered, retried } from "../support/rows.ts";
import { until } from "../support/until.ts";

const NOW_MS = START_MS + 5;
/** After each statement of a batch. */
const GAPS = [1, 2, 3, 4, 5];

eachDatabase("a batch that is cancelled", (database) => {
	// On SQLite nobody comes between two statements of a transaction.
	if (database.kind === "SQLite") return;

	for (const gap of GAPS) {
		// Invariant 3: a delivery is pending exactly as long as it is in the queue.
		test(`what its engine has in hand is settled after statement ${gap} of a batch as it was read, and nothing is in limbo`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			await setOwner(store, programme, await addEngine(store, START_MS));
			const ids = await addDeliveries(store, programme, START_MS, START_MS, START_MS + 60_000);
			const [tried = 0, ended = 0, waiting = 0] = ids;
			const [first, second] = await takeDue(store, programme.id, 5, NOW_MS);
			if (first === undefined || second === undefined) throw new Error("two are due");
			let settled = new Set<number>();
			await cancelInterrupted(store, programme, ids, gap, async () => {
				settled = await settle(rival, retried(first, START_MS + 90_000), delivered(second));
			});
			deepEqual(settled, new Set([tried, ended]));
			deepEqual(await readDelivery(store, waiting), ["cancelled", NOW_MS, false]);
			await demandNoLimbo(store, programme);
		});

		test(`an engine that looks for slots after statement ${gap} of a batch of a free one waits for nobody, and gets the others`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			await store.db.updateTable("slots").set({ engine_id: null }).execute();
			const id = await addDelivery(store, programme);
			const engineId = await addEngine(store, START_MS);
			let taken: readonly number[] = [];
			const take = () => rival.transact((trx) => rival.queue.takeSlots(trx, engineId, SLOTS));
			await cancelInterrupted(store, programme, [id], gap, async () => {
				taken = await take();
			});
			equal(taken.length, SLOTS - 1);
			deepEqual(await readDelivery(store, id), ["cancelled", NOW_MS, false]);
			deepEqual(await take(), [slotOf(programme.id)], "when it is over");
		});
	}

	for (const [what, isOwned, change] of [
		[
			"what somebody brings forward who had read the URL before is not cancelled: it may be in hand",
			true,
			(trx: Db, id: number) =>
				trx.updateTable("queue").set({ due_at_ms: NOW_MS }).where("id", "=", id).execute(),
		],
		[
			"a slot that is being taken is waited for, and is its engine's",
			false,
			(trx: Db, _id: number, engineId: number) => database.rival.queue.takeSlots(trx, engineId, SLOTS),
		],
	] as const) {
		test(what, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const engineId = await addEngine(store, START_MS);
			await setOwner(store, programme, isOwned ? engineId : null);
			const id = await addDelivery(store, programme, isOwned ? START_MS + 60_000 : START_MS);
			const removed = await store.transact((trx) => removeEndpoint(trx, programme.id, NOW_MS));
			let cancelling: ReturnType<typeof cancelBatch> | undefined;
			await rival.transact(async (trx) => {
				await change(trx, id, engineId);
				cancelling = store.transact((own) => cancelBatch(own, removed, [id], NOW_MS));
				await until(() => holdsSomebodyUp(trx));
			});
			deepEqual(await cancelling, { count: 0, isAnyLeft: true, mayGoOn: true });
			deepEqual(await readDelivery(store, id), ["pending", null, true]);
		});
	}
});

/** One batch, with something that happens after its statement number `gap`, and before its commit. */
async function cancelInterrupted(
	store: Store,
	{ id }: Programme,
	ids: readonly number[],
	gap: number,
	interrupt: () => Promise<unknown>,
): Promise<void> {
	const removed = await store.transact((trx) => removeEndpoint(trx, id, NOW_MS));
	await store.transact((trx) => cancelBatch(interruptAfter(trx, gap, interrupt), removed, ids, NOW_MS));
	await store.db.deleteFrom("cancellations").where("receiver_id", "=", id).execute();
}

async function setOwner({ db }: Store, { id }: Programme, engineId: number | null): Promise<void> {
	await db.updateTable("slots").set({ engine_id: engineId }).where("slot", "=", slotOf(id)).execute();
}
