// Tests pending callbacks of all programmes, and callbacks that staff hold, on both databases.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { MINUTE_MS } from "#core/domain/time.ts";
import { beginPause, endPause, readIsHeld, readPause } from "#core/store/queries/delivery-pause.ts";
import { addFailures } from "#core/store/queries/notices.ts";
import { countEndedWindows, listNextOwed, listOwed } from "#core/store/queries/owed.ts";
import { insertPerson } from "#core/store/queries/people.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { failedAttempts } from "../support/notices.ts";
import { settle, takeOne } from "../support/queue-rows.ts";
import { addConversion, addDeliveries, addProgramme, delivered } from "../support/rows.ts";

eachDatabase("pending callbacks of all programmes", (database) => {
	test("pending callbacks are listed by programme, the most first, without ended and cancelled ones", async () => {
		const { store } = database;
		const [few, many, done, removed] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		await addDeliveries(store, few, START_MS + 5);
		await addDeliveries(store, many, START_MS + 9, START_MS + 2, START_MS + 7);
		await addDeliveries(store, done, START_MS);
		await settle(store, delivered(await takeOne(store, done.receiver_id, START_MS)));
		await addDeliveries(store, removed, START_MS + 1);
		await store.db
			.updateTable("receivers")
			.set({ endpoint_epoch: 1, endpoint_id: null })
			.where("id", "=", removed.receiver_id)
			.execute();

		const url = "https://shop.example/postback";
		deepEqual(
			(await listOwed(store.db)).map((row) => ({ ...row })),
			[
				{
					publicId: many.public_id,
					name: "Shop",
					url,
					waiting: 3,
					toCancel: 0,
					nextDueAtMs: START_MS + 2,
					oldestAtMs: START_MS + 9,
				},
				{
					publicId: few.public_id,
					name: "Shop",
					url,
					waiting: 1,
					toCancel: 0,
					nextDueAtMs: START_MS + 5,
					oldestAtMs: START_MS + 5,
				},
				{
					publicId: removed.public_id,
					name: "Shop",
					url: null,
					waiting: 0,
					toCancel: 1,
					nextDueAtMs: START_MS + 1,
					oldestAtMs: START_MS + 1,
				},
			],
		);
		const next = await listNextOwed(store.db, 2);
		deepEqual(
			next.map(({ dueAtMs, event, attempts }) => [dueAtMs, event, attempts]),
			[
				[START_MS + 2, "conversion.recorded", 0],
				[START_MS + 5, "conversion.recorded", 0],
			],
		);
	});

	test("recorded conversions whose window has ended are counted in addition to pending callbacks", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const before = await countEndedWindows(store.db, START_MS + 100);
		await addConversion(store, id, { window_ends_at_ms: START_MS + 100 });
		await addConversion(store, id, { window_ends_at_ms: START_MS + 101 });
		await addConversion(store, id, { window_ends_at_ms: START_MS, status: "PARKED" });
		equal(await countEndedWindows(store.db, START_MS + 100), before + 1);
	});
});

eachDatabase("callbacks on hold", (database) => {
	test("a hold shows when it first began, who began it and how many callbacks are pending, until it ends", async () => {
		const { store } = database;
		deepEqual([await readPause(store.db, START_MS), await readIsHeld(store.db)], [null, false]);
		await addDeliveries(store, await addProgramme(store), START_MS, START_MS + MINUTE_MS);
		const holder = await insertPerson(store.db, {
			public_id: "prs_holder",
			email: "staff@network.example",
			kind: "staff",
			created_at_ms: START_MS,
		});
		equal(await beginPause(store.db, holder?.id ?? 0, START_MS), true);
		equal(await beginPause(store.db, null, START_MS + MINUTE_MS), false);
		const pause = { sinceMs: START_MS, heldBy: "staff@network.example", waiting: 2, due: 1 };
		deepEqual({ ...(await readPause(store.db, START_MS)) }, pause);
		deepEqual({ ...(await readPause(store.db, START_MS + MINUTE_MS)) }, { ...pause, due: 2 });
		equal(await readIsHeld(store.db), true);
		equal(await endPause(store.db, START_MS + 5 * MINUTE_MS), START_MS);
		equal(await endPause(store.db, START_MS + 5 * MINUTE_MS), null);
		deepEqual([await readPause(store.db, START_MS), await readIsHeld(store.db)], [null, false]);
	});

	test("time on hold does not count towards the age of a failure that was only watched when the hold began", async () => {
		const { store } = database;
		const [watched, told] = [await addProgramme(store), await addProgramme(store)];
		for (const { receiver_id } of [watched, told]) {
			await addFailures(store.db, [failedAttempts(receiver_id, { opened_at_ms: START_MS })]);
		}
		await store.db
			.updateTable("notices")
			.set({ told_at_ms: START_MS + 1 })
			.where("receiver_id", "=", told.receiver_id)
			.execute();
		await beginPause(store.db, null, START_MS + 2 * MINUTE_MS);
		await endPause(store.db, START_MS + 62 * MINUTE_MS);
		const opened = await store.db
			.selectFrom("notices")
			.select(["receiver_id", "opened_at_ms"])
			.orderBy("receiver_id")
			.execute();
		deepEqual(
			opened.map((row) => [row.receiver_id, row.opened_at_ms]),
			[
				[watched.receiver_id, START_MS + 60 * MINUTE_MS],
				[told.receiver_id, START_MS],
			],
		);
	});
});
