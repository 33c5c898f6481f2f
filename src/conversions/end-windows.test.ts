import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createClock, START_MS } from "../../test/support/clock.ts";
import { eachDatabase } from "../../test/support/databases.ts";
import { addProgramme, newConversion } from "../../test/support/rows.ts";
import { createRandom } from "../outside/random.ts";
import { approveDue } from "./end-windows.ts";

const BATCH_ROWS = 500;

eachDatabase("the approval window", (database) => {
	test("long work yields between batches, stops when asked, and goes on where it stopped", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const due = { status: "RECORDED" as const, window_ends_at_ms: START_MS - 1 };
		for (let page = 0; page < 3; page++) {
			const rows = Array.from({ length: BATCH_ROWS }, () => newConversion(id, due));
			await store.db.insertInto("conversions").values(rows).execute();
		}
		let yields = 0;
		const clock = { ...createClock(), yieldLoop: async () => void yields++ };
		const deps = { store, clock, random: createRandom() };
		equal(await approveDue(deps, () => yields === 2), 2 * BATCH_ROWS);
		equal(yields, 2);
		equal(await approveDue(deps, () => false), BATCH_ROWS);
		equal(await approveDue(deps, () => false), 0, "nothing is approved twice");
		const moves = await store.db.selectFrom("moves").select("decided_by").distinct().execute();
		deepEqual(
			moves.map((move) => move.decided_by),
			["window"],
		);
		const lane = store.db.selectFrom("lanes").select("next_due_ms").where("receiver_id", "=", id);
		equal((await lane.executeTakeFirst())?.next_due_ms, START_MS, "an engine will look");
	});
});
