import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestShop, read } from "./api/test-shop.test-support.ts";
import { createApp, createOpsApp } from "./app.ts";
import { newCounters } from "./callbacks/counters.ts";

test("every answer carries the security headers", async (t) => {
	const shop = await openTestShop(t);
	const paths = ["/healthz", "/metrics", "/nowhere", "/v1/conversions", "/v1/nowhere", "/pixel/x.gif"];
	for (const path of paths) {
		const { headers } = await shop.request(path);
		assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'.*frame-ancestors 'none'/);
		assert.doesNotMatch(headers.get("content-security-policy") ?? "", /unsafe/);
		assert.equal(headers.get("x-content-type-options"), "nosniff");
		assert.equal(headers.get("referrer-policy"), "no-referrer");
	}
});

test("a wrong method is told what is allowed", async (t) => {
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

test("a stranger's path is a problem too, but not in the inbound log", async (t) => {
	const shop = await openTestShop(t);
	const { status, json } = await read(await shop.request("/wp-login.php"));
	assert.deepEqual([status, json.code, json.title], [404, "not_found", "Not found"]);
	assert.deepEqual(await shop.inbound(), []);
});

test("a problem's type leads to what its code means, and an unknown code to nothing", async (t) => {
	const shop = await openTestShop(t);
	const { json } = await read(await shop.request("/nowhere"));
	const { pathname } = new URL(String(json.type));
	const explained = await shop.request(pathname);
	assert.equal(explained.status, 200);
	assert.match(await explained.text(), /^Not found \(HTTP 404, code not_found\)/);
	for (const code of ["toString", "nonsense", "<script>"]) {
		assert.equal((await shop.request(`/problems/${encodeURIComponent(code)}`)).status, 404, code);
	}
});

test("health is the process's, readiness the database's and the service's", async (t) => {
	const shop = await openTestShop(t);
	assert.equal((await shop.request("/healthz")).status, 200);
	assert.equal((await shop.request("/healthz", { method: "HEAD" })).status, 200);
	assert.equal((await shop.request("/readyz")).status, 200);
	const stopping = createApp({ ...shop.deps, isReady: async () => false });
	assert.equal((await stopping.request("/healthz")).status, 200);
	const unready = await read(await stopping.request("/readyz"));
	assert.deepEqual([unready.status, unready.json.code], [503, "unavailable"]);
	const withoutDatabase = createApp({
		...shop.deps,
		store: { ...shop.store, db: shop.store.db.withSchema("gone") },
	});
	assert.equal((await withoutDatabase.request("/readyz")).status, 503);
	const late = createApp({
		...shop.deps,
		isReady: () => new Promise(() => undefined),
		clock: {
			...shop.deps.clock,
			after: (_delayMs, run) => {
				run();
				return () => undefined;
			},
		},
	});
	assert.equal((await late.request("/readyz")).status, 503);
});

test("the metrics count inbound calls, the engine's work and what is due", async (t) => {
	const counters = newCounters();
	const shop = await openTestShop(t, { change: () => ({ engineCounters: () => counters }) });
	const scrape = async (): Promise<string> => (await shop.request("/metrics")).text();
	assert.match(await scrape(), /^ringback_oldest_due_age_seconds 0$/m);
	await shop.call("POST", "/v1/conversions", { body: { orderId: "A-1", basketValue: "1" } });
	await shop.request("/v1/conversions");
	await shop.request("/pixel/x.gif");
	shop.moveClock(90_500);
	counters.attemptsByVerdict.set("retry", 3);
	counters.finished.delivered = 2;
	counters.cancelled = 1;
	counters.lateResults = 4;
	counters.inFlight = 5;
	counters.held = 6;
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
		"ringback_held 6",
		"ringback_oldest_due_age_seconds 90.5",
		"ringback_programmes_due 1",
	]) {
		assert.ok(lines.includes(line), line);
	}
});

test("without an engine there are no engine metrics, and without a database the rest still comes", async (t) => {
	const shop = await openTestShop(t);
	const queue = { ...shop.store.queue, agenda: () => Promise.reject(new Error("gone")) };
	const app = createApp({ ...shop.deps, store: { ...shop.store, queue } });
	const text = await (await app.request("/metrics")).text();
	assert.match(text, /^ringback_programmes_due Nan$/m);
	assert.match(text, /^process_resident_memory_bytes \d+$/m);
	assert.doesNotMatch(text, /ringback_attempts_total/);
});

test("a worker's app answers health and metrics and takes no reports", async (t) => {
	const shop = await openTestShop(t);
	const app = createOpsApp(shop.deps);
	for (const path of ["/healthz", "/readyz", "/metrics"]) {
		assert.equal((await app.request(path)).status, 200);
	}
	for (const path of [
		"/",
		"/v1/conversions",
		`/pixel/${shop.programme.public_id}.gif?orderId=A&basketValue=1`,
	]) {
		assert.equal((await app.request(path)).status, 404);
	}
	assert.deepEqual(await shop.inbound(), []);
});
