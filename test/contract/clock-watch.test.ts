// A running service notices when its clock and the database server's are apart, says so once, and says when it is over.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../src/ports.ts";
import { CLOCK_LOOK_INTERVAL_MS, watchClock } from "../../src/service/clock-watch.ts";
import { createLog } from "../support/log.ts";
import { openService } from "../support/open-service.ts";
import { createTestDatabase } from "../support/test-database.ts";
import { until } from "../support/until.ts";

test("at start and every minute the clock is held against PostgreSQL's", async (t) => {
	const database = await createTestDatabase("PostgreSQL");
	t.after(() => database.remove());
	const log = createLog();
	let shiftMs = 29_000;
	let looks: (() => void)[] = [];
	const clock: Clock = {
		nowMs: () => Date.now() + shiftMs,
		after(delayMs, run) {
			equal(delayMs, CLOCK_LOOK_INTERVAL_MS);
			looks.push(run);
			return () => undefined;
		},
		yieldLoop: async () => undefined,
	};
	const look = async () => {
		const [run, ...others] = looks;
		deepEqual(others, []);
		looks = [];
		run?.();
		await until(() => looks.length === 1);
	};
	const watch = await watchClock({ store: database.open(), clock, log });
	ok(watch.offsetMs !== null && watch.offsetMs > 28_000 && watch.offsetMs <= 29_000, `${watch.offsetMs}`);
	await look();
	equal(log.lines.length, 1, "said once");
	match(log.lines[0]?.message ?? "", /^This machine's clock is 2[89]\.\d s ahead .* set by NTP/);
	shiftMs = 0;
	await look();
	deepEqual(
		log.lines.map(({ level }) => level),
		["warn", "info"],
	);
	shiftMs = -3_000;
	await look();
	ok((watch.offsetMs ?? 0) < -2_000);
	match(log.lines[2]?.message ?? "", /s behind the database server's/);
	await watch.stop();
});

test("a service starts with it: the log and its metrics tell", async (t) => {
	const clock: Clock = {
		nowMs: () => Date.now() + 7_000,
		after(delayMs, run) {
			const timer = setTimeout(run, delayMs);
			return () => clearTimeout(timer);
		},
		yieldLoop: () => new Promise((resolve) => setImmediate(resolve)),
	};
	const settings = { RINGBACK_METRICS_ADDRESS: "127.0.0.1:0" };
	const { service, log, close } = await openService({ database: "PostgreSQL", clock, settings });
	t.after(close);
	const [warning, ...others] = log.lines.filter(({ message }) => message.includes("clock"));
	deepEqual(others, []);
	equal(warning?.level, "warn");
	const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
	match(metrics, /^ringback_clock_offset_seconds (?:6\.\d+|7)$/m);
});
