import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetricsApp, createWorkerApp } from "#core/api/bare-app.ts";
import { openTestShop, read, START_MS } from "#core/api/test-shop.test-support.ts";
import { newCounters } from "#core/callbacks/counters.ts";
import type { ChoreRecord } from "#core/domain/chore.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import type { Clock } from "#core/ports.ts";
import { makeMetrics, SOUND_STATE } from "../test/support/metrics-deps.ts";
import { signedRequest } from "../test/support/signed-request.ts";
import { createApp } from "./app.ts";
import { createReadiness, type ReadinessDeps } from "./watch/readiness.ts";

const ABOUT = {
	version: "1.2.3",
	role: "all",
	schemaVersion: 4,
	startedAtMs: START_MS,
	engineCounters: null,
	state: () => SOUND_STATE,
};

const LATE: ChoreRecord = {
	name: "approvals",
	since_ms: START_MS - 900_000,
	last_success_ms: START_MS - 120_001,
	working_at_ms: START_MS - 1_000,
	last_failure_ms: START_MS - 1_000,
	failures: 3,
	error: "no room.",
};
const FINE: ChoreRecord = { ...LATE, name: "retention", failures: 0, last_failure_ms: null, error: null };
test("every answer carries the security headers", async (t) => {
	const shop = await openTestShop(t);
	const paths = ["/healthz", "/nowhere", "/v1/conversions", "/v1/nowhere", "/pixel/x.gif"];
	const answers = await Promise.all([
		...paths.map((path) => shop.request(path)),
		...["?limit=1", "/cnv_1"].map((rest) => shop.call("GET", `/v1/conversions${rest}`)),
		shop.call("POST", "/v1/conversions", { body: '{"orderId":"1","basketValue":"1.00"}' }),
		shop.request(signedRequest("GET", "/v1/events", shop.credentials, { nowMs: START_MS })),
	]);
	assert.deepEqual(
		answers.map(({ status }) => status),
		[200, 404, 401, 404, 200, 200, 404, 201, 200],
	);
	for (const { headers } of answers) {
		assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'.*frame-ancestors 'none'/);
		assert.doesNotMatch(headers.get("content-security-policy") ?? "", /unsafe/);
		assert.equal(headers.get("x-content-type-options"), "nosniff");
		assert.equal(headers.get("referrer-policy"), "no-referrer");
	}
});

test("a wrong method is refused with the allowed methods", async (t) => {
	const shop = await openTestShop(t);
	const cases = [
		["OPTIONS", "/v1/conversions", "GET, POST"],
		["HEAD", "/v1/conversions", "GET, POST"],
		["PUT", "/v1/conversions/cnv_1", "GET"],
		["HEAD", "/v1/reversals", "POST"],
		["POST", "/healthz", "GET, HEAD"],
		["DELETE", "/readyz", "GET, HEAD"],
	] as const;
	for (const [method, path, allow] of cases) {
		const response = await shop.request(path, { method });
		assert.deepEqual([response.status, response.headers.get("allow")], [405, allow], `${method} ${path}`);
		assert.equal(response.headers.get("content-type"), "application/problem+json");
	}
});

test("an unknown path is answered with a problem, and is not in the inbound log", async (t) => {
	const shop = await openTestShop(t);
	const { status, json } = await read(await shop.request("/wp-login.php"));
	assert.deepEqual([status, json.code, json.title], [404, "not_found", "Not found"]);
	assert.deepEqual(await shop.inbound(), []);
});

test("the type of a problem is the address of a page about its code", async (t) => {
	const shop = await openTestShop(t);
	const { json } = await read(await shop.request("/nowhere"));
	const { pathname } = new URL(String(json.type));
	const explained = await shop.request(pathname);
	assert.equal(explained.status, 200);
	assert.match(await explained.text(), /<h1>Not found<\/h1>/);
});

test("/healthz depends on the process only, and /readyz also on the database and the service", async (t) => {
	const shop = await openTestShop(t);
	assert.equal((await shop.request("/healthz")).status, 200);
	assert.equal((await shop.request("/healthz", { method: "HEAD" })).status, 200);
	assert.equal((await shop.request("/readyz")).status, 200);
	const stopping = createApp({ ...shop.deps, unready: () => "stopping" });
	assert.equal((await stopping.request("/healthz")).status, 200);
	const unready = await read(await stopping.request("/readyz"));
	assert.deepEqual([unready.status, unready.json.code], [503, "unavailable"]);
	assert.match(String(unready.json["detail"]), /^The service is stopping\. /);
	const { clock, log } = shop.deps;
	const readyWith = async (change: Partial<ReadinessDeps>) => {
		const readiness = createReadiness({ store: shop.store, clock, log, ...change });
		return (await createApp({ ...shop.deps, readiness }).request("/readyz")).status;
	};
	assert.equal(await readyWith({}), 200);
	const gone = { acceptsWrites: () => Promise.reject(new Error("the database is gone")) };
	assert.equal(await readyWith({ store: gone }), 503);
	assert.equal(await readyWith({ store: { acceptsWrites: async () => false } }), 503, "read-only");
	const atOnce: Clock["after"] = (_delayMs, run) => {
		run();
		return () => undefined;
	};
	assert.equal(await readyWith({ clock: { ...clock, after: atOnce } }), 503, "no answer in time");
});

