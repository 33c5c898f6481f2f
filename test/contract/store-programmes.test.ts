// Programmes, their owners and their Postback URLs on both databases.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { removePostbackUrl } from "../../src/accounts/postback-url.ts";
import { createPass } from "../../src/callbacks/pass.ts";
import { createRandom } from "../../src/outside/random.ts";
import { removeEndpoint } from "../../src/store/endpoint-removal.ts";
import { programmesOwedEvents } from "../../src/store/outbox.ts";
import { findPersonByEmail, insertPerson } from "../../src/store/people.ts";
import { addOwner, findProgramme, ownerEmails, presentUrl, setEndpoint } from "../../src/store/programmes.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { interruptAfter } from "../support/between-statements.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addEngine, laneHolder, passInput, readAll, settle, takeOne } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, newId, retried } from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";
import { until } from "../support/until.ts";

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

	test("removing the URL of a shop that is owed nothing leaves no lane behind", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		// As from the page: the lane is locked before the programme, and again with the removal.
		expectValue(await removePostbackUrl({ store, clock: createClock() }, programme.public_id));
		const lanes = store.db.selectFrom("lanes").select("receiver_id");
		deepEqual(await lanes.where("receiver_id", "=", programme.id).execute(), []);
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
	for (const gap of database.kind === "SQLite" ? [] : [1, 2, 3]) {
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
	}

	for (const gap of database.kind === "SQLite" ? [] : [1, 2, 3, 4, 5]) {
		test(`an engine that looks for lanes after statement ${gap} of the removal waits for nobody and gets nothing`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			const engineId = await addEngine(store, START_MS);
			const handedOut: number[] = [];
			const pass = async () => void handedOut.push(...(await passOver(rival, engineId, programme.id)));
			await store.transact((trx) =>
				removeEndpoint(interruptAfter(trx, gap, pass), programme.id, START_MS + 5),
			);
			deepEqual([handedOut, await laneHolder(store, programme.id)], [[], null]);
			deepEqual(await readDelivery(store, id), ["cancelled", START_MS + 5, false]);
		});
	}

	for (const gap of database.kind === "SQLite" ? [] : [2, 3, 4, 5, 6]) {
		test(`the engine that has the lane waits after statement ${gap} of the removal, and finds nothing to hand out`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const [inHand = 0, waiting = 0] = await addDeliveries(store, programme, START_MS, START_MS);
			await takeOne(store, programme.id, START_MS);
			const engineId = (await laneHolder(store, programme.id)) ?? 0;
			let passing: Promise<readonly number[]> | undefined;
			const pass = async () => {
				passing = passOver(rival, engineId, programme.id);
			};
			await store.transact(async (trx) => {
				await removeEndpoint(interruptAfter(trx, gap, pass), programme.id, START_MS + 5);
				await until(() => holdsSomebodyUp(trx));
			});
			deepEqual(await passing, [inHand], "what it had in hand before is all there is");
			deepEqual(await readDelivery(store, waiting), ["cancelled", START_MS + 5, false]);
			deepEqual(await readDelivery(store, inHand), ["pending", null, true]);
		});
	}
});

/** A pass that leases what is due and hands out this receiver's if it has its lane. Resolves to what that is. */
async function passOver(store: Store, engineId: number, receiverId: number): Promise<readonly number[]> {
	const hasLane = (await laneHolder(store, receiverId)) === engineId;
	const input = passInput(engineId, START_MS, {
		lease: { limit: 1_000, dueBeforeMs: START_MS },
		requestsFor: (_gone, leased) => {
			const request = { receiverId, afterDueAtMs: -1, afterId: 0, limit: 10, wanted: 10 };
			return hasLane || leased.includes(receiverId) ? [request] : [];
		},
		choose: (_requests, { deliveries }) => ({ deliveries, looks: [] }),
	});
	const output = await createPass(store, createRandom())(input);
	return output?.choice.deliveries.map(({ id }) => id) ?? [];
}

/** Somebody waits for what this transaction has locked. */
async function holdsSomebodyUp(trx: Db): Promise<boolean> {
	const { rows } = await sql`select 1 from pg_stat_activity
		where pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(trx);
	return rows.length > 0;
}

async function readDelivery(store: Store, id: number): Promise<[string, number | null, boolean]> {
	const { delivery, queued } = await readAll(store, id);
	return [delivery.state, delivery.finished_at_ms, queued !== null];
}
