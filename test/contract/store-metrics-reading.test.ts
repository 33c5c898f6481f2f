// Tests that reading the metrics makes no query, even while thousands of programmes have due deliveries.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { createHealth } from "#core/api/health.ts";
import { Engine } from "#core/callbacks/engine.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { SEALING_KEY_BYTES } from "#core/domain/sealing.ts";
import { createNetworkCache, givenWire } from "#core/store/network-cache.ts";
import type { Store } from "#core/store/store.ts";
import { createRandom } from "../../src/outside/random.ts";
import { createReadiness } from "../../src/watch/readiness.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { makeMetrics } from "../support/metrics-deps.ts";
import { recordQueries } from "../support/query-plan.ts";
import { until, untilOnClock } from "../support/until.ts";

const PROGRAMMES = 20_000;
const READINGS = 60;
const OLDEST_DUE_MS = 90_500;
/**
 * Time in which sixty readiness checks must succeed on a busy machine. An earlier
 * version failed after 4.8 seconds.
 */
const QUICK_MS = 2_000;

eachDatabase("reading the metrics", (database) => {
	test(`with due deliveries of ${PROGRAMMES} programmes, ${READINGS} simultaneous readings of the metrics make no query`, async (t) => {
		const { store, takeCounts } = countQueries(database.store);
		await fillQueue(store);
		const clock = createClock();
		const log = createLog();
		const engine = new Engine({
			store,
			clock,
			log,
			random: createRandom(),
			transport: { post: () => Promise.reject(new Error("nothing is sent here")) },
			keyRing: createKeyRing([new Uint8Array(SEALING_KEY_BYTES)]),
			wire: givenWire("Service"),
			// Nothing may be in flight, so all deliveries stay due.
			caps: { perReceiver: 8, overall: 0 },
			load: { busyShare: () => 0, lateMs: () => 0 },
			onNotice: () => undefined,
		});
		t.after(async () => {
			let hasStopped = false;
			void engine.stop().then(() => {
				hasStopped = true;
			});
			await untilOnClock(clock, "the engine has stopped", () => hasStopped);
		});
		const isRead = () => engine.counters.backlog.receiversDue === PROGRAMMES;
		await untilOnClock(clock, "the engine has read all programmes", isRead, 100);
		// The engine is idle once a timer waits, and no pass begins while the clock stands still.
		await until(() => clock.waitingTimers > 0);
		const ageMs = OLDEST_DUE_MS + clock.nowMs() - START_MS;
		const engineCounters = () => engine.counters;
		const metrics = makeMetrics({ clock, engineCounters });
		let checks = 0;
		const counted = {
			acceptsWrites() {
				checks++;
				return store.acceptsWrites();
			},
		};
		const health = createHealth({
			clock,
			readiness: createReadiness({ store: counted, clock, log }),
			network: createNetworkCache({ store, clock }, null),
			publicUrl: "https://ringback.example",
		});
		takeCounts();

		const startedMs = performance.now();
		const readings = Array.from({ length: READINGS }, () => metrics.answer());
		const answers = Array.from({ length: READINGS }, () => health.answerReady());
		deepEqual(new Set((await Promise.all(answers)).map(({ status }) => status)), new Set([200]));
		ok(performance.now() - startedMs < QUICK_MS, "readiness does not wait for the readings");
		for (const reading of await Promise.all(readings)) {
			const lines = (await reading.text()).split("\n");
			ok(lines.includes(`ringback_programmes_due ${PROGRAMMES}`));
			ok(lines.includes(`ringback_oldest_due_age_seconds ${ageMs / 1_000}`));
		}
		deepEqual(takeCounts(), { looks: 0, others: 0 }, "readings make no query");
		equal(checks, 1, "concurrent readiness requests share one query");

		await clock.moveBy(5_000);
		let looks = 0;
		const hasLooked = () => {
			looks += takeCounts().looks;
			return looks > 0;
		};
		await untilOnClock(clock, "the engine has read its slots", hasLooked, 1);
		equal(looks, 1, "the engine reads its slots once in five seconds, and readings do not change that");
	});
});

/** Wraps the store. `takeCounts` returns the number of queries since its last call. */
function countQueries(store: Store): {
	store: Store;
	takeCounts(): { looks: number; others: number };
} {
	const { db, queries } = recordQueries(store.db);
	let looks = 0;
	const queue: Store["queue"] = {
		...store.queue,
		readSlots(...look) {
			looks++;
			return store.queue.readSlots(...look);
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

/** Adds one due delivery for each programme. */
async function fillQueue({ db }: Store): Promise<void> {
	const numbers = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(PROGRAMMES)})`;
	const dueAtMs = sql`${sql.lit(START_MS - 1)} - case i when ${sql.lit(PROGRAMMES / 2)} then ${sql.lit(OLDEST_DUE_MS - 1)} else 0 end`;
	for (const insert of [
		sql`insert into programmes (id, public_id, name, currency, commission_rate, fee_rate, approval_days, parks_pixels,
			parked_days, created_at_ms) ${numbers} select i, 'prg_' || i, 'Shop', 'EUR', '1', '1', 30, 1, 30, 0 from n`,
		sql`insert into receivers (id, kind, programme_id) ${numbers} select i, 'shop', i from n`,
		sql`insert into events (id, public_id, receiver_id, conversion_id, name, body, created_at_ms)
			${numbers} select i, 'dlv_' || i, i, i, 'conversion.recorded', '{}', 0 from n`,
		sql`insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
			${numbers} select i, i, ${dueAtMs}, 0, 1, 0, 0 from n`,
	])
		await insert.execute(db);
}