test("the public health checks answer only yes or no, without details", async (t) => {
	const shop = await openTestShop(t);
	const outdated = createApp({ ...shop.deps, unready: () => ({ reason: "schema 99" }) });
	const { clock, log } = shop.deps;
	const gone = { acceptsWrites: () => Promise.reject(new Error("the database is gone")) };
	const readiness = createReadiness({ store: gone, clock, log });
	const withoutDatabase = createApp({ ...shop.deps, readiness });
	const answers: string[] = [];
	for (const app of [outdated, withoutDatabase]) answers.push(await (await app.request("/readyz")).text());
	assert.equal(answers[0], answers[1]);
	assert.match(answers[0] ?? "", /The service is not ready/);
	assert.equal(await (await shop.request("/healthz")).text(), '{"status":"ok"}');
	assert.equal(await (await shop.request("/readyz")).text(), '{"status":"ready"}');
});

test("readiness checks within a second share one query", async (t) => {
	const shop = await openTestShop(t);
	let asked = 0;
	const counted = {
		acceptsWrites() {
			asked++;
			return shop.store.acceptsWrites();
		},
	};
	const { clock, log } = shop.deps;
	const app = createWorkerApp({ ...shop.deps, readiness: createReadiness({ store: counted, clock, log }) });
	const answers = await Promise.all(Array.from({ length: 60 }, () => app.request("/readyz")));
	assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
	await app.request("/readyz");
	assert.equal(asked, 1);
	shop.moveClock(SECOND_MS);
	await app.request("/readyz");
	assert.equal(asked, 2, "a later one asks anew");
});

test("the metrics address shows what is wrong, the version and the queue", async (t) => {
	const shop = await openTestShop(t);
	const backlog = { receiversDue: 3, oldestDueAtMs: START_MS - 90_500 };
	const state = () => ({ ...SOUND_STATE, nowMs: START_MS, chores: [LATE] });
	const engineCounters = () => ({ ...newCounters(), inFlight: 5, waitingOrInFlight: 6, backlog });
	const ask = async (change: object) => {
		const app = createMetricsApp({ ...shop.deps, ...change }, { ...ABOUT, engineCounters, state });
		const answer = await app.request("/health");
		return { status: answer.status, details: (await answer.json()) as Record<string, unknown> };
	};
	const queue = {
		programmesDue: 3,
		oldestDueSeconds: 90.5,
		inFlight: 5,
		inHand: 6,
	};
	const process = {
		version: "1.2.3",
		role: "all",
		schemaVersion: 4,
		startedAt: "2026-03-01T12:00:00.000Z",
		queue,
		warnings: [
			{
				kind: "chore_late",
				about: "approvals",
				title: "Conversions that passed their approval window are not being approved",
				text: "The chore approvals has been late since 2026-03-01T11:59:59.999Z. It last succeeded at 2026-03-01T11:57:59.999Z and failed 3 times since. The last failure says: no room. See the log of the process.",
			},
		],
	};
	assert.deepEqual(await ask({}), {
		status: 200,
		details: { status: "ready", service: "running", database: "answers", ...process },
	});
	const stopping = { status: "not ready", service: "stopping", database: "answers" };
	assert.deepEqual(await ask({ unready: () => "stopping" }), {
		status: 503,
		details: { ...stopping, ...process },
	});
	assert.deepEqual(await ask({ unready: () => ({ reason: "schema 99" }) }), {
		status: 503,
		details: { ...stopping, service: "running", reason: "schema 99", ...process },
	});
	const { clock, log } = shop.deps;
	const gone = { acceptsWrites: () => Promise.reject(new Error("the database is gone")) };
	assert.deepEqual(await ask({ readiness: createReadiness({ store: gone, clock, log }) }), {
		status: 503,
		details: { status: "not ready", service: "running", database: "does not answer", ...process },
	});
	const web = await createMetricsApp(shop.deps, ABOUT).request("/health");
	assert.equal(((await web.json()) as { queue: unknown }).queue, null);
});

