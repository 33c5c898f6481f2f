// Tests one pass of an engine over the store, on both databases. A pass stores everything or nothing, stores
// nothing without the engine's row, and opens and ends notices according to its results.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { createPass, type PassInput } from "#core/callbacks/pass.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { SLOTS, slotOf } from "#core/domain/slot.ts";
import type { Store } from "#core/store/store.ts";
import { createRandom } from "../../src/outside/random.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addEngine, passInput, readAll, slotOwner, takeDue, takeOne } from "../support/queue-rows.ts";
import { addDeliveries, addDelivery, addProgramme, delivered, failed, retried } from "../support/rows.ts";

eachDatabase("a pass", (database) => {
	const start = async () => {
		const { store } = database;
		await freeAllSlots(store);
		const programme = await addProgramme(store);
		const engineId = await addEngine(store, START_MS);
		return { store, programme, engineId, pass: createPass(store, createRandom()) };
	};

	test("an engine whose row is gone stores no result, takes no slots and gives none up", async () => {
		const { store, programme, engineId, pass } = await start();
		const id = await addDelivery(store, programme);
		const late = failed(await takeOne(store, programme.receiver_id, START_MS));
		const owned = await takeAll(store, engineId);
		// The slots stay with the removed engine. In production that state is possible only if a statement does
		// not check the engine's row.
		await store.db.deleteFrom("engines").where("id", "=", engineId).execute();
		const before = await readAll(store, id);
		for (const change of [
			{ settlements: [late] },
			{ settlements: [late], isRenewal: true },
			{ giveUp: owned },
			{ giveUp: owned, isLast: true },
			{ reread: "requested" as const, slots: owned },
		]) {
			equal(await pass.run(passInput(engineId, START_MS, change)), null);
		}
		deepEqual(await readAll(store, id), before);
		equal(await slotOwner(store, programme.receiver_id), engineId);
		deepEqual(
			await noticesOf(store, programme.receiver_id),
			[],
			"a result that was not stored opens no notice",
		);
		deepEqual(await hoursOf(store, programme.receiver_id), []);
	});

	test("one transaction stores results, and returns slots, first due rows, due deliveries and their targets", async () => {
		const { store, programme, engineId } = await start();
		const other = await addProgramme(store);
		await addDelivery(store, programme);
		const settled = delivered(await takeOne(store, programme.receiver_id, START_MS));
		const [due] = await addDeliveries(store, programme, START_MS, START_MS + 900);
		const next = await addDelivery(store, other, START_MS + 60_000);
		const counted = countTransactions(store);
		const input = passInput(engineId, START_MS, {
			isRenewal: true,
			reread: "requested",
			slots: [slotOf(other.receiver_id)],
			settlements: [settled],
			requests: [{ receiverId: programme.receiver_id, afterDueAtMs: -1, afterId: 0, limit: 5, wanted: 5 }],
			oldTargets: [programme.receiver_id],
		});
		const output = await createPass(counted.store, createRandom()).run(input);
		equal(counted.count, 1);
		deepEqual(output?.settled, new Set([settled]));
		equal(output?.slots?.owned.length, SLOTS, "a single engine takes all slots");
		equal(output?.slots?.share, SLOTS);
		deepEqual(
			output?.firstDue.map((row) => ({ ...row })),
			[{ receiverId: other.receiver_id, id: next, dueAtMs: START_MS + 60_000 }],
			"only slots that it owned at the start of the pass",
		);
		deepEqual([output?.read.deliveries.length, output?.read.deliveries[0]?.id], [1, due]);
		deepEqual(output?.read.nextDue, [{ receiverId: programme.receiver_id, dueAtMs: START_MS + 900 }]);
		deepEqual(
			output?.targets.map(({ receiverId, url }) => [receiverId, url]),
			[[programme.receiver_id, "https://shop.example/postback"]],
		);
		deepEqual(await hoursOf(store, programme.receiver_id), [[1, 0]]);
	});

	test("later successes are stored and counted by one statement on PostgreSQL, and the first one in a transaction", async () => {
		const { store, programme, engineId } = await start();
		const ids = await addDeliveries(store, programme, START_MS, START_MS, START_MS);
		const [first, ...later] = (await takeDue(store, programme.receiver_id, 3, START_MS)).map((due) =>
			delivered(due),
		);
		if (first === undefined) throw new Error("nothing was due");
		const counted = countTransactions(store);
		const pass = createPass(counted.store, createRandom());
		await pass.run(passInput(engineId, START_MS, { settlements: [first] }));
		equal(counted.count, 1);
		const output = await pass.run(passInput(engineId, START_MS, { settlements: [...later, first] }));
		equal(counted.count, store.kind === "sqlite" ? 2 : 1);
		deepEqual(output?.settled, new Set(later), "a result that is stored already is not stored again");
		deepEqual(await hoursOf(store, programme.receiver_id), [[3, 0]]);
		for (const id of ids) equal((await readAll(store, id)).queued, null);
		// Each of these results must open or end a notice.
		await addDelivery(store, programme);
		const failing = retried(await takeOne(store, programme.receiver_id, START_MS), START_MS + 60_000);
		await pass.run(passInput(engineId, START_MS, { settlements: [failing] }));
		equal((await noticesOf(store, programme.receiver_id)).length, 1);
		await addDelivery(store, programme);
		const success = delivered(await takeOne(store, programme.receiver_id, START_MS));
		await pass.run(passInput(engineId, START_MS, { settlements: [success] }));
		deepEqual(await noticesOf(store, programme.receiver_id), []);
	});

	test("a pass that fails at its end has stored nothing, and if it is repeated as the last pass it removes its engine", async () => {
		const { store, programme, engineId, pass } = await start();
		const id = await addDelivery(store, programme);
		const result = delivered(await takeOne(store, programme.receiver_id, START_MS));
		const owned = await takeAll(store, engineId);
		const before = await readAll(store, id);
		const readDue = () => Promise.reject(new Error("the cable"));
		const broken = createPass({ ...store, queue: { ...store.queue, readDue } }, createRandom());
		const settlements = [result];
		const input = passInput(engineId, START_MS, {
			settlements,
			giveUp: owned,
			isRenewal: true,
			isLast: true,
		});
		await rejects(broken.run(input), /the cable/);
		deepEqual(await readAll(store, id), before);
		equal(await slotOwner(store, programme.receiver_id), engineId);
		const output = await pass.run(input);
		deepEqual(
			[output?.settled, output?.slots?.owned],
			[new Set(settlements), []],
			"the last pass takes no slots",
		);
		equal(await slotOwner(store, programme.receiver_id), null);
		deepEqual(await store.db.selectFrom("engines").select("id").execute(), []);
	});

	test("a pass that only reads uses a transaction on SQLite, where the connection is shared, and none on PostgreSQL", async () => {
		const { store, programme, engineId } = await start();
		const id = await addDelivery(store, programme);
		const counted = countTransactions(store);
		const requests = [
			{ receiverId: programme.receiver_id, afterDueAtMs: -1, afterId: 0, limit: 5, wanted: 5 },
		];
		const input = passInput(engineId, START_MS, { requests, oldTargets: [programme.receiver_id] });
		const output = await createPass(counted.store, createRandom()).run(input);
		deepEqual([output?.read.deliveries[0]?.id, output?.targets.length, output?.slots], [id, 1, null]);
		equal(counted.count, database.kind === "SQLite" ? 1 : 0);
	});

	test("a second engine takes its share of the slots once the first gives them up, and on SQLite once the first is gone", async () => {
		const { store, rival, kind } = database;
		await freeAllSlots(store);
		const [first, second] = [await addEngine(store, START_MS), await addEngine(store, START_MS)];
		await store.db.updateTable("slots").set({ engine_id: first }).execute();
		const renew = async (one: Store, engineId: number, change: Partial<PassInput> = {}) => {
			const input = passInput(engineId, START_MS, { isRenewal: true, ...change });
			const output = await createPass(one, createRandom()).run(input);
			return output?.slots?.owned.length;
		};
		equal(await renew(rival, second), 0);
		const share = kind === "SQLite" ? SLOTS : SLOTS / 2;
		const surplus = Array.from({ length: SLOTS - share }, (_, slot) => slot);
		equal(await renew(store, first, { giveUp: surplus }), share);
		equal(await renew(rival, second), SLOTS - share);
		await renew(store, first, { isLast: true });
		equal(await renew(rival, second), SLOTS);
	});

	test("a success ends a notice that the process does not know of, because the pass that stored it seemed to fail", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme);
		await addDelivery(store, programme);
		const engineId = await addEngine(store, START_MS);
		const [lost, arrived] = await takeDue(store, programme.receiver_id, 2, START_MS);
		if (lost === undefined || arrived === undefined) throw new Error("two deliveries must be due");
		const retry = retried(lost, START_MS + 60_000);
		const stored = createPass(store, createRandom());
		await stored.run(passInput(engineId, START_MS, { settlements: [retry] }));
		const pass = createPass(store, createRandom());
		const settlements = [retry, delivered(arrived)];
		await pass.run(passInput(engineId, START_MS, { isUncertain: true, settlements }));
		deepEqual(await noticesOf(store, programme.receiver_id), []);
	});

	for (const by of ["the same process", "another process, which has read the target since"] as const) {
		test(`a success ends the notice that an earlier failure opened, if it is stored by ${by}`, async () => {
			const { store } = database;
			const programme = await addProgramme(store);
			await addDelivery(store, programme);
			const engineId = await addEngine(store, START_MS);
			const input = (change: Partial<PassInput>) => passInput(engineId, START_MS, change);
			const [first, second] = [createPass(store, createRandom()), createPass(store, createRandom())];
			const lost = failed(await takeOne(store, programme.receiver_id, START_MS));
			equal((await first.run(input({ settlements: [lost] })))?.hasNotice, true);
			const next = by === "the same process" ? first : second;
			if (next === second) await second.run(input({ oldTargets: [programme.receiver_id] }));
			await addDelivery(store, programme);
			const arrived = delivered(await takeOne(store, programme.receiver_id, START_MS));
			equal((await next.run(input({ settlements: [arrived] })))?.hasNotice, true);
			deepEqual(await noticesOf(store, programme.receiver_id), [
				["callbacks_failing", START_MS],
				["callbacks_working_again", null],
			]);
			// The recovery is announced only once, so the next success ends no further notice.
			await addDelivery(store, programme);
			const again = delivered(await takeOne(store, programme.receiver_id, START_MS));
			equal((await next.run(input({ settlements: [again] })))?.hasNotice, false);
		});
	}
});

