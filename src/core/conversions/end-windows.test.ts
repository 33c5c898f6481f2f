import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createClock, START_MS } from "../../../test/support/clock.ts";
import { eachDatabase } from "../../../test/support/databases.ts";
import { addProgramme, newConversion } from "../../../test/support/rows.ts";
import { CHANGES } from "../../modules.ts";
import { createRandom } from "../../outside/random.ts";
import { DAY_MS } from "../domain/time.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Store } from "../store/store.ts";
import { approveDue } from "./end-windows.ts";

const BATCH_ROWS = 500;

eachDatabase("the approval window", (database) => {
	test("long work yields between batches, stops when asked, and goes on where it stopped", async () => {
		const { store } = database;
		const { id, receiver_id } = await addProgramme(store);
		const ended = { status: "RECORDED" as const, window_ends_at_ms: START_MS - 1 };
		for (let page = 0; page < 3; page++) {
			const rows = Array.from({ length: BATCH_ROWS }, () => newConversion(id, ended));
			await store.db.insertInto("conversions").values(rows).execute();
		}
		const heard: Owed[] = [];
		const onOwed = (owed: Owed) => {
			heard.push(owed);
			return [];
		};
		store.onDue({ onOwed, onTargetChange: () => undefined, onRecheck: () => undefined });
		let yields = 0;
		const clock = { ...createClock(), yieldLoop: async () => void yields++ };
		const deps = { store, clock, random: createRandom(), changes: CHANGES };
		equal(await approveDue(deps, () => yields === 2), 2 * BATCH_ROWS);
		equal(yields, 2);
		equal(await approveDue(deps, () => false), BATCH_ROWS);
		equal(await approveDue(deps, () => false), 0, "nothing is approved twice");
		const moves = await store.db.selectFrom("moves").select("decided_by").distinct().execute();
		deepEqual(
			moves.map((move) => move.decided_by),
			["window"],
		);
		deepEqual(
			heard.map(({ receiverIds, dueAtMs }) => [...receiverIds, dueAtMs]),
			Array(3).fill([receiver_id, START_MS]),
			"engines hear of each",
		);
	});

	test("a clock that leaps while a batch waits for the database approves nothing early", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const ends = [START_MS - 1, START_MS + DAY_MS];
		const rows = ends.map((window_ends_at_ms) =>
			newConversion(id, { status: "RECORDED", window_ends_at_ms }),
		);
		await store.db.insertInto("conversions").values(rows).execute();
		const clock = createClock();
		const slow: Store = {
			...store,
			transact: async (work) => {
				await clock.moveBy(31 * DAY_MS);
				return store.transact(work);
			},
		};
		equal(await approveDue({ store: slow, clock, random: createRandom(), changes: CHANGES }, () => false), 1);
	});
});
