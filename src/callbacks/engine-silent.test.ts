// What an engine does for the others when it ends one that fell silent.

import { equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createClock, START_MS } from "../../test/support/clock.ts";
import { createLog } from "../../test/support/log.ts";
import { addEngine } from "../../test/support/queue-rows.ts";
import { openStore } from "../../test/support/test-database.ts";
import { SEALING_KEY_BYTES } from "../domain/sealing.ts";
import { createRandom } from "../outside/random.ts";
import { givenWire } from "../store/queries/known-network.ts";
import { SILENT_MS } from "../store/queries/queue.ts";
import { Engine } from "./engine.ts";
import { PATIENT_FOR_MS } from "./slots.ts";

async function open(t: TestContext, isReachable: () => boolean = () => true) {
	const store = openStore("SQLite", ":memory:");
	await store.migrate(START_MS);
	const clock = createClock();
	const told = { doubts: 0 };
	const engine = new Engine({
		store: {
			...store,
			announceDoubt: () => void told.doubts++,
			transact: (work) =>
				isReachable() ? store.transact(work) : Promise.reject(new Error("the database is away")),
		},
		clock,
		random: createRandom(),
		transport: { post: () => Promise.reject(new Error("nothing is due")) },
		sealingKey: new Uint8Array(SEALING_KEY_BYTES),
		log: createLog(),
		wire: givenWire("Service"),
		caps: { perProgramme: 8, overall: 512 },
		load: { busyShare: () => 0, lateMs: () => 0 },
		onNotice: () => undefined,
	});
	t.after(async () => {
		await engine.stop();
		await store.close();
	});
	return { store, clock, engine, told };
}

test("all engines look for themselves when one has ended a silent one, whose process may have told nobody of its last sales", async (t) => {
	const { store, clock, engine, told } = await open(t);
	await addEngine(store, START_MS - 1);
	await clock.moveBy(SILENT_MS - 100);
	equal(told.doubts, 0);
	await clock.moveBy(200);
	equal(engine.counters.endedEngines, 1);
	equal(told.doubts, 1);
});

test("after an outage the first engine back gives the others time to renew, and ends those that stay silent", async (t) => {
	let isReachable = true;
	const { store, clock, engine } = await open(t, () => isReachable);
	await clock.moveBy(1_000);
	const lateId = await addEngine(store, clock.nowMs());
	await addEngine(store, clock.nowMs());
	isReachable = false;
	await clock.moveBy(2 * SILENT_MS);
	isReachable = true;
	await clock.moveBy(6_000);
	equal(engine.counters.endedEngines, 0);
	const late = store.db.updateTable("engines").set({ renewed_at_ms: clock.nowMs() });
	await late.where("id", "=", lateId).execute();
	await clock.moveBy(PATIENT_FOR_MS);
	equal(engine.counters.endedEngines, 1, "the one that never came back");
});