async function takeAll(store: Store, engineId: number): Promise<readonly number[]> {
	await store.transact((trx) => store.queue.takeSlots(trx, engineId, SLOTS));
	return Array.from({ length: SLOTS }, (_, slot) => slot);
}

async function freeAllSlots({ db }: Store): Promise<void> {
	await db.deleteFrom("engines").execute();
	await db.updateTable("slots").set({ engine_id: null }).execute();
}

function countTransactions(store: Store): { store: Store; readonly count: number } {
	let count = 0;
	const transact: Store["transact"] = (work) => {
		count++;
		return store.transact(work);
	};
	return {
		store: { ...store, transact },
		get count() {
			return count;
		},
	};
}

async function noticesOf({ db }: Store, receiverId: ReceiverId): Promise<[string, number | null][]> {
	const rows = db.selectFrom("notices").selectAll().where("receiver_id", "=", receiverId).orderBy("id");
	return (await rows.execute()).map(({ kind, ended_at_ms }) => [kind, ended_at_ms]);
}

async function hoursOf({ db }: Store, receiverId: ReceiverId): Promise<[number, number][]> {
	const rows = db.selectFrom("callback_quarters").selectAll().where("receiver_id", "=", receiverId);
	return (await rows.execute()).map(({ delivered, failed }) => [delivered, failed]);
}
