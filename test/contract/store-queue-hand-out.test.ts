// Reading what is due on both databases, and taking over what an engine had in hand when it fell silent.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { addFailures } from "../../src/store/notices.ts";
import { LEASE_MS, type ReadRequest } from "../../src/store/queue.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { failedAttempts } from "../support/notices.ts";
import { readAll, settle, takeDue, takeOne } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, delivered, retried } from "../support/rows.ts";

/** Long after everything that a test had leased. */
const LAPSED_MS = START_MS + 10 * LEASE_MS;

function fromFront(receiverId: number, limit: number): ReadRequest {
	return { receiverId, limit, afterDueAtMs: -1, afterId: 0 };
}

eachDatabase("reading what is due", (database) => {
	const read = (requests: readonly ReadRequest[], nowMs: number) =>
		database.store.queue.readDue(database.store.db, requests, nowMs);

	test("what is due comes in the order of its due time, up to the limit of each lane", async () => {
		const { store } = database;
		const [first, second] = [await addProgramme(store), await addProgramme(store)];
		const [, a = 0, b = 0] = await addDeliveries(store, first, START_MS - 1, START_MS - 3, START_MS - 2);
		const others = await addDeliveries(store, second, START_MS - 9, START_MS);
		const { deliveries } = await read([fromFront(first.id, 2), fromFront(second.id, 5)], START_MS);
		const idsOf = (receiverId: number) =>
			deliveries.filter((delivery) => delivery.receiverId === receiverId).map(({ id }) => id);
		deepEqual(idsOf(first.id), [a, b]);
		deepEqual(idsOf(second.id), others);
	});

	test("many due rows come in order, too, and page by page none is missed or comes twice", async () => {
		const { store } = database;
		const { id: receiverId, ...programme } = await addProgramme(store);
		const due = Array.from({ length: 40 }, (_, n) => START_MS - ((n * 17) % 20));
		const ids = await addDeliveries(store, { id: receiverId, ...programme }, ...due);
		const inOrder = ids
			.map((id, n) => ({ id, due: due[n] ?? 0 }))
			.sort((a, b) => a.due - b.due || a.id - b.id)
			.map(({ id }) => id);
		const all = await read([fromFront(receiverId, 40)], START_MS);
		deepEqual(
			all.deliveries.map(({ id }) => id),
			inOrder,
		);
		const paged: number[] = [];
		let position = fromFront(receiverId, 7);
		for (;;) {
			const { deliveries } = await read([position], START_MS);
			paged.push(...deliveries.map(({ id }) => id));
			const last = deliveries.at(-1);
			if (last === undefined) break;
			position = { ...position, afterDueAtMs: last.dueAtMs, afterId: last.id };
		}
		deepEqual(paged, inOrder);
	});

	test("a row is due at its time and not a millisecond earlier", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme, START_MS + 100);
		deepEqual((await read([fromFront(programme.id, 5)], START_MS + 99)).deliveries, []);
		equal((await read([fromFront(programme.id, 5)], START_MS + 100)).deliveries[0]?.id, id);
	});

	test("a due delivery brings what is needed to send it, and reading it changes nothing", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const before = await readAll(store, id);
		const [delivery] = (await read([fromFront(programme.id, 1)], START_MS + 4)).deliveries;
		const [target] = await store.queue.readTargets(store.db, [programme.id]);
		deepEqual(
			{ ...delivery, eventBody: "" },
			{
				id,
				receiverId: programme.id,
				programmeId: programme.id,
				dueAtMs: START_MS,
				endpointEpoch: 0,
				run: 1,
				counted: 0,
				seq: 0,
				eventName: "conversion.recorded",
				eventBody: "",
			},
		);
		deepEqual(
			[target?.url, target?.sealedSecret, target?.endpointEpoch, target?.isFailing],
			["https://shop.example/postback", "sealed", 0, false],
		);
		deepEqual(await readAll(store, id), before);
	});

	test("a target says whether callbacks are failing, and none is read where none is asked for", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		deepEqual(await store.queue.readTargets(store.db, []), []);
		await addFailures(store.db, [failedAttempts(programme.id, { failures: 0 })]);
		const other = await addProgramme(store);
		const targets = await store.queue.readTargets(store.db, [programme.id, other.id]);
		deepEqual(targets.map(({ receiverId, isFailing }) => [receiverId, isFailing]).sort(), [
			[programme.id, true],
			[other.id, false],
		]);
	});

	test("no requests at all read nothing", async () => {
		deepEqual(await read([], START_MS), { deliveries: [], nextDue: [] });
	});

	test("a lane that gave less than was asked for says when its next row falls due", async () => {
		const { store } = database;
		const [later, empty, dueToo] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		await addDeliveries(store, later, START_MS + 900, START_MS + 700);
		await addDeliveries(store, dueToo, START_MS, START_MS + 5);
		const { nextDue } = await read(
			[later, empty, dueToo].map(({ id }) => fromFront(id, 2)),
			START_MS,
		);
		deepEqual(
			nextDue.map(({ receiverId, dueAtMs }) => [receiverId, dueAtMs]).sort(([a], [b]) => (a ?? 0) - (b ?? 0)),
			[
				[later.id, START_MS + 700],
				[empty.id, null],
				[dueToo.id, START_MS + 5],
			],
		);
	});
});