test("the metrics count inbound calls, the engine's work and due deliveries", async (t) => {
	const counters = newCounters();
	const shop = await openTestShop(t, {
		change: ({ clock }) => ({
			metrics: makeMetrics({
				clock,
				engineCounters: () => counters,
				state: () => ({ ...SOUND_STATE, nowMs: START_MS, chores: [LATE, FINE], clockOffsetMs: -2_500 }),
			}),
		}),
	});
	const numbers = createMetricsApp(shop.deps, ABOUT);
	const scrape = async (): Promise<string> => (await numbers.request("/metrics")).text();
	assert.match(await scrape(), /^ringback_oldest_due_age_seconds 0$/m);
	await shop.call("POST", "/v1/conversions", { body: { orderId: "A-1", basketValue: "1" } });
	await shop.request("/v1/conversions");
	await shop.request("/pixel/x.gif");
	counters.backlog = { receiversDue: 1, oldestDueAtMs: START_MS - 90_500 };
	counters.attemptsByVerdict.set("retry", 3);
	counters.finished.delivered = 2;
	counters.cancelled = 1;
	counters.lateResults = 4;
	counters.inFlight = 5;
	counters.waitingOrInFlight = 6;
	await scrape();
	const lines = (await scrape()).split("\n");
	for (const line of [
		'ringback_inbound_calls_total{kind="api",outcome="RECORDED"} 1',
		'ringback_inbound_calls_total{kind="api",outcome="missing_api_key"} 1',
		'ringback_inbound_calls_total{kind="pixel",outcome="unknown_programme"} 1',
		'ringback_attempts_total{verdict="retry"} 3',
		'ringback_deliveries_finished_total{state="delivered"} 2',
		'ringback_deliveries_finished_total{state="failed"} 0',
		'ringback_deliveries_finished_total{state="cancelled"} 1',
		"ringback_late_results_total 4",
		"ringback_in_flight 5",
		"ringback_clock_offset_seconds -2.5",
		"ringback_in_hand 6",
		"ringback_oldest_due_age_seconds 90.5",
		"ringback_programmes_due 1",
		`ringback_chore_last_success_timestamp_seconds{chore="approvals"} ${(START_MS - 120_001) / 1_000}`,
		'ringback_chore_failures_in_a_row{chore="approvals"} 3',
		'ringback_chore_late{chore="approvals"} 1',
		'ringback_chore_late{chore="retention"} 0',
		'ringback_warnings{check="chore_late"} 1',
		'ringback_warnings{check="backup_old"} 0',
	]) {
		assert.ok(lines.includes(line), line);
	}
});

test("a process without an engine has no engine metrics, and no metric queries the database", async (t) => {
	const shop = await openTestShop(t);
	const app = createMetricsApp(
		{ ...shop.deps, store: { ...shop.store, db: shop.store.db.withSchema("gone") } },
		ABOUT,
	);
	const text = await (await app.request("/metrics")).text();
	assert.match(text, /^ringback_schema_version 4$/m);
	assert.doesNotMatch(text, /ringback_attempts_total|ringback_oldest_due|ringback_programmes_due/);
});

test("the public addresses of a service and a worker have no metrics and no details", async (t) => {
	const shop = await openTestShop(t);
	const worker = createWorkerApp(shop.deps);
	for (const path of ["/metrics", "/health", "/metrics/"]) {
		for (const app of [createApp(shop.deps), worker]) {
			const answer = await app.request(path);
			assert.equal(answer.status, 404, path);
			assert.doesNotMatch(await answer.text(), /ringback_|resident|schemaVersion/);
		}
	}
	assert.deepEqual(await shop.inbound(), []);
});

test("a worker's public address answers health checks and no reports, and the metrics address answers neither", async (t) => {
	const shop = await openTestShop(t);
	const worker = createWorkerApp(shop.deps);
	const numbers = createMetricsApp(shop.deps, ABOUT);
	for (const path of ["/healthz", "/readyz"]) assert.equal((await worker.request(path)).status, 200);
	for (const path of ["/metrics", "/health"]) assert.equal((await numbers.request(path)).status, 200);
	assert.equal((await numbers.request("/metrics", { method: "POST" })).status, 405);
	for (const path of [
		"/",
		"/sign-in",
		"/v1/conversions",
		`/pixel/${shop.programme.public_id}.gif?orderId=A&basketValue=1`,
	]) {
		assert.equal((await worker.request(path)).status, 404);
		assert.equal((await numbers.request(path)).status, 404);
	}
	assert.deepEqual(await shop.inbound(), []);
});
