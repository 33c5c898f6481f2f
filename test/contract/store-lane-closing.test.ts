// Closing a lane as an engine does it, pass by pass, on both databases: two looks, and a sale that saw the lane due and
// is not committed yet is lost between them by neither.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { newCounters } from "../../src/callbacks/counters.ts";
import { Lanes } from "../../src/callbacks/lanes.ts";
import { createPass, type PassOutput } from "../../src/callbacks/pass.ts";
import { Planner } from "../../src/callbacks/planner.ts";
import { Targets } from "../../src/callbacks/targets.ts";
import { SEALING_KEY_BYTES } from "../../src/domain/sealing.ts";
import { SECOND_MS } from "../../src/domain/time.ts";
import { createRandom } from "../../src/outside/random.ts";
import type { Programme } from "../../src/store/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { insertDueEvents } from "../support/due-events.ts";
import { createLog } from "../support/log.ts";
import { addEngine, laneHolder } from "../support/queue-rows.ts";
import { addConversion, addDelivery, addProgramme, delivered, newOwedEvent } from "../support/rows.ts";

/** Other suites share the server, and a lane waits for their transactions, too. */
const MOST_PASSES = 5_000;

eachDatabase("an engine that closes a lane", (database) => {
	test("lets it go some seconds after the last delivery, with two passes", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme);
		const engine = await startPassing(store);
		const shut = await engine.passUntil(({ shut }) => shut.includes(programme.id));
		ok(shut.nowMs - START_MS >= 5 * SECOND_MS, "a busy shop's lane is not closed between two sales");
		deepEqual(shut.output.gone, [], "the first look keeps it");
		equal(await laneHolder(store, programme.id), engine.id);
		await engine.passUntil(({ gone }) => gone.includes(programme.id));
		equal(await laneHolder(store, programme.id), null);
	});

	test("hands out nothing of it when the pass that let it go was stored without a word", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme);
		const engine = await startPassing(store);
		await engine.passUnheard(({ gone }) => gone.includes(programme.id));
		await addDelivery(store, programme);
		const other = await startPassing(store);
		const { output } = await other.passUntil(({ choice }) => choice.deliveries.length > 0);
		equal(output.choice.deliveries[0]?.receiverId, programme.id);
		deepEqual((await engine.pass()).choice.deliveries, []);
	});

	if (database.kind !== "PostgreSQL") return;

	for (const begins of ["before the first look", "after it, before it is stored"] as const) {
		test(`keeps it while a sale that saw it due is not committed: begun ${begins}`, async (t) => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			await addDelivery(store, programme);
			const sale = await planSale(rival, programme);
			t.after(() => sale.commit());
			const engine = await startPassing(interruptShutting(store, programme.id, () => sale.begin()));
			if (begins === "before the first look") {
				await engine.pass();
				await sale.begin();
			}
			await engine.passUntil(({ shut }) => shut.includes(programme.id));
			// Each could be the second look, as far as the time goes.
			for (let n = 0; n < 4; n++) deepEqual((await engine.pass()).gone, [], "the sale may still come");
			equal(await laneHolder(store, programme.id), engine.id);
			await sale.commit();
			const { output } = await engine.passUntil(({ choice }) => choice.deliveries.length > 0);
			equal(output.choice.deliveries[0]?.eventBody, sale.body, "nobody else has announced it");
			deepEqual(await store.transact((trx) => store.queue.findMissed(trx, START_MS)), []);
		});
	}
});

/** A second goes by with every pass; what is handed out is delivered by the next. Nothing is ever announced. */
async function startPassing(store: Store) {
	const log = createLog();
	const planner = new Planner({
		lanes: new Lanes({ perProgramme: 8, overall: 64 }),
		targets: new Targets(new Uint8Array(SEALING_KEY_BYTES), log),
		counters: newCounters(),
		log,
	});
	const runPass = createPass(store, createRandom());
	const id = await addEngine(store, START_MS);
	const lease = { engineId: id, renewedAtMs: Number.NEGATIVE_INFINITY };
	let nowMs = START_MS;

	async function pass(isUnheard: (output: PassOutput) => boolean = () => false): Promise<PassOutput> {
		nowMs += SECOND_MS;
		const input = planner.plan(lease, nowMs);
		if (input === null) return pass(isUnheard);
		const output = await runPass(input);
		if (output === null) throw new Error("the lease is lost");
		if (isUnheard(output)) {
			planner.putBack(input, nowMs);
			return output;
		}
		if (input.renewal !== null) lease.renewedAtMs = nowMs;
		planner.learn(input, output);
		for (const delivery of output.choice.deliveries) planner.keep(delivered(delivery));
		return output;
	}

	async function passUntil(
		isReached: (output: PassOutput) => boolean,
		isUnheard?: (output: PassOutput) => boolean,
	) {
		for (let n = 0; n < MOST_PASSES; n++) {
			const output = await pass(isUnheard);
			if (isReached(output)) return { output, nowMs };
		}
		throw new Error(`${MOST_PASSES} passes did not come to it`);
	}

	return {
		id,
		pass: () => pass(),
		passUntil,
		/** The pass that comes to it is stored, and the engine does not hear of it. */
		passUnheard: (isReached: (output: PassOutput) => boolean) => passUntil(isReached, isReached),
	};
}

/** A sale by another process, in a transaction that takes its time. */
async function planSale(store: Store, programme: Programme) {
	const owed = newOwedEvent(programme, (await addConversion(store, programme.id)).id);
	const written = Promise.withResolvers<void>();
	const released = Promise.withResolvers<void>();
	let selling: Promise<void> | null = null;
	return {
		body: owed.body,
		async begin() {
			selling ??= store.transact(async (trx) => {
				await insertDueEvents(trx, [owed], START_MS);
				written.resolve();
				await released.promise;
			});
			await Promise.race([written.promise, selling]);
		},
		async commit() {
			released.resolve();
			await selling;
		},
	};
}

/** Something happens when the first look at this lane is written and not yet committed. */
function interruptShutting(store: Store, receiverId: number, interrupt: () => Promise<void>): Store {
	return {
		...store,
		queue: {
			...store.queue,
			async shut(trx, engineId, receiverIds) {
				const shut = await store.queue.shut(trx, engineId, receiverIds);
				if (shut.includes(receiverId)) await interrupt();
				return shut;
			},
		},
	};
}