eachDatabase("taking over", (database) => {
	/** Everybody whose lease has lapsed; resolves to how many attempts were interrupted. */
	async function takeOverAll(store: Store, nowMs: number): Promise<number> {
		let interrupted = 0;
		for (;;) {
			const taken = await store.transact((trx) => store.queue.takeOver(trx, nowMs));
			if (taken === null) return interrupted;
			interrupted += taken.interrupted;
		}
	}

	test("an engine is taken over when its lease has lapsed and not a millisecond earlier", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme);
		await takeOne(store, programme.id, START_MS + 5);
		equal(await takeOverAll(store, START_MS + 5 + LEASE_MS), 0);
		equal((await laneOf(store, programme.id))?.engine_id === null, false);
		equal(await takeOverAll(store, START_MS + 6 + LEASE_MS), 1);
		deepEqual(await laneOf(store, programme.id), {
			receiver_id: programme.id,
			next_due_ms: START_MS + 6 + LEASE_MS,
			engine_id: null,
		});
	});

	test("what was in hand shows as interrupted, numbered and not counted; the rest is as it was", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [id = 0, settled = 0, waiting = 0] = await addDeliveries(
			store,
			programme,
			START_MS,
			START_MS + 1,
			START_MS + 2,
		);
		await settle(store, retried(await takeOne(store, programme.id, START_MS), START_MS + 60_000));
		const [ended, inHand] = [
			await takeOne(store, programme.id, START_MS + 60_000),
			await takeOne(store, programme.id, START_MS + 60_000),
		];
		deepEqual([ended.id, inHand.id], [settled, waiting]);
		await settle(store, delivered(ended));
		equal((await takeOne(store, programme.id, START_MS + 60_000)).id, id);
		const untouched = await readAll(store, settled);
		equal(await takeOverAll(store, LAPSED_MS), 2);
		const { attempts, delivery, queued } = await readAll(store, id);
		deepEqual(
			attempts.map(({ seq, run, result, started_at_ms }) => [seq, run, result, started_at_ms]),
			[
				[1, 1, "answered", START_MS + 10],
				[2, 1, "interrupted", START_MS + 60_000],
			],
		);
		deepEqual([delivery.attempts, queued?.seq, queued?.counted, delivery.state], [2, 2, 1, "pending"]);
		deepEqual([delivery.interrupted, delivery.last_http_status], [1, 503]);
		deepEqual(await readAll(store, settled), untouched, "a handout that is left over says nothing of it");
		const again = await takeOne(store, programme.id, LAPSED_MS);
		deepEqual([again.seq, again.counted], [1, 0]);
		equal(await takeOverAll(store, LAPSED_MS), 0);
	});

	test("a delivery that stands in two handouts was in hand once", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const delivery = await takeOne(store, programme.id, START_MS);
		const engineId = (await laneOf(store, programme.id))?.engine_id ?? 0;
		const again = { number: 9_999_999, deliveries: [delivery] };
		await store.transact((trx) => store.queue.handOut(trx, engineId, again, [], START_MS + 3));
		equal(await takeOverAll(store, LAPSED_MS), 1);
		equal((await readAll(store, id)).attempts.length, 1);
	});

	test("a released one is not in hand any more, also when it is due at the same moment", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const delivery = await takeOne(store, programme.id, START_MS);
		await settle(store, { kind: "released", delivery, dueAtMs: START_MS });
		equal(await takeOverAll(store, LAPSED_MS), 0);
		deepEqual((await readAll(store, id)).attempts, []);
	});

	test("of many that take over at once, one does", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const ids = await addDeliveries(store, programme, ...Array.from({ length: 20 }, () => START_MS));
		await takeDue(store, programme.id, 20, START_MS);
		const counts = await Promise.all([store, rival, store, rival].map((one) => takeOverAll(one, LAPSED_MS)));
		counts.push(await takeOverAll(store, LAPSED_MS));
		equal(
			counts.reduce((sum, count) => sum + count, 0),
			20,
		);
		for (const id of ids) equal((await readAll(store, id)).attempts.length, 1);
	});
});

async function laneOf(store: Store, receiverId: number) {
	const lane = await store.db
		.selectFrom("lanes")
		.selectAll()
		.where("receiver_id", "=", receiverId)
		.executeTakeFirst();
	return lane && { ...lane };
}
