// Tests events that are owed to a shop, on both databases. An event is stored with its status change or not
// at all, and at most once per conversion.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { changeOrders } from "#core/conversions/change-orders.ts";
import { decideConversion, decisionOn } from "#core/conversions/decide.ts";
import { recordConversion } from "#core/conversions/record.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { removeUrl } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { takeDue } from "../support/queue-rows.ts";
import { addConversion, addProgramme, newOwedEvent } from "../support/rows.ts";

const deps = { clock: createClock(), random: createRandom(), changes: CHANGES };

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
		const owed = { ...newOwedEvent(programme, conversion.id, START_MS + 7), endpoint_epoch: 3 };
		const made = await store.transact((trx) => store.batch.write(trx, { events: [owed] }));
		const event = await store.db
			.selectFrom("events")
			.selectAll()
			.where("conversion_id", "=", conversion.id)
			.executeTakeFirstOrThrow();
		deepEqual([event.name, event.body], [owed.name, owed.body]);
		const delivery = await store.db
			.selectFrom("deliveries")
			.selectAll()
			.where("public_id", "=", owed.public_id)
			.executeTakeFirstOrThrow();
		deepEqual([delivery.id, delivery.state, delivery.run, delivery.attempts], [event.id, "pending", 1, 0]);
		equal(delivery.created_at_ms, START_MS + 7);
		const queued = await store.db.selectFrom("queue").selectAll().where("id", "=", event.id).execute();
		deepEqual(queued.map(Object.values), [[event.id, programme.receiver_id, START_MS + 7, 3, 1, 0, 0]]);
		deepEqual(made, { conversionIds: made.conversionIds, eventIds: [event.id] });
		const nothing = await store.transact((trx) => store.batch.write(trx, { events: [] }));
		deepEqual(nothing, { conversionIds: [], eventIds: [] });
	});

	test("the deliveries that are passed to the engine equal those that it would read, so it can send them without reading", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const sale = { orderId: "O-1", eventType: "SALE", basketValue: "5.00", occurredAtMs: null } as const;
		const report = { ...sale, source: "postback", isTest: false } as const;
		const recorded = await store.transact((trx) =>
			recordConversion(trx, { ...deps, store }, programme, report),
		);
		ok(recorded.ok);
		const { owed } = recorded.value;
		equal(owed.ready?.deliveries.length, 1);
		deepEqual(owed.ready?.deliveries, await takeDue(store, programme.receiver_id, 5, START_MS));
	});

	test("a second event of the same name is refused, and its whole transaction is rolled back", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const conversion = await addConversion(store, programme.id);
		await store.transact((trx) =>
			store.batch.write(trx, { events: [newOwedEvent(programme, conversion.id)] }),
		);
		const before = await counts();
		const again = store.transact(async (trx) => {
			await decideConversion(trx, { ...deps, store }, conversion, { move: "approve", decidedBy: "shop" });
			await store.batch.write(trx, { events: [newOwedEvent(programme, conversion.id)] });
		});
		await rejects(again);
		deepEqual(await counts(), before);
		const approved = { ...newOwedEvent(programme, conversion.id), name: "conversion.approved" as const };
		await store.transact((trx) => store.batch.write(trx, { events: [approved] }));
		deepEqual((await counts())[0], (before[0] ?? 0) + 1);
	});

	test("1,201 events are stored at once, each with the body of its own conversion", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		// The conversions need not exist, because the outbox uses only their ids. The ids are out of order on
		// purpose.
		const conversionIds = Array.from({ length: 1_201 }, (_, n) => 1_000_000 + ((n * 7) % 1_201));
		const owed = conversionIds.map((id) => newOwedEvent(programme, id));
		const made = await store.transact((trx) => store.batch.write(trx, { events: owed }));
		const stored = await store.db
			.selectFrom("deliveries")
			.innerJoin("queue", "queue.id", "deliveries.id")
			.innerJoin("events", "events.id", "deliveries.id")
			.select(["deliveries.id", "deliveries.public_id", "events.conversion_id", "events.body"])
			.where("deliveries.receiver_id", "=", programme.receiver_id)
			.execute();
		equal(stored.length, owed.length);
		const byPublicId = new Map(stored.map((row) => [row.public_id, row]));
		for (const [index, event] of owed.entries()) {
			const row = byPublicId.get(event.public_id);
			deepEqual([row?.conversion_id, row?.body], [event.conversion_id, event.body]);
			equal(made.eventIds[index], row?.id);
		}
	});

	test("no event is stored for a programme that has no URL or no active secret", async () => {
		const { store } = database;
		const [ready, noUrl, noSecret] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		await store.transact((trx) => removeUrl(trx, noUrl.id, START_MS));
		// The secret is only prepared, so nothing may be signed with it yet.
		await store.db
			.updateTable("signing_secrets")
			.set({ activated_at_ms: null })
			.where("receiver_id", "=", noSecret.receiver_id)
			.execute();
		const requests = await Promise.all(
			[ready, noUrl, noSecret].map(async ({ id }) => {
				const conversion = await addConversion(store, id);
				return decisionOn(conversion, { move: "approve", decidedBy: "shop" }, null);
			}),
		);
		const { results, owed } = await store.transact((trx) => changeOrders(trx, { ...deps, store }, requests));
		deepEqual(
			results.map((result) => result.ok && result.value.conversion.status),
			["APPROVED", "APPROVED", "APPROVED"],
		);
		deepEqual(owed.receiverIds, [ready.receiver_id]);
		deepEqual(
			owed.ready?.deliveries.map(({ receiverId }) => receiverId),
			[ready.receiver_id],
		);
	});
});
