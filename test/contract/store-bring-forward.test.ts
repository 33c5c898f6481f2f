// Sending now what waits, on both databases: only what waits as it was seen is brought forward, what is in hand stays its
// engine's, and whoever works on the same lane at the same moment finds its books right.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createPass } from "../../src/callbacks/pass.ts";
import { sendAllWaiting } from "../../src/callbacks/send-now.ts";
import { sendSelected } from "../../src/callbacks/send-selected.ts";
import { createRandom } from "../../src/outside/random.ts";
import { bringForward } from "../../src/store/bring-forward.ts";
import { removeEndpoint } from "../../src/store/endpoint-removal.ts";
import { setEndpoint } from "../../src/store/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { interruptAfter } from "../support/between-statements.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addPending, demandNoLimbo } from "../support/pending-rows.ts";
import { laneHolder, passInput, readAll, settle, takeDue, takeOne } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, failed, retried } from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";

const NOW_MS = START_MS + 5_000;
const LATER_MS = START_MS + 60_000;

eachDatabase("what is sent now", (database) => {
	test("is due at once, in a lane that says so, and has its attempts behind it", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addWaiting(store, programme);
		const other = await addWaiting(store, programme);
		deepEqual(await bring(store, programme.id, [{ id, seq: 1 }]), [id]);
		const { delivery, queued } = await readAll(store, id);
		deepEqual([queued?.due_at_ms, queued?.counted, queued?.seq], [NOW_MS, 1, 1]);
		deepEqual([delivery.state, delivery.run, delivery.attempts], ["pending", 1, 1]);
		equal((await readAll(store, other)).queued?.due_at_ms, LATER_MS);
		equal(await laneDueMs(store, programme.id), START_MS, "a lane that is due stays as it is");
		const taken = await takeOne(store, programme.id, NOW_MS);
		deepEqual([taken.id, taken.counted], [id, 1], "the next of the seven");
	});

	test("wakes a lane that nobody has, and that was to be looked at later", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme, LATER_MS);
		await store.db
			.updateTable("lanes")
			.set({ next_due_ms: LATER_MS })
			.where("receiver_id", "=", programme.id)
			.execute();
		deepEqual(await bring(store, programme.id, [{ id, seq: 0 }]), [id]);
		equal(await laneDueMs(store, programme.id), NOW_MS);
	});

	test("is what waits: nothing that is due, was tried since, has ended, or is another shop's", async () => {
		const { store } = database;
		const [programme, stranger] = [await addProgramme(store), await addProgramme(store)];
		const due = await addDelivery(store, programme, NOW_MS);
		const tried = await addWaiting(store, programme);
		const theirs = await addDelivery(store, stranger, LATER_MS);
		const rows = [
			{ id: due, seq: 0 },
			{ id: tried, seq: 0 },
			{ id: theirs, seq: 0 },
			{ id: 999_999_999, seq: 0 },
		];
		deepEqual(await bring(store, programme.id, rows), []);
		equal((await readAll(store, tried)).queued?.due_at_ms, LATER_MS);
		equal((await readAll(store, theirs)).queued?.due_at_ms, LATER_MS);
	});

	test("is not what an engine with a clock ahead of ours has in hand", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [id = 0, other = 0] = await addDeliveries(store, programme, NOW_MS + 1, NOW_MS + 2);
		const delivery = await takeOne(store, programme.id, NOW_MS + 1);
		const rows = [
			{ id, seq: 0 },
			{ id: other, seq: 0 },
		];
		deepEqual(await bring(store, programme.id, rows), [other]);
		// As it was handed out: its engine stores how it went.
		deepEqual(await settle(store, retried(delivery, LATER_MS)), new Set([id]));
		await demandNoLimbo(store, programme);
	});

	test("never gets a due time under which a handout has it in hand", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [id = 0] = await addDeliveries(store, programme, NOW_MS, NOW_MS);
		const [delivery] = await takeDue(store, programme.id, 1, NOW_MS);
		const engineId = (await laneHolder(store, programme.id)) ?? 0;
		// Settled, while the handout it came with is kept for another of its deliveries.
		if (delivery === undefined) throw new Error("nothing was due");
		await store.transact((trx) => store.queue.settle(trx, [retried(delivery, LATER_MS)]));
		deepEqual(await bring(store, programme.id, [{ id, seq: 1 }]), [], "by a clock that was set back");
		deepEqual(await bring(store, programme.id, [{ id, seq: 1 }], NOW_MS + 1), [id]);
		await store.db.deleteFrom("handouts").where("engine_id", "=", engineId).execute();
	});

	test("is nothing without a URL, and nothing of a URL that was removed", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme, LATER_MS);
		const empty = await addProgramme(store);
		await store.transact((trx) => removeEndpoint(trx, programme.id, NOW_MS));
		equal(await bring(store, programme.id, [{ id, seq: 0 }]), null);
		await store.transact((trx) => setEndpoint(trx, programme.id, "https://shop.example/new", NOW_MS));
		deepEqual(await bring(store, programme.id, [{ id, seq: 0 }]), []);
		equal((await readAll(store, id)).queued?.due_at_ms, LATER_MS);
		deepEqual(await bring(store, empty.id, [{ id, seq: 0 }]), []);
		equal(await laneDueMs(store, empty.id), undefined, "a lane that was made to be held is gone");
		await store.db.deleteFrom("cancellations").execute();
	});

	test("pressed many times at once, by several processes, is brought forward once", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const id = await addWaiting(store, programme);
		const brought = await Promise.all(
			Array.from({ length: 8 }, (_, n) => bring(n % 2 === 0 ? store : rival, programme.id, [{ id, seq: 1 }])),
		);
		deepEqual(brought.flat(), [id]);
	});

	// On SQLite nobody comes between two statements of a transaction.
	for (const gap of database.kind === "SQLite" ? [] : [1, 2, 3, 4, 5, 6]) {
		test(`its engine stores a result after statement ${gap}: it waits, and both are as they should be`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const id = await addWaiting(store, programme);
			const other = await addDelivery(store, programme, START_MS + 1);
			const delivery = await takeOne(store, programme.id, START_MS + 1);
			equal(delivery.id, other);
			const engineId = (await laneHolder(store, programme.id)) ?? 0;
			let passing: Promise<unknown> | undefined;
			const pass = createPass(rival, createRandom());
			await store.transact((trx) => {
				const interrupted = interruptAfter(trx, gap, async () => {
					const settlements = [retried(delivery, LATER_MS)];
					passing = pass(passInput(engineId, NOW_MS, { settlements }));
				});
				return bringForward(interrupted, programme.id, [{ id, seq: 1 }], NOW_MS);
			});
			await passing;
			equal((await readAll(store, id)).queued?.due_at_ms, NOW_MS);
			equal((await readAll(store, other)).queued?.due_at_ms, LATER_MS);
			await demandNoLimbo(store, programme);
		});
	}

	test("all that wait: every batch of them, and nothing that is due or was tried meanwhile", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addPending(store, programme, 1_100);
		const due = await addDelivery(store, programme, NOW_MS);
		const tried = await addWaiting(store, programme);
		const tryingAtMs = { last_attempt_at_ms: NOW_MS + 1 };
		await store.db.updateTable("deliveries").set(tryingAtMs).where("id", "=", tried).execute();
		equal(expectValue(await sendAllWaiting({ store, clock: createClock(NOW_MS) }, programme.id)), 1_100);
		const later = store.db.selectFrom("queue").select("id").where("due_at_ms", ">", NOW_MS);
		deepEqual(
			(await later.where("receiver_id", "=", programme.id).execute()).map((row) => row.id),
			[tried],
		);
		equal((await readAll(store, due)).queued?.due_at_ms, NOW_MS);
		equal(expectValue(await sendAllWaiting({ store, clock: createClock(NOW_MS) }, programme.id)), 0);
	});

	test("ticked ones: what has ended starts a new run, what waits is sent now, what has changed since is left alone", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const ended = await addDelivery(store, programme);
		await settle(store, failed(await takeOne(store, programme.id, START_MS)));
		const waits = await addWaiting(store, programme);
		const changed = await addWaiting(store, programme);
		const { delivery: theirs } = await readAll(store, await addWaiting(store, await addProgramme(store)));
		const seen = await Promise.all(
			[ended, waits, changed].map(async (id) => {
				const { delivery } = await readAll(store, id);
				return { publicId: delivery.public_id, run: delivery.run, seq: delivery.attempts };
			}),
		);
		const selected = [
			...seen.map((one, index) => (index === 2 ? { ...one, seq: 0 } : one)),
			{ publicId: theirs.public_id, run: 1, seq: 1 },
		];
		const press = () => sendSelected({ store, clock: createClock(NOW_MS) }, programme.id, selected);
		deepEqual(expectValue(await press()), { resent: 1, sentNow: 1, leftAlone: 2 });
		deepEqual(expectValue(await press()), { resent: 0, sentNow: 0, leftAlone: 4 }, "pressed twice");
		const { delivery, queued } = await readAll(store, ended);
		deepEqual([delivery.state, delivery.run, queued?.due_at_ms], ["pending", 2, NOW_MS]);
		equal((await readAll(store, waits)).queued?.due_at_ms, NOW_MS);
		equal((await readAll(store, changed)).queued?.due_at_ms, LATER_MS);
	});
});

function bring(
	store: Store,
	receiverId: number,
	waiting: readonly { id: number; seq: number }[],
	nowMs = NOW_MS,
): Promise<number[] | null> {
	return store.transact((trx) => bringForward(trx, receiverId, waiting, nowMs));
}

/** Tried once, and to be tried again a minute later. */
async function addWaiting(store: Store, programme: Parameters<typeof addDelivery>[1]): Promise<number> {
	const id = await addDelivery(store, programme);
	await settle(store, retried(await takeOne(store, programme.id, START_MS), LATER_MS));
	return id;
}

/** Undefined when there is no lane. */
async function laneDueMs(store: Store, receiverId: number): Promise<number | undefined> {
	const lane = store.db.selectFrom("lanes").select("next_due_ms").where("receiver_id", "=", receiverId);
	return (await lane.executeTakeFirst())?.next_due_ms;
}
