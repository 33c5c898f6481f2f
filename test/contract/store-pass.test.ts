// One pass over the store, on both databases: what a batch of results may change, and that nothing is without a lease.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createPass, type PassInput } from "../../src/callbacks/pass.ts";
import { createRandom } from "../../src/outside/random.ts";
import { LEASE_MS } from "../../src/store/queue.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addEngine, laneHolder, passInput, readAll, takeDue, takeOne } from "../support/queue-rows.ts";
import { addDelivery, addProgramme, delivered, failed, retried } from "../support/rows.ts";

eachDatabase("a pass", (database) => {
	test("an engine that was taken over stores nothing more, whatever it has", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const late = failed(await takeOne(store, programme.id, START_MS));
		const engineId = (await laneHolder(store, programme.id)) ?? 0;
		const nowMs = START_MS + LEASE_MS + 1;
		const taken = await store.transact((trx) => store.queue.takeOver(trx, nowMs));
		deepEqual(taken, { engineId, interrupted: 1 });
		const before = await readAll(store, id);
		const pass = createPass(store, createRandom());
		const renewal = { goodUntilMs: nowMs + LEASE_MS, held: 1 };
		for (const change of [{}, { renewal }]) {
			equal(await pass(passInput(engineId, nowMs, { settlements: [late], ...change })), null);
		}
		deepEqual(await readAll(store, id), before);
		equal((await takeOne(store, programme.id, nowMs)).seq, 1, "another one sends it again");
		const notices = await store.db
			.selectFrom("notices")
			.selectAll()
			.where("receiver_id", "=", programme.id)
			.execute();
		deepEqual(notices, [], "nobody is told of a failure that was not one");
	});

	test("a success ends a notice of which no word came: the pass that stored it had failed", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme);
		await addDelivery(store, programme);
		const engineId = await addEngine(store, START_MS);
		const [lost, arrived] = await takeDue(store, programme.id, 2, START_MS);
		if (lost === undefined || arrived === undefined) throw new Error("two are due");
		const retry = retried(lost, START_MS + 60_000);
		const stored = createPass(store, createRandom());
		await stored(passInput(engineId, START_MS, { settlements: [retry] }));
		const pass = createPass(store, createRandom());
		const settlements = [retry, delivered(arrived)];
		await pass(passInput(engineId, START_MS, { isInDoubt: true, settlements }));
		const open = await store.db
			.selectFrom("notices")
			.select("id")
			.where("receiver_id", "=", programme.id)
			.execute();
		deepEqual(open, []);
	});

	for (const by of ["the same process", "another process, which has read the target since"] as const) {
		test(`a success ends the notice that a failure before it opened: ${by}`, async () => {
			const { store } = database;
			const programme = await addProgramme(store);
			await addDelivery(store, programme);
			const engineId = await addEngine(store, START_MS);
			const input = (change: Partial<PassInput>) => passInput(engineId, START_MS, change);
			const [first, second] = [createPass(store, createRandom()), createPass(store, createRandom())];
			const lost = failed(await takeOne(store, programme.id, START_MS));
			equal((await first(input({ settlements: [lost] })))?.hasNotice, true);
			const next = by === "the same process" ? first : second;
			if (next === second) await second(input({ targetsFor: () => [programme.id] }));
			await addDelivery(store, programme);
			const arrived = delivered(await takeOne(store, programme.id, START_MS));
			equal((await next(input({ settlements: [arrived] })))?.hasNotice, true);
			const notices = await store.db
				.selectFrom("notices")
				.select(["kind", "ended_at_ms"])
				.where("receiver_id", "=", programme.id)
				.orderBy("id")
				.execute();
			deepEqual(
				notices.map(({ kind, ended_at_ms }) => [kind, ended_at_ms]),
				[
					["callbacks_failing", START_MS],
					["callbacks_working_again", null],
				],
			);
			// Told once: from here on nothing is known to fail.
			await addDelivery(store, programme);
			const again = delivered(await takeOne(store, programme.id, START_MS));
			equal((await next(input({ settlements: [again] })))?.hasNotice, false);
		});
	}
});
