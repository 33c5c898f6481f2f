// What reading the numbers costs the database while thousands of programmes wait: nothing.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { createHealth } from "../../src/api/health.ts";
import { createMetrics } from "../../src/api/metrics.ts";
import { Engine } from "../../src/callbacks/engine.ts";
import { createPass } from "../../src/callbacks/pass.ts";
import { SEALING_KEY_BYTES } from "../../src/domain/sealing.ts";
import { createRandom } from "../../src/outside/random.ts";
import { createKnownNetwork } from "../../src/store/known-network.ts";
import { givenWire } from "../../src/store/known-wire.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock, START_MS, settle } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { makeMetricsDeps } from "../support/metrics-deps.ts";
import { recordQueries } from "../support/query-plan.ts";
import { until, untilOnClock } from "../support/until.ts";

const PROGRAMMES = 20_000;
const READINGS = 60;
const ROWS_AT_ONCE = 1_000;
const OLDEST_DUE_MS = 90_500;
/** Of sixty readiness checks on a busy machine; before, they failed after 4.8 seconds. */
const QUICK_MS = 2_000;

eachDatabase("reading the metrics", (database) => {
	test(`with ${PROGRAMMES} programmes waiting, ${READINGS} readings at once ask the database nothing`, async (t) => {
		const { store, takeCounts } = countQueries(database.store);
		await fillLanes(store);
		const clock = createClock();
		const log = createLog();
		const pass = createPass(store, createRandom());
		const engine = new Engine({
			store,
			clock,
			log,
			random: createRandom(),
			// It looks at the lanes and takes none.
			runPass: (input) => pass({ ...input, lease: null }),
			transport: { post: () => Promise.reject(new Error("nothing is sent here")) },
			sealingKey: new Uint8Array(SEALING_KEY_BYTES),
			wire: givenWire("Service"),
			caps: { perProgramme: 8, overall: 512 },
			load: { busyShare: () => 0, lateMs: () => 0 },
			onNotice: () => undefined,
		});
		t.after(() => engine.stop());
		await until(() => engine.counters.backlog !== null);
		const engineCounters = () => engine.counters;
		const metrics = createMetrics(makeMetricsDeps({ clock, engineCounters }));
		const health = createHealth({
			store,
			clock,
			log,
			network: createKnownNetwork({ store, clock }, null),
			publicUrl: "https://ringback.example",
		});
		takeCounts();

		const startedMs = performance.now();
		const readings = Array.from({ length: READINGS }, () => metrics.answer());
		const checks = Array.from({ length: READINGS }, () => health.answerReady());
		deepEqual(new Set((await Promise.all(checks)).map(({ status }) => status)), new Set([200]));
		ok(performance.now() - startedMs < QUICK_MS, "readiness does not wait for the readings");
		for (const reading of await Promise.all(readings)) {
			const lines = (await reading.text()).split("\n");
			ok(lines.includes(`ringback_programmes_due ${PROGRAMMES}`));
			ok(lines.includes(`ringback_oldest_due_age_seconds ${OLDEST_DUE_MS / 1_000}`));
		}
		deepEqual(takeCounts(), { looks: 0, others: 1 }, "one query, and that is the readiness check's");

		await store.db.deleteFrom("lanes").execute();
		await clock.moveBy(5_000);
		await untilOnClock(clock, "it has looked", () => engine.counters.backlog?.programmesDue === 0, 1);
		await settle();
		equal(takeCounts().looks, 1, "one look in five seconds, however often the numbers are read");
	});
});

/** What was asked since the last time somebody took the counts. */
function countQueries(store: Store): {
	store: Store;
	takeCounts(): { looks: number; others: number };
} {
	const { db, queries } = recordQueries(store.db);
	let looks = 0;
	const queue: Store["queue"] = {
		...store.queue,
		readOthers(...look) {
			looks++;
			return store.queue.readOthers(...look);
		},
	};
	const takeCounts = () => {
		const counts = { looks, others: queries.length };
		looks = 0;
		queries.length = 0;
		return counts;
	};
	return { store: { ...store, queue, db }, takeCounts };
}

/** A look at the lanes needs nothing but them. */
async function fillLanes({ db }: Store): Promise<void> {
	for (let first = 1; first <= PROGRAMMES; first += ROWS_AT_ONCE) {
		const rows = Array.from({ length: ROWS_AT_ONCE }, (_, offset) => ({
			receiver_id: first + offset,
			next_due_ms: START_MS - (first + offset === PROGRAMMES / 2 ? OLDEST_DUE_MS : 1),
		}));
		await db.insertInto("lanes").values(rows).execute();
	}
}
