// Leasing lanes on both databases: those that are due, the longest waiting first, never by two at once; and closing
// them again without losing a sale that nobody can see yet.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { endEngine } from "../../src/store/engines.ts";
import { holdStill, markDue } from "../../src/store/lanes.ts";
import { LEASE_MS, NEVER_MS } from "../../src/store/queue.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { insertDueEvents } from "../support/due-events.ts";
import { addEngine, settle, takeOne } from "../support/queue-rows.ts";
import { addConversion, addDelivery, addProgramme, delivered, newOwedEvent } from "../support/rows.ts";

eachDatabase("an engine's lease", (database) => {
	test("it is renewed and held as long as its row is there; then nothing may be written", async () => {
		const { store } = database;
		const engineId = await addEngine(store, START_MS);
		const renewal = { goodUntilMs: START_MS + 77, held: 3 };
		ok((await store.transact((trx) => store.queue.beginPass(trx, engineId, null))) !== null);
		ok((await store.transact((trx) => store.queue.beginPass(trx, engineId, renewal))) !== null);
		const row = await store.db
			.selectFrom("engines")
			.selectAll()
			.where("id", "=", engineId)
			.executeTakeFirstOrThrow();
		deepEqual({ ...row }, { id: engineId, good_until_ms: START_MS + 77, held: 3 });
		await store.transact((trx) => endEngine(trx, engineId));
		equal(await store.transact((trx) => store.queue.beginPass(trx, engineId, null)), null);
		equal(await store.transact((trx) => store.queue.beginPass(trx, engineId, renewal)), null);
	});

	test("it sees the other engines, what they hold, and what waits for anybody", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme, START_MS - 500);
		const [mine, other] = [await addEngine(store, START_MS), await addEngine(store, START_MS)];
		await store.transact((trx) =>
			store.queue.beginPass(trx, other, { goodUntilMs: START_MS + LEASE_MS, held: 7 }),
		);
		const look = (nowMs: number) => store.transact((trx) => store.queue.readOthers(trx, mine, nowMs));
		deepEqual(
			{ ...(await look(START_MS)) },
			{ count: 1, held: 7, hasLapsed: false, waiting: 1, waitingSinceMs: START_MS - 500 },
		);
		deepEqual(
			{ ...(await look(START_MS - 501)) },
			{ count: 1, held: 7, hasLapsed: false, waiting: 0, waitingSinceMs: null },
		);
		const later = await look(START_MS + LEASE_MS + 1);
		deepEqual([later.count, later.hasLapsed], [0, true]);
		await takeOne(store, programme.id, START_MS);
		equal((await look(START_MS)).waiting, 0, "a lane that somebody has does not wait");
	});

	test("an engine that ends with a lane it could not pass on has lapsed at once, and is taken over", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme);
		await takeOne(store, programme.id, START_MS);
		const { engine_id: engineId } = await laneOf(store, programme.id);
		await store.transact((trx) => endEngine(trx, engineId ?? 0));
		const taken = await store.transact((trx) => store.queue.takeOver(trx, START_MS));
		equal(taken?.engineId, engineId);
	});
});

