// Tests how finished deliveries are found and sent again, on both databases.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import {
	type Delivery,
	failedWithin,
	findDeliveries,
	listFailedReceivers,
	requeue,
	setAside,
} from "#core/store/queries/deliveries.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { removeUrl } from "../support/change-rows.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { readAll, settle, takeDue, takeOne } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, delivered, failed, retried } from "../support/rows.ts";

eachDatabase("deliveries", (database) => {
	test("a delivery is not found under another programme", async () => {
		const { store } = database;
		const [owner, stranger] = [await addProgramme(store), await addProgramme(store)];
		const { delivery } = await readAll(store, await addDelivery(store, owner));
		equal((await findDeliveries(store.db, owner.receiver_id, [delivery.public_id]))[0]?.id, delivery.id);
		deepEqual(await findDeliveries(store.db, stranger.receiver_id, [delivery.public_id]), []);
	});

	test("failures since a given time are listed with the oldest first, without other states and other programmes", async () => {
		const { store } = database;
		const [programme, stranger] = [await addProgramme(store), await addProgramme(store)];
		const ids = await addDeliveries(store, programme, START_MS, START_MS + 1, START_MS + 2, START_MS + 3);
		await addDelivery(store, stranger);
		const [old, newer, newest, fine] = await takeDue(store, programme.receiver_id, 4, START_MS + 3);
		if (!old || !newer || !newest || !fine) throw new Error("not everything was due");
		await settle(store, failed(await takeOne(store, stranger.receiver_id, START_MS)), delivered(fine));
		await settle(
			store,
			failed(newest, START_MS + 30),
			failed(old, START_MS + 10),
			failed(newer, START_MS + 20),
		);
		const since = async (sinceMs: number, limit = 10) =>
			(
				await failedWithin(
					store.db,
					programme.receiver_id,
					{ fromMs: sinceMs, untilMs: START_MS + 1_000 },
					limit,
				)
			).map(({ id }) => id);
		deepEqual(await since(START_MS), ids.slice(0, 3));
		deepEqual(await since(START_MS + 20), ids.slice(1, 3));
		deepEqual(await since(START_MS, 2), ids.slice(0, 2));
		const span = { fromMs: START_MS, untilMs: START_MS + 1_000 };
		const count = async () => (await listFailedReceivers(store.db, span, programme.public_id))[0]?.failed;
		equal(Number(await count()), 3);
		await setAside(store.db, [{ id: ids[1] ?? 0 }]);
		deepEqual(await since(START_MS), [ids[0], ids[2]], "a failure that was set aside is not listed");
		equal(Number(await count()), 2);
		const upTo20 = await failedWithin(
			store.db,
			programme.receiver_id,
			{ fromMs: START_MS, untilMs: START_MS + 19 },
			10,
		);
		deepEqual(
			upTo20.map(({ id }) => id),
			ids.slice(0, 1),
			"a failure after the period is not listed",
		);
	});

	test("programmes with failures within a span are listed with the most first, unless they have no URL", async () => {
		const { store } = database;
		const [few, many, gone] = [
			await addProgramme(store),
			await addProgramme(store),
			await addProgramme(store),
		];
		const fail = async (programme: Programme, ...endedAtMs: readonly number[]) => {
			for (const atMs of endedAtMs) {
				await addDelivery(store, programme, START_MS);
				await settle(store, failed(await takeOne(store, programme.receiver_id, START_MS), atMs));
			}
		};
		await fail(few, START_MS + 5_020);
		await fail(many, START_MS + 5_010, START_MS + 5_030, START_MS + 5_031);
		await fail(gone, START_MS + 5_020);
		await store.transact((trx) => removeUrl(trx, gone.id, START_MS));
		const list = async (fromMs: number, untilMs: number, id?: string) =>
			(
				await listFailedReceivers(store.db, { fromMs: START_MS + fromMs, untilMs: START_MS + untilMs }, id)
			).map((row) => [row.id, row.failed, row.oldestAtMs - START_MS, row.newestAtMs - START_MS]);
		deepEqual(await list(5_010, 5_030), [
			[many.id, 2, 5_010, 5_030],
			[few.id, 1, 5_020, 5_020],
		]);
		deepEqual(await list(5_010, 5_030, few.public_id), [[few.id, 1, 5_020, 5_020]]);
		deepEqual(await list(6_000, 7_000), []);
	});

	for (const [state, end] of Object.entries({ failed, delivered })) {
		test(`eight simultaneous resends of one ${state} delivery start one run`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const finished = await finish(store, programme, end);
			const started = await Promise.all(
				Array.from({ length: 8 }, (_, n) =>
					(n % 2 === 0 ? store : rival).transact((trx) =>
						requeue(trx, programme.receiver_id, [finished], START_MS),
					),
				),
			);
			equal(started.flat().length, 1);
			const { delivery, queued } = await readAll(store, finished.id);
			deepEqual([delivery.run, queued?.run], [2, 2]);
		});
	}

	test("a resend of a delivered callback does nothing after somebody else's resend was delivered", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const seen = await finish(store, programme, delivered);
		const resend = () => store.transact((trx) => requeue(trx, programme.receiver_id, [seen], START_MS + 2));
		equal((await resend())?.length, 1);
		await settle(store, delivered(await takeOne(store, programme.receiver_id, START_MS + 2)));
		deepEqual(await resend(), []);
		const { delivery, queued } = await readAll(store, seen.id);
		deepEqual([delivery.state, delivery.run, queued], ["delivered", 2, null]);
	});

	test("a resend of many deliveries skips those that have changed, and each keeps its number of attempts", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const found = [
			await finish(store, programme),
			await finish(store, programme),
			await finish(store, programme),
		];
		const [first, second, third] = found;
		ok(first !== undefined && second !== undefined && third !== undefined);
		await store.transact((trx) => requeue(trx, programme.receiver_id, [second], START_MS + 1));
		const stale = { ...third, run: third.run + 1 };
		const again = (deliveries: readonly Delivery[]) =>
			store.transact((trx) => requeue(trx, programme.receiver_id, deliveries, START_MS + 100));
		deepEqual(
			await again([first, second, stale]),
			[first],
			"the second is pending, and the third was read with another run",
		);
		deepEqual(await again([]), []);
		const runs = await Promise.all(
			found.map(async ({ id }) => {
				const { delivery, queued } = await readAll(store, id);
				return [delivery.state, delivery.failed_at_ms === null, delivery.run, queued?.seq, queued?.due_at_ms];
			}),
		);
		deepEqual(runs, [
			["pending", true, 2, first.attempts, START_MS + 100],
			["pending", true, 2, second.attempts, START_MS + 1],
			["failed", false, 1, undefined, undefined],
		]);
	});

	test("a delivery that has changed its state since it was read is not resent", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const finished = await finish(store, programme);
		const found = { ...finished, state: "delivered" as const };
		deepEqual(await store.transact((trx) => requeue(trx, programme.receiver_id, [found], START_MS)), []);
		const { delivery, queued } = await readAll(store, finished.id);
		deepEqual([delivery.state, delivery.run, queued], ["failed", 1, null]);
	});

	test("without a Postback URL nothing is resent", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const finished = await finish(store, programme);
		await store.transact((trx) => removeUrl(trx, programme.id, START_MS));
		equal(await store.transact((trx) => requeue(trx, programme.receiver_id, [finished], START_MS)), null);
		equal((await readAll(store, finished.id)).delivery.state, "failed");
	});
});

/** Adds a delivery that its second attempt ends, by default as a failure. */
async function finish(store: Store, programme: Programme, end = failed): Promise<Delivery> {
	const id = await addDelivery(store, programme);
	await settle(store, retried(await takeOne(store, programme.receiver_id, START_MS), START_MS + 1));
	await settle(store, end(await takeOne(store, programme.receiver_id, START_MS + 1)));
	return (await readAll(store, id)).delivery;
}
