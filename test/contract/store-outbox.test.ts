// Owing an event on both databases: with its status change or not at all, and at most once per conversion.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { decideConversion } from "../../src/conversions/decide.ts";
import { createRandom } from "../../src/outside/random.ts";
import { insertOwedEvents, programmesOwedEvents } from "../../src/store/queries/outbox.ts";
import { removeEndpoint } from "../../src/store/queries/programmes.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { takeDue } from "../support/queue-rows.ts";
import { addConversion, addProgramme, newOwedEvent } from "../support/rows.ts";

const deps = { clock: createClock(), random: createRandom() };

eachDatabase("the outbox", (database) => {
	const counts = async () => {
		const { db } = database.store;
		const count = async (table: "events" | "deliveries" | "queue" | "moves") =>
			(await db.selectFrom(table).select("id").execute()).length;
		return [await count("events"), await count("deliveries"), await count("queue"), await count("moves")];
	};

	test("an owed event is a pending delivery, due at once, with the same id everywhere", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const conversion = await addConversion(store, programme.id);
		const owed = { ...newOwedEvent(programme, conversion.id), endpointEpoch: 3 };
		const made = await store.transact((trx) => insertOwedEvents(trx, [owed], START_MS + 7));
		const event = await store.db
			.selectFrom("events")
			.selectAll()
			.where("conversion_id", "=", conversion.id)
			.executeTakeFirstOrThrow();
		deepEqual([event.name, event.body], [owed.name, owed.body]);
		const delivery = await store.db
			.selectFrom("deliveries")
			.selectAll()
			.where("public_id", "=", owed.deliveryPublicId)
			.executeTakeFirstOrThrow();
		deepEqual([delivery.id, delivery.state, delivery.run, delivery.attempts], [event.id, "pending", 1, 0]);
		equal(delivery.created_at_ms, START_MS + 7);
		const queued = await store.db.selectFrom("queue").selectAll().where("id", "=", event.id).execute();
		deepEqual(queued.map(Object.values), [[event.id, programme.id, START_MS + 7, 3, 1, 0, 0]]);
		// An engine may send what it is told of without reading it: it must be what it would read.
		deepEqual(made, await takeDue(store, programme.id, 5, START_MS + 7));
		deepEqual(await store.transact((trx) => insertOwedEvents(trx, [], START_MS)), []);
	});

	test("a throw after the inserts leaves neither the status change nor the event", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const conversion = await addConversion(store, programme.id);
		const before = await counts();
		const crash = store.transact(async (trx) => {
			const decided = await decideConversion(trx, deps, conversion, { move: "approve", decidedBy: "shop" });
			equal(decided.ok && decided.value.owed.inHand?.deliveries.length, 1);
			throw new Error("the machine caught fire");
		});
		await rejects(crash, /caught fire/);
		deepEqual(await counts(), before);
		const kept = await store.db
			.selectFrom("conversions")
			.select("status")
			.where("id", "=", conversion.id)
			.executeTakeFirstOrThrow();
		equal(kept.status, "RECORDED");
	});

	test("a second event of the same name is refused with everything around it", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const conversion = await addConversion(store, programme.id);
		await store.transact((trx) => insertOwedEvents(trx, [newOwedEvent(programme, conversion.id)], START_MS));
		const before = await counts();
		const again = store.transact(async (trx) => {
			await decideConversion(trx, deps, conversion, { move: "approve", decidedBy: "shop" });
			await insertOwedEvents(trx, [newOwedEvent(programme, conversion.id)], START_MS);
		});
		await rejects(again);
		deepEqual(await counts(), before);
		const approved = { ...newOwedEvent(programme, conversion.id), name: "conversion.approved" as const };
		await store.transact((trx) => insertOwedEvents(trx, [approved], START_MS));
		deepEqual((await counts())[0], (before[0] ?? 0) + 1);
	});

	test("of many transactions that owe the same event at once one goes through", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const conversion = await addConversion(store, programme.id);
		const owed = await Promise.all(
			Array.from({ length: 12 }, (_, n) =>
				(n % 2 === 0 ? store : rival)
					.transact((trx) => insertOwedEvents(trx, [newOwedEvent(programme, conversion.id)], START_MS))
					.then(
						() => true,
						() => false,
					),
			),
		);
		equal(owed.filter(Boolean).length, 1);
	});

	test("1,201 events at once are stored in one go, each with its own conversion's body", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		// Conversions that nobody needs to read: the outbox only takes their ids, here out of order.
		const conversionIds = Array.from({ length: 1_201 }, (_, n) => 1_000_000 + ((n * 7) % 1_201));
		const owed = conversionIds.map((id) => newOwedEvent(programme, id));
		const made = await store.transact((trx) => insertOwedEvents(trx, owed, START_MS));
		const stored = await store.db
			.selectFrom("deliveries")
			.innerJoin("queue", "queue.id", "deliveries.id")
			.innerJoin("events", "events.id", "deliveries.id")
			.select(["deliveries.id", "deliveries.public_id", "events.conversion_id", "events.body"])
			.where("deliveries.programme_id", "=", programme.id)
			.execute();
		equal(stored.length, owed.length);
		const byPublicId = new Map(stored.map((row) => [row.public_id, row]));
		for (const [n, event] of owed.entries()) {
			const row = byPublicId.get(event.deliveryPublicId);
			deepEqual([row?.conversion_id, row?.body], [event.conversionId, event.body]);
			deepEqual([made[n]?.id, made[n]?.eventBody], [row?.id, event.body]);
		}
	});

	test("a programme without a URL or without a secret now is owed nothing", async () => {
		const { store } = database;
		const [ready, noUrl, noSecret] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		await store.transact((trx) => removeEndpoint(trx, noUrl.id, START_MS));
		// Only prepared: nothing may be signed with it yet.
		await store.db
			.updateTable("signing_secrets")
			.set({ activated_at_ms: null })
			.where("receiver_id", "=", noSecret.id)
			.execute();
		const owed = await programmesOwedEvents(store.db, [ready.id, noUrl.id, noSecret.id]);
		deepEqual(
			[...owed].map(([id, { publicId, endpointEpoch }]) => [id, publicId, endpointEpoch]),
			[[ready.id, ready.public_id, 0]],
		);
		equal((await programmesOwedEvents(store.db, [])).size, 0);
	});
});