eachDatabase("leasing", (database) => {
	const lease = (engineId: number, limit: number, dueBeforeMs: number, store = database.store) =>
		store.transact((trx) => store.queue.lease(trx, engineId, limit, dueBeforeMs));

	test("due lanes come the longest waiting first, up to the limit, each to one engine", async () => {
		const { store } = database;
		const [third, first, second, future] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		await addDelivery(store, third, START_MS - 1);
		await addDelivery(store, first, START_MS - 3);
		await addDelivery(store, second, START_MS - 2);
		await addDelivery(store, future, START_MS + 1);
		const [mine, other] = [await addEngine(store, START_MS), await addEngine(store, START_MS)];
		const leased = await lease(mine, 2, START_MS);
		deepEqual(leased.receiverIds.toSorted(), [first.id, second.id].toSorted());
		deepEqual(await lease(other, 9, START_MS), { receiverIds: [third.id], nextDueAtMs: START_MS + 1 });
		deepEqual((await lease(mine, 9, START_MS)).receiverIds, []);
		equal((await laneOf(store, first.id)).engine_id, mine);
		deepEqual(await lease(mine, 9, START_MS + 1), { receiverIds: [future.id], nextDueAtMs: null });
	});

	test("many that lease at once never get the same lane, and together get them all", async () => {
		const { store, rival } = database;
		const ids: number[] = [];
		for (let n = 0; n < 30; n++) {
			const programme = await addProgramme(store);
			await addDelivery(store, programme);
			ids.push(programme.id);
		}
		const engines = await Promise.all(Array.from({ length: 6 }, () => addEngine(store, START_MS)));
		const leased = await Promise.all(
			engines.map((engineId, n) => lease(engineId, 5, START_MS, n % 2 === 0 ? store : rival)),
		);
		const taken = leased.flatMap(({ receiverIds }) => receiverIds);
		equal(new Set(taken).size, taken.length);
		// Whoever came while others wrote the lanes may have got none; a last look finds what is left.
		taken.push(...(await lease(engines[0] ?? 0, 100, START_MS)).receiverIds);
		for (const id of ids) ok(taken.includes(id));
	});

	if (database.kind === "PostgreSQL") {
		test("a lane that somebody writes is passed over, and nobody waits for it", async () => {
			const { store, rival } = database;
			const [busy, free] = [await addProgramme(store), await addProgramme(store)];
			await addDelivery(store, busy, START_MS - 1);
			await addDelivery(store, free);
			const engineId = await addEngine(store, START_MS);
			await store.transact(async (trx) => {
				await holdStill(trx, busy.id);
				deepEqual((await lease(engineId, 9, START_MS, rival)).receiverIds, [free.id]);
			});
			deepEqual((await lease(engineId, 9, START_MS, rival)).receiverIds, [busy.id]);
		});

		test("an engine whose lane somebody writes is not taken over before it is free", async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			await addDelivery(store, programme);
			await takeOne(store, programme.id, START_MS);
			const { engine_id: engineId } = await laneOf(store, programme.id);
			const nowMs = START_MS + LEASE_MS + 1;
			const takeOver = () => rival.transact((trx) => rival.queue.takeOver(trx, nowMs));
			await store.transact(async (trx) => {
				await trx
					.updateTable("lanes")
					.set({ next_due_ms: START_MS })
					.where("receiver_id", "=", programme.id)
					.execute();
				for (let taken = await takeOver(); taken !== null; taken = await takeOver()) {
					ok(taken.engineId !== engineId);
				}
			});
			const taken: number[] = [];
			for (let one = await takeOver(); one !== null; one = await takeOver()) taken.push(one.engineId);
			ok(engineId !== null && taken.includes(engineId));
		});
	}
});

