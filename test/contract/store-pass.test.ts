// One pass over the store, on both databases: what a batch of results may change when claims have lapsed.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createPass } from "../../src/callbacks/pass.ts";
import { createRandom } from "../../src/outside/random.ts";
import { CLAIM_LAPSE_MS } from "../../src/store/queue.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { claimOne, readAll } from "../support/queue-rows.ts";
import { addDelivery, addProgramme, delivered, failed } from "../support/rows.ts";

eachDatabase("a pass", (database) => {
	test("a result of a lapsed claim changes nothing, also beside one of the claim that followed it", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		// The first result could not be stored in time; the same engine took the delivery again.
		const lapsed = failed(await claimOne(store, programme.id, START_MS));
		const present = delivered(await claimOne(store, programme.id, START_MS + CLAIM_LAPSE_MS));
		const { settled } = await createPass(
			store,
			createRandom(),
		)({
			settlements: [lapsed, present],
			requests: [],
			targetsOf: [],
			nowMs: START_MS + CLAIM_LAPSE_MS,
		});
		deepEqual([...settled], [present]);
		const { delivery, attempts } = await readAll(store, id);
		equal(delivery.state, "delivered");
		deepEqual(
			attempts.map(({ result }) => result),
			["interrupted", "answered"],
		);
		const notices = await store.db
			.selectFrom("notices")
			.selectAll()
			.where("receiver_id", "=", programme.id)
			.execute();
		deepEqual(notices, [], "nobody is told of a failure that was not one");
	});

	for (const by of ["the same process", "another process, which has read the target since"] as const) {
		test(`a success ends the notice that a failure before it opened: ${by}`, async () => {
			const { store } = database;
			const programme = await addProgramme(store);
			await addDelivery(store, programme);
			const nothing = { settlements: [], requests: [], targetsOf: [], nowMs: START_MS };
			const [first, second] = [createPass(store, createRandom()), createPass(store, createRandom())];
			const lost = failed(await claimOne(store, programme.id, START_MS));
			equal((await first({ ...nothing, settlements: [lost] })).hasNotice, true);
			const next = by === "the same process" ? first : second;
			if (next === second) await second({ ...nothing, targetsOf: [programme.id] });
			await addDelivery(store, programme);
			const arrived = delivered(await claimOne(store, programme.id, START_MS));
			equal((await next({ ...nothing, settlements: [arrived] })).hasNotice, true);
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
			const again = delivered(await claimOne(store, programme.id, START_MS));
			equal((await next({ ...nothing, settlements: [again] })).hasNotice, false);
		});
	}
});
