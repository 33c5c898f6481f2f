// Programmes, their owners and their Postback URLs on both databases.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { removeEndpoint } from "../../src/store/endpoint-removal.ts";
import { programmesOwedEvents } from "../../src/store/outbox.ts";
import { findPersonByEmail, insertPerson } from "../../src/store/people.ts";
import { addOwner, findProgramme, ownerEmails, presentUrl, setEndpoint } from "../../src/store/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { interruptAfter } from "../support/between-statements.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { readAll, settle, takeOne } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, newId, retried } from "../support/rows.ts";

eachDatabase("programmes", (database) => {
	test("a programme comes back as it was stored, amounts as text and times as numbers", async () => {
		const { store } = database;
		const made = await addProgramme(store);
		const found = await findProgramme(store.db, made.public_id);
		equal(found?.commission_rate, "7.5000");
		equal(found?.created_at_ms, START_MS);
		equal(found?.endpoint_epoch, 0);
		equal(typeof found?.id, "number");
	});

	test("an e-mail belongs to one person, also when two sign up at once", async () => {
		const { store, rival } = database;
		const person = () => ({
			public_id: newId("usr"),
			email: "owner@shop.example",
			role: "owner" as const,
			created_at_ms: START_MS,
		});
		const made = await Promise.all([store, rival].map(({ db }) => insertPerson(db, person())));
		equal(made.filter((one) => one !== undefined).length, 1);
		equal((await findPersonByEmail(store.db, "owner@shop.example"))?.role, "owner");
	});

	test("an owner who is added twice is mailed once", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const person = await insertPerson(store.db, {
			public_id: newId("usr"),
			email: "twice@shop.example",
			role: "owner",
			created_at_ms: START_MS,
		});
		await addOwner(store.db, id, person?.id ?? 0);
		await addOwner(store.db, id, person?.id ?? 0);
		deepEqual(await ownerEmails(store.db, id), ["twice@shop.example"]);
	});

	test("a new URL takes the old one's place, and the old one stays on record", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		await store.transact((trx) => setEndpoint(trx, id, "https://shop.example/new", START_MS + 1));
		equal(await presentUrl(store.db, id), "https://shop.example/new");
		const saved = await store.db
			.selectFrom("endpoints")
			.select("url")
			.where("receiver_id", "=", id)
			.execute();
		equal(saved.length, 2);
	});

	test("removing the URL cancels what is pending, raises the epoch and owes nothing more", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const other = await addProgramme(store);
		const ids = await addDeliveries(store, programme, START_MS, START_MS + 60_000);
		const untouched = await addDelivery(store, other);
		const cancelled = await store.transact((trx) => removeEndpoint(trx, programme.id, START_MS + 5));
		equal(cancelled, 2);
		equal(await presentUrl(store.db, programme.id), undefined);
		equal((await findProgramme(store.db, programme.public_id))?.endpoint_epoch, 1);
		for (const id of ids) deepEqual(await readDelivery(store, id), ["cancelled", START_MS + 5, false]);
		deepEqual(await readDelivery(store, untouched), ["pending", null, true]);
		equal((await programmesOwedEvents(store.db, [programme.id])).size, 0);
	});

	test("a delivery in hand is left to its engine when the URL is removed", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [inHand = 0, waiting = 0] = await addDeliveries(store, programme, START_MS, START_MS + 1);
		await takeOne(store, programme.id, START_MS);
		equal(await store.transact((trx) => removeEndpoint(trx, programme.id, START_MS + 5)), 1);
		deepEqual(await readDelivery(store, inHand), ["pending", null, true]);
		deepEqual(await readDelivery(store, waiting), ["cancelled", START_MS + 5, false]);
	});

	// Invariant 3: a delivery is pending exactly as long as it is in the queue. On SQLite nobody comes between
	// two statements of a transaction.
	for (const gap of database.kind === "SQLite" ? [] : [1, 2, 3, 4]) {
		test(`a retry stored after statement ${gap} of the removal leaves no delivery in limbo`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			const delivery = await takeOne(store, programme.id, START_MS);
			const settleIt = () => settle(rival, retried(delivery, START_MS + 60_000));
			await store.transact((trx) =>
				removeEndpoint(interruptAfter(trx, gap, settleIt), programme.id, START_MS + 5),
			);
			const [state, , isQueued] = await readDelivery(store, id);
			equal(isQueued, state === "pending", `the delivery is ${state}, queued: ${isQueued}`);
		});

		test(`a hand-out after statement ${gap} of the removal leaves no delivery in limbo`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			const handOut = () => takeOne(rival, programme.id, START_MS).catch(() => undefined);
			await store.transact((trx) =>
				removeEndpoint(interruptAfter(trx, gap, handOut), programme.id, START_MS + 5),
			);
			const [state, , isQueued] = await readDelivery(store, id);
			equal(isQueued, state === "pending", `the delivery is ${state}, queued: ${isQueued}`);
		});
	}
});

async function readDelivery(store: Store, id: number): Promise<[string, number | null, boolean]> {
	const { delivery, queued } = await readAll(store, id);
	return [delivery.state, delivery.finished_at_ms, queued !== null];
}
