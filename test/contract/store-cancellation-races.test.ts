// A batch of deliveries is cancelled on PostgreSQL while others work on the same lane: between any two of its statements.

import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { createPass } from "../../src/callbacks/pass.ts";
import { createRandom } from "../../src/outside/random.ts";
import { cancelBatch } from "../../src/store/cancellations.ts";
import { removeEndpoint } from "../../src/store/endpoint-removal.ts";
import type { Programme } from "../../src/store/programmes.ts";
import type { Db, Store } from "../../src/store/store.ts";
import { interruptAfter } from "../support/between-statements.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { demandNoLimbo, readDelivery } from "../support/pending-rows.ts";
import { addEngine, laneHolder, passInput, settle, takeOne } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, retried } from "../support/rows.ts";
import { until } from "../support/until.ts";

const NOW_MS = START_MS + 5;

eachDatabase("a batch that is cancelled", (database) => {
	// Invariant 3: a delivery is pending exactly as long as it is in the queue. On SQLite nobody comes between
	// two statements of a transaction.
	for (const gap of database.kind === "SQLite" ? [] : [1, 2, 3, 4]) {
		test(`a retry stored after statement ${gap} of a batch leaves no delivery in limbo`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			const delivery = await takeOne(store, programme.id, START_MS);
			const settleIt = () => settle(rival, retried(delivery, START_MS + 60_000));
			await cancelInterrupted(store, programme, [id], gap, settleIt);
			await demandNoLimbo(store, programme);
		});
	}

	for (const gap of database.kind === "SQLite" ? [] : [1, 2, 3, 4, 5]) {
		test(`an engine that looks for lanes after statement ${gap} of a batch waits for nobody and gets nothing`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			const engineId = await addEngine(store, START_MS);
			const handedOut: number[] = [];
			const pass = async () => void handedOut.push(...(await passOver(rival, engineId, programme.id)));
			await cancelInterrupted(store, programme, [id], gap, pass);
			deepEqual([handedOut, await laneHolder(store, programme.id)], [[], null]);
			deepEqual(await readDelivery(store, id), ["cancelled", NOW_MS, false]);
		});
	}

	for (const gap of database.kind === "SQLite" ? [] : [2, 3, 4, 5, 6, 7]) {
		test(`the engine that has the lane waits after statement ${gap} of a batch, and finds nothing to hand out`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const ids = await addDeliveries(store, programme, START_MS, START_MS);
			const [inHand = 0, other = 0] = ids;
			await takeOne(store, programme.id, START_MS);
			const engineId = (await laneHolder(store, programme.id)) ?? 0;
			let passing: Promise<readonly number[]> | undefined;
			const pass = async () => {
				passing = passOver(rival, engineId, programme.id);
			};
			await cancelInterrupted(store, programme, ids, gap, pass, (trx) => until(() => holdsSomebodyUp(trx)));
			deepEqual(await passing, [inHand], "what it had in hand before is all there is");
			deepEqual(await readDelivery(store, other), ["cancelled", NOW_MS, false]);
			deepEqual(await readDelivery(store, inHand), ["pending", null, true]);
		});
	}
});

/** One batch, with something that happens after its statement number `gap`, and before its commit. */
async function cancelInterrupted(
	store: Store,
	{ id }: Programme,
	ids: readonly number[],
	gap: number,
	interrupt: () => Promise<unknown>,
	beforeCommit: (trx: Db) => Promise<unknown> = async () => undefined,
): Promise<void> {
	const removed = await store.transact((trx) => removeEndpoint(trx, id, NOW_MS));
	await store.transact(async (trx) => {
		await cancelBatch(interruptAfter(trx, gap, interrupt), removed, ids, NOW_MS);
		await beforeCommit(trx);
	});
	await store.db.deleteFrom("cancellations").where("receiver_id", "=", id).execute();
}

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