eachDatabase("closing a lane", (database) => {
	/** An engine with a lane from which everything was sent. */
	async function emptyLane() {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme);
		await settle(store, delivered(await takeOne(store, programme.id, START_MS)));
		const { engine_id: engineId } = await laneOf(store, programme.id);
		return { store, programme, engineId: engineId ?? 0, receiverIds: [programme.id] };
	}

	test("the first look keeps the lane and says when its next row falls due; the second lets it go", async () => {
		const { store, programme, engineId, receiverIds } = await emptyLane();
		await addDelivery(store, programme, START_MS + 60_000);
		deepEqual(await shut(store, engineId, receiverIds), receiverIds);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 60_000, engineId));
		deepEqual(await letGo(store, engineId, receiverIds), receiverIds);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 60_000, null));
	});

	test("a lane with nothing in the queue is removed", async () => {
		const { store, programme, engineId, receiverIds } = await emptyLane();
		await shut(store, engineId, receiverIds);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, NEVER_MS, engineId));
		deepEqual(await letGo(store, engineId, receiverIds), receiverIds);
		equal(await findLane(store, programme.id), undefined);
	});

	test("an event between the two looks makes it due again, and free", async () => {
		const { store, programme, engineId, receiverIds } = await emptyLane();
		await shut(store, engineId, receiverIds);
		await addDelivery(store, programme, START_MS + 5);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 5, engineId));
		await letGo(store, engineId, receiverIds);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 5, null));
	});

	test("letting go never makes it due later than somebody has said", async () => {
		const { store, programme, engineId, receiverIds } = await emptyLane();
		await addDelivery(store, programme, START_MS + 60_000);
		await shut(store, engineId, receiverIds);
		// Of an event that is not committed yet, after another that has been sent since.
		await store.transact((trx) => markDue(trx, receiverIds, START_MS + 5));
		await letGo(store, engineId, receiverIds);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 5, null));
	});

	test("only the engine that has it may shut it, let it go or pass it on", async () => {
		const { store, programme, engineId, receiverIds } = await emptyLane();
		const other = await addEngine(store, START_MS);
		const before = await laneOf(store, programme.id);
		deepEqual(await shut(store, other, receiverIds), []);
		deepEqual(await letGo(store, other, receiverIds), []);
		deepEqual(await passOn(store, other, receiverIds), []);
		deepEqual(await laneOf(store, programme.id), before);
		deepEqual(await passOn(store, engineId, receiverIds), receiverIds);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 9, null));
	});

	test("an event writes a lane that is not due, and leaves one that is as it was", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme, START_MS + 9);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 9, null));
		await addDelivery(store, programme, START_MS + 5);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 5, null));
		await addDelivery(store, programme, START_MS + 7);
		deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS + 5, null));
		deepEqual(await store.transact((trx) => store.queue.findMissed(trx, START_MS)), []);
	});

	test("the slow look finds a queue without a lane, and one whose free lane sleeps", async () => {
		const { store } = database;
		const [gone, asleep, held] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		for (const programme of [gone, asleep, held]) await addDelivery(store, programme, START_MS + 3);
		await takeOne(store, held.id, START_MS + 3);
		await store.db.deleteFrom("lanes").where("receiver_id", "=", gone.id).execute();
		await store.db
			.updateTable("lanes")
			.set({ next_due_ms: NEVER_MS })
			.where("receiver_id", "in", [asleep.id, held.id])
			.execute();
		const missed = await store.transact((trx) => store.queue.findMissed(trx, START_MS));
		deepEqual(missed.map(({ receiverId, dueAtMs }) => [receiverId, dueAtMs]).sort(), [
			[gone.id, START_MS + 3],
			[asleep.id, START_MS + 3],
		]);
		for (const { receiverId, dueAtMs } of missed) {
			await store.transact((trx) => markDue(trx, [receiverId], dueAtMs));
		}
		deepEqual(await store.transact((trx) => store.queue.findMissed(trx, START_MS)), []);
	});

	if (database.kind === "PostgreSQL") {
		test("an event that is due and sees it due does not wait for others", async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			await addDelivery(store, programme);
			await store.transact(async (trx) => {
				await insertDueEvents(trx, [newOwedEvent(programme, (await sale(store, programme.id)).id)], START_MS);
				await rival.transact(async (other) => {
					const owed = newOwedEvent(programme, (await sale(store, programme.id)).id);
					await insertDueEvents(other, [owed], START_MS);
				});
			});
		});

		test("a lane is not let go while somebody may have seen it due and not yet committed", async () => {
			const { store, rival, engineId, receiverIds, programme } = { ...(await emptyLane()), ...database };
			const conversion = await addConversion(store, programme.id);
			const pass = () => store.transact((trx) => store.queue.beginPass(trx, engineId, null));
			const commit = Promise.withResolvers<void>();
			const written = Promise.withResolvers<void>();
			// A sale that finds its lane due, writes nothing there, and takes its time to commit.
			const selling = rival.transact(async (trx) => {
				await insertDueEvents(trx, [newOwedEvent(programme, conversion.id)], START_MS);
				written.resolve();
				await commit.promise;
			});
			await written.promise;
			await shut(store, engineId, receiverIds);
			deepEqual(await laneOf(store, programme.id), lane(programme.id, NEVER_MS, engineId));
			const fence = (await pass())?.transaction ?? Number.NaN;
			for (let n = 0; n < 3; n++) {
				const begun = await pass();
				ok(begun !== null && begun.endedBelow < fence, "the sale may still come");
			}
			commit.resolve();
			await selling;
			let begun = await pass();
			// Other suites share the server: theirs have to end, too.
			while (begun !== null && begun.endedBelow < fence) begun = await pass();
			await letGo(store, engineId, receiverIds);
			deepEqual(await laneOf(store, programme.id), lane(programme.id, START_MS, null), "the sale was seen");
		});
	}
});

function sale(store: Store, programmeId: number) {
	return addConversion(store, programmeId);
}

function shut(store: Store, engineId: number, receiverIds: readonly number[]) {
	return store.transact((trx) => store.queue.shut(trx, engineId, receiverIds));
}

function letGo(store: Store, engineId: number, receiverIds: readonly number[]) {
	return store.transact((trx) => store.queue.letGo(trx, engineId, receiverIds));
}

function passOn(store: Store, engineId: number, receiverIds: readonly number[]) {
	return store.transact((trx) => store.queue.passOn(trx, engineId, receiverIds, START_MS + 9));
}

function lane(receiverId: number, nextDueMs: number, engineId: number | null) {
	return { receiver_id: receiverId, next_due_ms: nextDueMs, engine_id: engineId };
}

async function findLane(store: Store, receiverId: number) {
	return store.db.selectFrom("lanes").selectAll().where("receiver_id", "=", receiverId).executeTakeFirst();
}

async function laneOf(store: Store, receiverId: number) {
	const found = await findLane(store, receiverId);
	if (found === undefined) throw new Error("the receiver has no lane");
	return { ...found };
}
