// Tests reading the queue on both databases: the due rows of a programme in order and page by page, and the
// next due time of each programme in an engine's slots.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { SLOTS, slotOf } from "#core/domain/slot.ts";
import { addFailures } from "#core/store/queries/notices.ts";
import type { ReadRequest } from "#core/store/queries/queue.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { failedAttempts } from "../support/notices.ts";
import { readAll } from "../support/queue-rows.ts";
import { receiverId } from "../support/receiver-ids.ts";
import { addDeliveries, addDelivery, addProgramme } from "../support/rows.ts";

const ALL_SLOTS = Array.from({ length: SLOTS }, (_, slot) => slot);

function fromFront(receiverId: ReceiverId, limit: number): ReadRequest {
	return { receiverId, limit, afterDueAtMs: -1, afterId: 0 };
}

eachDatabase("reading due rows", (database) => {
	const read = (requests: readonly ReadRequest[], nowMs: number) =>
		database.store.queue.readDue(database.store.db, requests, nowMs);

	test("due rows come in the order of their due time, up to the limit of each programme", async () => {
		const { store } = database;
		const [first, second] = [await addProgramme(store), await addProgramme(store)];
		const [, a = 0, b = 0] = await addDeliveries(store, first, START_MS - 1, START_MS - 3, START_MS - 2);
		const others = await addDeliveries(store, second, START_MS - 9, START_MS);
		const { deliveries } = await read(
			[fromFront(first.receiver_id, 2), fromFront(second.receiver_id, 5)],
			START_MS,
		);
		const idsOf = (receiverId: ReceiverId) =>
			deliveries.filter((delivery) => delivery.receiverId === receiverId).map(({ id }) => id);
		deepEqual(idsOf(first.receiver_id), [a, b]);
		deepEqual(idsOf(second.receiver_id), others);
	});

	test("many due rows come in order, from the front or after a given row", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const { receiver_id: receiverId } = programme;
		const due = Array.from({ length: 40 }, (_, n) => START_MS - ((n * 17) % 20));
		const ids = await addDeliveries(store, programme, ...due);
		const inOrder = ids
			.map((id, n) => ({ id, due: due[n] ?? 0 }))
			.sort((a, b) => a.due - b.due || a.id - b.id)
			.map(({ id }) => id);
		const all = await read([fromFront(receiverId, 40)], START_MS);
		deepEqual(
			all.deliveries.map(({ id }) => id),
			inOrder,
		);
		const { dueAtMs: afterDueAtMs = 0, id: afterId = 0 } = all.deliveries[12] ?? {};
		const rest = await read([{ receiverId, afterDueAtMs, afterId, limit: 7 }], START_MS);
		deepEqual(
			rest.deliveries.map(({ id }) => id),
			inOrder.slice(13, 20),
		);
	});

	test("a due delivery has everything that is needed to send it, and reading it changes nothing", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const before = await readAll(store, id);
		const [delivery] = (await read([fromFront(programme.receiver_id, 1)], START_MS + 4)).deliveries;
		const [target] = await store.queue.readTargets(store.db, [programme.receiver_id]);
		deepEqual(
			{ ...delivery, eventBody: "" },
			{
				id,
				receiverId: programme.receiver_id,
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

	test("a target says whether callbacks are failing, and an empty request reads no targets", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		deepEqual(await store.queue.readTargets(store.db, []), []);
		await addFailures(store.db, [failedAttempts(programme.receiver_id, { failures: 0 })]);
		const other = await addProgramme(store);
		const targets = await store.queue.readTargets(store.db, [programme.receiver_id, other.receiver_id]);
		deepEqual(targets.map(({ receiverId, isFailing }) => [receiverId, isFailing]).sort(), [
			[programme.receiver_id, true],
			[other.receiver_id, false],
		]);
	});

	test("an empty list of requests reads nothing", async () => {
		deepEqual(await read([], START_MS), { deliveries: [], nextDue: [] });
	});

	test("a programme with fewer due rows than requested returns the due time of its next row", async () => {
		const { store } = database;
		const [later, empty, dueToo] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		await addDeliveries(store, later, START_MS + 900, START_MS + 700);
		await addDeliveries(store, dueToo, START_MS, START_MS + 5);
		const { nextDue } = await read(
			[later, empty, dueToo].map(({ receiver_id }) => fromFront(receiver_id, 2)),
			START_MS,
		);
		deepEqual(
			nextDue.map(({ receiverId, dueAtMs }) => [receiverId, dueAtMs]).sort(([a], [b]) => (a ?? 0) - (b ?? 0)),
			[
				[later.receiver_id, START_MS + 700],
				[empty.receiver_id, null],
				[dueToo.receiver_id, START_MS + 5],
			],
		);
	});
});

eachDatabase("reading the first due rows", (database) => {
	const read = async (slots: readonly number[]) => {
		const rows = await database.store.queue.readFirstDue(database.store.db, slots);
		return rows.map((row) => ({ ...row })).sort((a, b) => a.receiverId - b.receiverId);
	};

	test("an empty queue has no first rows", async () => {
		deepEqual(await read(ALL_SLOTS), []);
	});

	test("the first row of each programme in the requested slots is returned, whether it is due or not", async () => {
		const { store } = database;
		const programmes = [];
		// There are more programmes than slots, so some share a slot. Only three of them have deliveries.
		for (let n = 0; n < SLOTS + 3; n++) programmes.push(await addProgramme(store));
		const [first, second, later] = [programmes[0], programmes[1], programmes[SLOTS]];
		if (first === undefined || second === undefined || later === undefined)
			throw new Error("too few programmes");
		equal(slotOf(first.receiver_id), slotOf(later.receiver_id), "they share a slot");
		const [, soonest = 0] = await addDeliveries(store, first, START_MS, START_MS - 5, START_MS - 5, START_MS);
		const [inOrder = 0] = await addDeliveries(store, second, START_MS + 60_000, START_MS + 60_000);
		const [only = 0] = await addDeliveries(store, later, START_MS + 7);
		const firstDue = [
			{ receiverId: first.receiver_id, id: soonest, dueAtMs: START_MS - 5 },
			{ receiverId: second.receiver_id, id: inOrder, dueAtMs: START_MS + 60_000 },
			{ receiverId: later.receiver_id, id: only, dueAtMs: START_MS + 7 },
		];
		deepEqual(await read(ALL_SLOTS), firstDue);
		deepEqual(await read([slotOf(first.receiver_id)]), [firstDue[0], firstDue[2]]);
		deepEqual(await read([slotOf(second.receiver_id), slotOf(receiverId(second.receiver_id + 1))]), [
			firstDue[1],
		]);
		deepEqual(await read([slotOf(receiverId(second.receiver_id + 1))]), []);
		deepEqual(await read([]), []);
	});
});
