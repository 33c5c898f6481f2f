// Tests a PostgreSQL server that answers but refuses writes, as after an incomplete failover, or when a
// hosted database has no space left. The server belongs to this file alone, because the setting applies to
// all its databases.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { prepareService } from "../support/open-service.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { openAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";

/**
 * Time within which a process is ready again once the database accepts writes. The database must answer for two
 * seconds of this time, and the rest is for a busy machine. The failed calls of before must no longer count by then,
 * although that would normally take ten seconds.
 */
const READY_WITHIN_MS = 7_000;

let server: PostgresServer | undefined;

before(async () => {
	server = await startPostgres({ settings: { fsync: "off" } });
});
after(() => server?.stop());

test("while PostgreSQL is read-only, calls get a 503 and the process is not ready, and it recovers by itself", async (t) => {
	if (server === undefined) throw new Error("the server exists from the first test on");
	const admin = new pg.Client({ connectionString: server.url() });
	await admin.connect();
	const opened = await prepareService({ database: "SQLite" });
	t.after(async () => {
		await opened.close();
		await admin.end();
	});
	const service = await opened.start({
		DATABASE_URL: await server.createDatabase("ringback"),
		RINGBACK_METRICS_ADDRESS: "127.0.0.1:0",
	});
	const { url } = service;
	const { apiKey: key, secret } = await openAccount(service);
	const call = async (method: string, path: string, sent?: object) => {
		const init = sent === undefined ? {} : { body: JSON.stringify(sent) };
		const { headers } = signedRequest(method, path, { key, secret }, { nowMs: Date.now(), ...init });
		const response = await fetch(url + path, { method, headers, ...init });
		const { code } = (await response.json()) as { code?: string };
		return { status: response.status, code, retryAfter: response.headers.get("retry-after") };
	};
	const report = (orderId: string) => call("POST", "/v1/conversions", { orderId, basketValue: "10.00" });
	const readiness = async () => (await fetch(`${url}/readyz`)).status;
	const operatorReads = async (path: string) => (await fetch(`${service.metricsUrl}${path}`)).text();

	equal((await report("before")).status, 201);
	equal(await readiness(), 200);
	match(await operatorReads("/metrics"), /^ringback_ready 1$/m);

	await admin.query("alter system set default_transaction_read_only = on");
	await admin.query("select pg_reload_conf()");
	// No call has failed yet, so the readiness check notices the read-only database by itself.
	await until(async () => (await readiness()) === 503);
	await until(async () => /^ringback_ready 0$/m.test(await operatorReads("/metrics")));
	match(await operatorReads("/health"), /"database":"is read-only"/);
	const refused = { status: 503, code: "unavailable", retryAfter: "5" };
	// After three calls that cannot be stored, the process would also be unready for another reason.
	for (let call = 0; call < 3; call++) deepEqual(await report("meanwhile"), refused);
	deepEqual(await call("POST", "/v1/approvals", { orderId: "before" }), refused);
	deepEqual(await call("GET", "/v1/conversions"), refused);
	equal((await fetch(`${url}/healthz`)).status, 200, "the process is alive");

	await admin.query("alter system reset default_transaction_read_only");
	await admin.query("select pg_reload_conf()");
	const writableAtMs = performance.now();
	await until(async () => (await readiness()) === 200);
	const tookMs = performance.now() - writableAtMs;
	t.diagnostic(`ready ${Math.round(tookMs)} ms after the database accepted writes`);
	ok(tookMs < READY_WITHIN_MS, `it was ready after ${Math.round(tookMs)} ms`);
	await until(async () => /^ringback_ready 1$/m.test(await operatorReads("/metrics")));
	equal((await report("after")).status, 201);
	const rows = await service.store.db.selectFrom("conversions").select("order_id").orderBy("id").execute();
	deepEqual(
		rows.map(({ order_id }) => order_id),
		["before", "after"],
	);
});
