// Removing a Postback URL on both databases: from the commit on nothing more goes out, and what was pending is cancelled
// in batches that hold nobody up, whoever dies meanwhile.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { createPass } from "../../src/callbacks/pass.ts";
import { slotOf } from "../../src/domain/slot.ts";
import { SECOND_MS } from "../../src/domain/time.ts";
import { createRandom } from "../../src/outside/random.ts";
import { removePostbackUrl } from "../../src/programmes/postback-url.ts";
import { findSendingEpoch } from "../../src/store/queries/bring-forward.ts";
import {
	type Cancellation,
	type Cancelled,
	cancelAllRemoved,
	cancelRemoved,
} from "../../src/store/queries/cancellations.ts";
import {
	findProgramme,
	type Programme,
	presentUrl,
	removeEndpoint,
	setEndpoint,
} from "../../src/store/queries/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addPending, countPending, demandNoLimbo, readDelivery } from "../support/pending-rows.ts";
import { addEngine, passInput, settle, takeOne } from "../support/queue-rows.ts";
import {
	addConversion,
	addDeliveries,
	addDelivery,
	addProgramme,
	newOwedEvent,
	retried,
} from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";

const NOW_MS = START_MS + 5;
/** After this somebody else takes up what a process that died has left. */
const CLAIM_MS = 30 * SECOND_MS;
const IN_HAND_MS = 5 * SECOND_MS;
const never = () => false;

eachDatabase("removing a URL", (database) => {
	test("what is pending is cancelled, the epoch rises, and nothing more is owed", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const other = await addProgramme(store);
		const ids = await addDeliveries(store, programme, START_MS, START_MS + 60_000);
		const untouched = await addDelivery(store, other);
		deepEqual(await remove(store, programme), { count: 2, isComplete: true });
		equal(await presentUrl(store.db, programme.id), undefined);
		equal((await findProgramme(store.db, programme.public_id))?.endpoint_epoch, 1);
		for (const id of ids) deepEqual(await readDelivery(store, id), ["cancelled", NOW_MS, false]);
		deepEqual(await readDelivery(store, untouched), ["pending", null, true]);
		equal(await findSendingEpoch(store.db, programme.id), undefined);
		deepEqual(await waiting(store), []);
	});

	test("the URL of a shop that is owed nothing leaves nothing to do behind", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const removed = await removePostbackUrl({ store, clock: createClock() }, programme.public_id, null);
		deepEqual(expectValue(removed), { count: 0, isComplete: true });
		deepEqual(await waiting(store), []);
	});

	test("the audit log says how many were pending", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDeliveries(store, programme, START_MS, START_MS);
		expectValue(await removePostbackUrl({ store, clock: createClock() }, programme.public_id, null));
		const entries = store.db.selectFrom("audit_entries").select(["action", "detail"]);
		deepEqual(
			(await entries.where("programme_id", "=", programme.id).execute()).map((row) => ({ ...row })),
			[{ action: "postback_url.removed", detail: "2 callbacks were pending" }],
		);
	});

	test("what is due within five seconds is left to the engine that owns the slot, and the chore comes again for it", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await own(store, programme);
		const soonMs = NOW_MS + IN_HAND_MS;
		const [inHand = 0, soon = 0, later = 0] = await addDeliveries(
			store,
			programme,
			START_MS,
			soonMs,
			soonMs + 1,
		);
		const delivery = await takeOne(store, programme.id, START_MS);
		deepEqual(await remove(store, programme), { count: 1, isComplete: false });
		for (const id of [inHand, soon]) deepEqual(await readDelivery(store, id), ["pending", null, true]);
		deepEqual(await readDelivery(store, later), ["cancelled", NOW_MS, false]);
		// The engine finds that one is of an epoch that is over, and the other was on its way.
		const cancelled = { kind: "cancelled", delivery: { ...delivery, id: soon, dueAtMs: soonMs } } as const;
		await settle(store, retried(delivery, START_MS + 60_000), { ...cancelled, endedAtMs: soonMs });
		await chore(store, NOW_MS);
		deepEqual(await readDelivery(store, inHand), ["pending", null, true], "it is put off for a while");
		await chore(store, NOW_MS + IN_HAND_MS);
		deepEqual(await readDelivery(store, inHand), ["cancelled", NOW_MS + IN_HAND_MS, false]);
		deepEqual(await readDelivery(store, soon), ["cancelled", soonMs, false]);
		deepEqual(await waiting(store), []);
	});

	test("a URL that is saved again meanwhile keeps its own deliveries", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const old = await addDelivery(store, programme, START_MS + 60_000);
		const removed = await store.transact((trx) => removeEndpoint(trx, programme.id, NOW_MS));
		await store.transact((trx) => setEndpoint(trx, programme.id, "https://shop.example/new", NOW_MS));
		const fresh = await addOwed(store, programme, 1);
		deepEqual(await cancelRemoved(store, createClock(NOW_MS), removed, never), {
			count: 1,
			isComplete: true,
		});
		deepEqual(await readDelivery(store, old), ["cancelled", NOW_MS, false]);
		deepEqual(await readDelivery(store, fresh), ["pending", null, true]);
	});

	test("a URL that is removed again while the first removal is at work is cancelled by the second", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const old = await addPending(store, programme, 1_200);
		const first = await store.transact((trx) => removeEndpoint(trx, programme.id, NOW_MS));
		let second: Cancellation | undefined;
		const removeAgain = once(async () => {
			second = await store.transact((trx) => removeEndpoint(trx, programme.id, NOW_MS + 1));
		});
		const began = await cancelRemoved(hooked(store, removeAgain), createClock(NOW_MS), first, never);
		deepEqual(began, { count: 1_000, isComplete: false }, "it stops when it sees the second");
		ok(second !== undefined);
		const ended = await cancelRemoved(store, createClock(NOW_MS + 1), second, never);
		deepEqual(ended, { count: 200, isComplete: true });
		equal(await countPending(store, programme), 0);
		equal(old, 1_200);
		deepEqual(await waiting(store), []);
	});

	test("what a process leaves behind that is killed in the middle, or runs out of time, the chore finishes", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addPending(store, programme, 1_700);
		const removed = await store.transact((trx) => removeEndpoint(trx, programme.id, NOW_MS));
		let batches = 0;
		const dying: Store = {
			...store,
			transact: (work) =>
				store.transact(async (trx) => {
					const done = await work(trx);
					if (++batches > 1) throw new Error("killed");
					return done;
				}),
		};
		await rejects(cancelRemoved(dying, createClock(NOW_MS), removed, never), /killed/);
		equal(await countPending(store, programme), 1_200);
		await demandNoLimbo(store, programme);
		await chore(store, NOW_MS + CLAIM_MS - 1);
		equal(await countPending(store, programme), 1_200, "somebody may be at work on it");
		// A worker that is stopped after a batch lets another go on at once.
		let looks = 0;
		await cancelAllRemoved(store, createClock(NOW_MS + CLAIM_MS), () => ++looks > 2);
		equal(await countPending(store, programme), 700);
		await chore(store, NOW_MS + CLAIM_MS);
		equal(await countPending(store, programme), 0);
		await demandNoLimbo(store, programme);
		deepEqual(await waiting(store), []);
	});

	test("what is due of an engine that has fallen silent is left alone until its slots are free", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const silent = await own(store, programme);
		const ids = await addDeliveries(store, programme, START_MS, START_MS + 1);
		deepEqual(await remove(store, programme), { count: 0, isComplete: false });
		await store.transact((trx) => store.queue.endEngine(trx, silent));
		await chore(store, NOW_MS + IN_HAND_MS);
		for (const id of ids) deepEqual(await readDelivery(store, id), ["cancelled", NOW_MS + IN_HAND_MS, false]);
		deepEqual(await waiting(store), []);
	});

	test("tens of thousands are cancelled while the engine's passes go on: none waits for more than a batch at each of its statements", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const engineId = await own(store, programme);
		await addDelivery(store, programme);
		await addPending(store, programme, 20_000);
		let batches = 0;
		const counting: Store = {
			...store,
			transact: async (work) => {
				const done = await store.transact(work);
				batches++;
				return done;
			},
		};
		const removed = await store.transact((trx) => removeEndpoint(trx, programme.id, NOW_MS));
		const clock = {
			...createClock(NOW_MS),
			yieldLoop: () => new Promise<void>((done) => setImmediate(done)),
		};
		let isDone = false;
		const cancelling = cancelRemoved(counting, clock, removed, never).finally(() => {
			isDone = true;
		});
		const waits: number[] = [];
		const pass = createPass(rival, createRandom());
		while (!isDone) {
			const before = batches;
			await pass.run(passInput(engineId, START_MS, { isRenewal: true }));
			waits.push(batches - before);
			await clock.yieldLoop();
		}
		deepEqual(await cancelling, { count: 20_000, isComplete: false });
		equal(batches, 41);
		ok(waits.length >= 10, `only ${waits.length} passes came through`);
		ok(Math.max(...waits) <= 6, `a pass waited for ${Math.max(...waits)} batches`);
		await demandNoLimbo(store, programme);
	});
});

