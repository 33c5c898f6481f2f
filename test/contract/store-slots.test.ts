// Tests engines and the slots that they own, on both databases. The database's clock decides which engines
// are alive and which are removed as silent. However many engines take and give up slots at once, no two ever
// own the same slot.

import { deepEqual, equal, ok } from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { SLOTS } from "#core/domain/slot.ts";
import { HOUR_MS } from "#core/domain/time.ts";
import { type RemovedEngine, SILENT_MS } from "#core/store/queries/queue.ts";
import type { Store } from "#core/store/store.ts";
import { holdsSomebodyUp } from "../support/between-statements.ts";
import { START_MS } from "../support/clock.ts";
import { type DatabaseClock, takeDatabaseClock } from "../support/database-clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";

const ascending = (a: number, b: number) => a - b;
const ALL = Array.from({ length: SLOTS }, (_, slot) => slot);

eachDatabase("engines and their slots", (database) => {
	let clock: DatabaseClock;
	let lastEngine = 0;
	before(async () => {
		clock = await takeDatabaseClock(database);
	});
	beforeEach(async () => {
		await clock.set(START_MS);
		await database.store.db.deleteFrom("engines").execute();
		await database.store.db.updateTable("slots").set({ engine_id: null }).execute();
	});

	async function register(atMs = START_MS): Promise<number> {
		const { store } = database;
		const engineId = ++lastEngine;
		await store.queue.register(store.db, engineId, 512, await clock.set(atMs));
		return engineId;
	}

	/** Takes slots as a pass does, after checking that the engine's row still exists. */
	const take = (engineId: number, count: number, store = database.store): Promise<number[]> =>
		store.transact(async (trx) => {
			ok(await store.queue.beginPass(trx, engineId, null));
			return (await store.queue.takeSlots(trx, engineId, count)).sort(ascending);
		});
	const give = (engineId: number, slots: readonly number[], store = database.store): Promise<void> =>
		store.transact((trx) => store.queue.giveUpSlots(trx, engineId, slots));
	const removeSilentEngines = async (atMs: number, store = database.store): Promise<RemovedEngine[]> => {
		const nowMs = await clock.set(atMs);
		return store.transact((trx) => store.queue.removeSilentEngines(trx, nowMs));
	};
	const look = async (engineId: number, atMs = START_MS) => {
		const nowMs = await clock.set(atMs);
		const { store } = database;
		const { mine, ...figures } = await store.transact((trx) => store.queue.readSlots(trx, engineId, nowMs));
		return { ...figures, mine: mine.toSorted(ascending) };
	};
	const begin = async (engineId: number, atMs: number | null, mostInFlight: number | null = 512) => {
		const { store } = database;
		const renewal = atMs === null ? null : { mostInFlight, nowMs: await clock.set(atMs) };
		return store.transact((trx) => store.queue.beginPass(trx, engineId, renewal));
	};

	test("an engine is registered and renewed at the database's time, whatever the clock of its process says", async () => {
		const engineId = await register(START_MS + 3);
		const row = { id: engineId, most_in_flight: 512 };
		deepEqual(await readEngines(database.store), [{ ...row, renewed_at_ms: START_MS + 3 }]);
		equal(await begin(engineId, null), true);
		deepEqual(
			await readEngines(database.store),
			[{ ...row, renewed_at_ms: START_MS + 3 }],
			"a pass that is no renewal changes no time",
		);
		equal(await begin(engineId, START_MS + 77), true);
		deepEqual(await readEngines(database.store), [{ ...row, renewed_at_ms: START_MS + 77 }]);
	});

	test("without the engine's row no pass begins, and a renewal does not create the row again", async () => {
		const { store } = database;
		const [gone, other] = [await register(), await register()];
		await take(gone, 3);
		const theirs = await take(other, 2);
		await store.transact((trx) => store.queue.removeEngine(trx, gone));
		equal(await begin(gone, null), false);
		equal(await begin(gone, START_MS + 1), false);
		const [left, ...more] = await readEngines(store);
		deepEqual([left?.id, more], [other, []]);
		deepEqual(await ownedBy(store, gone), [], "its slots are free, too");
		deepEqual(await ownedBy(store, other), theirs);
	});

	test("an engine is removed after fifteen seconds of silence, not a millisecond earlier, and its slots are free", async () => {
		const { store } = database;
		equal(SILENT_MS, 15_000);
		const [silent, alive] = [await register(), await register()];
		await take(silent, 5);
		const theirs = await take(alive, 5);
		await begin(alive, START_MS + 10_000);
		deepEqual(await removeSilentEngines(START_MS + SILENT_MS), []);
		equal((await ownedBy(store, silent)).length, 5);
		const [ended, ...others] = await removeSilentEngines(START_MS + SILENT_MS + 1);
		deepEqual({ ...ended }, { engineId: silent, renewedAtMs: START_MS, mostInFlight: 512 });
		deepEqual(others, []);
		deepEqual([await ownedBy(store, silent), await ownedBy(store, alive)], [[], theirs]);
		deepEqual(await removeSilentEngines(START_MS + SILENT_MS + 1), [], "once");
		equal(await begin(silent, START_MS + SILENT_MS + 1), false);
	});

	test("an engine whose renewal lies in the future, because the clock was set back, is removed too", async () => {
		const engineId = await register(START_MS + HOUR_MS);
		await take(engineId, 5);
		deepEqual(await removeSilentEngines(START_MS + HOUR_MS - SILENT_MS), []);
		equal((await removeSilentEngines(START_MS + HOUR_MS - SILENT_MS - 1))[0]?.engineId, engineId);
		deepEqual(await ownedBy(database.store, engineId), []);
	});

	test("reading the slots returns the engines, the owned slots, the number of free ones, and when the next engine falls silent", async () => {
		const [mine, other] = [await register(), await register(START_MS + 2_000)];
		const none = { nextSilentInMs: null, engines: 1, free: SLOTS, mine: [] };
		const taken = await take(mine, 7);
		await take(other, 9);
		deepEqual(await look(mine, START_MS + 5_000), {
			...none,
			mine: taken,
			engines: 2,
			free: SLOTS - 16,
			nextSilentInMs: SILENT_MS - 3_000,
		});
		const silentMs = START_MS + 2_000 + SILENT_MS;
		equal((await look(mine, silentMs + 4)).nextSilentInMs, -4, "the engine must be removed at once");
		await begin(other, START_MS + 5_000, null);
		equal(
			(await look(mine, START_MS + 5_000)).engines,
			1,
			"an engine that gives its slots up does not count",
		);
		await begin(other, START_MS + 2_000);
		await removeSilentEngines(silentMs + 4);
		const alone = await register(START_MS + HOUR_MS);
		deepEqual(await look(alone, START_MS + HOUR_MS), none, "an engine does not wait for its own silence");
	});

	test("an engine takes as many slots as are free, and only their owner can give them up", async () => {
		const { store } = database;
		const [mine, other] = [await register(), await register()];
		const owned = await take(mine, 40);
		const theirs = await take(other, 40);
		deepEqual([owned.length, theirs.length], [40, 24]);
		deepEqual([...owned, ...theirs].sort(ascending), ALL);
		deepEqual(await take(mine, 1), []);
		await give(other, owned);
		deepEqual(await ownedBy(store, mine), owned);
		await give(mine, owned.slice(0, 2));
		deepEqual(await ownedBy(store, mine), owned.slice(2));
		deepEqual(await take(other, 9), owned.slice(0, 2));
	});

	// The following tests need two writers at once, and SQLite has only one.
	if (database.kind === "SQLite") return;

	test("a silent engine is not removed during its pass, and nobody waits for it", async () => {
		const { store, rival } = database;
		const engineId = await register();
		await take(engineId, 3);
		await store.transact(async (trx) => {
			equal(await store.queue.beginPass(trx, engineId, null), true);
			deepEqual(await removeSilentEngines(START_MS + HOUR_MS, rival), []);
		});
		equal((await removeSilentEngines(START_MS + HOUR_MS, rival))[0]?.engineId, engineId);
	});

	for (const isRenewal of [false, true]) {
		test(`an engine that begins ${isRenewal ? "a renewal" : "a pass"} while it is being removed waits, and begins nothing`, async () => {
			const { store, rival } = database;
			const engineId = await register();
			const nowMs = await clock.set(START_MS + HOUR_MS);
			let begun: Promise<boolean> | undefined;
			await rival.transact(async (trx) => {
				equal((await rival.queue.removeSilentEngines(trx, nowMs)).length, 1);
				const renewal = isRenewal ? { mostInFlight: 512, nowMs } : null;
				begun = store.transact((own) => store.queue.beginPass(own, engineId, renewal));
				await until(() => holdsSomebodyUp(trx));
			});
			equal(await begun, false);
			deepEqual(await readEngines(store), []);
		});
	}

	test("a slot that another transaction is taking or giving up is skipped, and nobody waits for it", async () => {
		const { store, rival } = database;
		const [mine, other] = [await register(), await register()];
		const owned = await take(mine, 60);
		await store.transact(async (trx) => {
			await store.queue.giveUpSlots(trx, mine, owned);
			equal((await store.queue.takeSlots(trx, mine, 2)).length, 2);
			deepEqual(
				(await take(other, SLOTS, rival)).length,
				4,
				"only the slots that were free before are taken",
			);
		});
		equal((await take(other, SLOTS, rival)).length, 58);
	});

	test("when many engines remove silent ones and take slots at once, each is removed once and no slot has two owners", async () => {
		const { store, rival } = database;
		for (let round = 0; round < 6; round++) {
			await store.db.deleteFrom("engines").execute();
			const silent = await Promise.all([register(), register(), register()]);
			for (const engineId of silent) await take(engineId, 20);
			const nowMs = await clock.set(START_MS + HOUR_MS);
			const engines = [];
			for (let n = 0; n < 6; n++) engines.push(await register(START_MS + HOUR_MS));
			const found = await Promise.all(
				engines.map((engineId, n) => {
					const process = n % 2 === 0 ? store : rival;
					return process.transact(async (trx) => {
						ok(await process.queue.beginPass(trx, engineId, { mostInFlight: 512, nowMs }));
						const ended = await process.queue.removeSilentEngines(trx, nowMs);
						return { engineId, ended, taken: await process.queue.takeSlots(trx, engineId, 30) };
					});
				}),
			);
			const ended = found.flatMap((one) => one.ended.map((engine) => engine.engineId));
			deepEqual(ended.sort(ascending), silent.toSorted(ascending));
			const taken = found.flatMap((one) => one.taken);
			equal(new Set(taken).size, taken.length, "a slot was taken twice");
			// The owner stored for a slot must be the engine whose call returned the slot.
			for (const one of found) deepEqual(await ownedBy(store, one.engineId), one.taken.toSorted(ascending));
			await store.db.updateTable("slots").set({ engine_id: null }).execute();
		}
	});

	test("engines that take and give up slots as fast as they can never own the same slot", async () => {
		const { store, rival } = database;
		const engines = await Promise.all(Array.from({ length: 8 }, () => register()));
		const owner = new Map<number, number>();
		await Promise.all(
			engines.map(async (engineId, n) => {
				const process = n % 2 === 0 ? store : rival;
				for (let round = 0; round < 12; round++) {
					const taken = await take(engineId, 1 + ((n + round) % 16), process);
					for (const slot of taken) {
						equal(
							owner.get(slot),
							undefined,
							`slot ${slot} of ${owner.get(slot)} was also given to ${engineId}`,
						);
						owner.set(slot, engineId);
					}
					deepEqual(await ownedBy(process, engineId), taken);
					// The test forgets the slots before the engine gives them up, because another engine may take them
					// right after the commit.
					for (const slot of taken) owner.delete(slot);
					await give(engineId, taken, process);
				}
			}),
		);
		equal((await look(engines[0] ?? 0)).free, SLOTS);
	});
});

async function readEngines({ db }: Store) {
	const rows = await db.selectFrom("engines").selectAll().orderBy("id").execute();
	return rows.map((row) => ({ ...row }));
}

async function ownedBy({ db }: Store, engineId: number): Promise<number[]> {
	const rows = db.selectFrom("slots").select("slot").where("engine_id", "=", engineId).orderBy("slot");
	return (await rows.execute()).map(({ slot }) => slot);
}