async function remove(store: Store, { id }: Programme, nowMs = NOW_MS): Promise<Cancelled> {
	const removed = await store.transact((trx) => removeEndpoint(trx, id, nowMs));
	return cancelRemoved(store, createClock(nowMs), removed, never);
}

function chore(store: Store, nowMs: number): Promise<void> {
	return cancelAllRemoved(store, createClock(nowMs), never);
}

/** Runs `work` after every transaction. */
function hooked(store: Store, work: () => Promise<void>): Store {
	return {
		...store,
		async transact(batch) {
			const done = await store.transact(batch);
			await work();
			return done;
		},
	};
}

function once(work: () => Promise<void>): () => Promise<void> {
	let isDone = false;
	return async () => {
		if (isDone) return;
		isDone = true;
		await work();
	};
}

/** An engine that owns the programme's slot. */
async function own(store: Store, { id }: Programme): Promise<number> {
	const engineId = await addEngine(store, NOW_MS);
	const slot = store.db.updateTable("slots").set({ engine_id: engineId }).where("slot", "=", slotOf(id));
	await slot.execute();
	return engineId;
}

async function addOwed(store: Store, programme: Programme, endpointEpoch: number): Promise<number> {
	const conversion = await addConversion(store, programme.id);
	const owed = { ...newOwedEvent(programme, conversion.id), endpointEpoch };
	const ids = await store.transact((trx) => store.writes.insertOwedEvents(trx, [owed], START_MS));
	return ids.get(conversion.id) ?? 0;
}

function waiting(store: Store): Promise<unknown[]> {
	return store.db.selectFrom("cancellations").selectAll().execute();
}
