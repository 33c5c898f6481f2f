// Tests two PostgreSQL servers, a primary and its standby. The service uses the server that accepts writes,
// whichever host it is, and continues by itself after a failover.

import { deepEqual, equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { Service } from "../../src/service.ts";
import { GUIDE_BLOCKS } from "../support/guide-blocks.ts";
import { prepareService } from "../support/open-service.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { openAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";
import { openFreezableLine } from "./silent-line.ts";

const NAME = "ringback";
const RETRY_MS = 100;
/** Key that all processes of an installation share. */
const SECRET_KEY = "ab".repeat(32);
/**
 * Time within which every process is ready after the promotion. Two seconds of it are the time for which the database
 * must answer, and most of the rest is for a busy machine.
 */
const READY_WITHIN_MS = 7_000;
const SETTINGS = { fsync: "off" };

test("with several hosts the primary is found, and after a failover the promoted standby is used", async (t) => {
	const { primary, standby } = await startPair(t);
	// This is the connection URL of the guide, with the hosts and the account of the test's servers.
	const { host, username, password } = new URL(primary.url());
	const inGuide = GUIDE_BLOCKS.filter(({ file }) => file === "docs/operations/failover.md")
		.map(({ text }) => /^DATABASE_URL=(.*target_session_attrs.*)$/m.exec(text)?.[1])
		.find((address) => address !== undefined);
	const address = (inGuide ?? "")
		.replace("ringback:change-me@", `${username}:${password}@`)
		.replace("one.example:5432", new URL(standby.url()).host)
		.replace("two.example:5432", host);
	const service = await start(t, { DATABASE_URL: address });
	const shop = await openShop(service);
	equal(await shop.report("before"), 201);
	deepEqual(await listListeners(primary), ["ringback-all-listen"]);
	await until(async () => (await readOrders(standby)).includes("before"));
	const web = await start(t, { DATABASE_URL: address, RINGBACK_ROLE: "web" });
	const readiness = async ({ url }: Service) => (await fetch(`${url}/readyz`)).status;

	await primary.stop();
	// A load balancer sends calls until it knows that the processes are unready, and none after that.
	for (const { url } of [service, web]) {
		for (let call = 0; call < 3; call++) equal(await shop.report("meanwhile", url), 503);
	}
	await until(async () => (await readiness(service)) === 503 && (await readiness(web)) === 503);
	await query(standby, "select pg_promote()");
	const promotedAtMs = performance.now();
	await Promise.all(
		[service, web].map(async (process) => {
			await until(async () => (await readiness(process)) === 200);
			const tookMs = Math.round(performance.now() - promotedAtMs);
			t.diagnostic(`ready ${tookMs} ms after the promotion`);
			ok(tookMs < READY_WITHIN_MS, `it was ready after ${tookMs} ms`);
		}),
	);
	while ((await shop.report("after")) !== 201) await wait(RETRY_MS);
	deepEqual(await readOrders(standby), ["after", "before"]);
	await until(async () => (await listListeners(standby)).length === 1);
});

test("a process without an engine finds a standby that is promoted long after the primary fell silent", async (t) => {
	const { primary, standby } = await startPair(t);
	const line = await openFreezableLine(primary.url(NAME));
	t.after(() => line.close());
	const { username, password } = new URL(primary.url());
	const hosts = [line.url, standby.url()].map((url) => new URL(url).host).join(",");
	const address = `postgres://${username}:${password}@${hosts}/${NAME}?target_session_attrs=read-write`;
	// The process has no engine, because only an engine keeps a connection on which it looks for another server by
	// itself.
	const service = await start(t, { DATABASE_URL: address, RINGBACK_ROLE: "web" });
	const shop = await openShop(service);
	equal(await shop.report("before"), 201);
	await until(async () => (await readOrders(standby)).includes("before"));

	line.freeze("lose");
	await until(async () => (await shop.report("meanwhile")) === 503);
	// When the primary stopped answering, the process looked for another server, which takes two seconds at most.
	await query(standby, "select pg_sleep(3)");
	await query(standby, "select pg_promote()");
	while ((await shop.report("after")) !== 201) await wait(RETRY_MS);
	ok((await readOrders(standby)).includes("after"));
});

test("an address that leads to a standby counts as unavailable, and is used again once it leads to the primary, without a cut connection", async (t) => {
	const { primary, standby } = await startPair(t);
	const line = await openFreezableLine(primary.url(NAME));
	t.after(() => line.close());
	const service = await start(t, { DATABASE_URL: line.url });
	const shop = await openShop(service);
	const readiness = async () => (await fetch(`${service.url}/readyz`)).status;
	equal(await shop.report("before"), 201);
	await until(async () => (await readOrders(standby)).includes("before"));

	line.leadTo(standby.url(NAME), { isCut: true });
	await until(async () => (await readiness()) === 503);
	equal(await shop.report("meanwhile"), 503);
	line.leadTo(primary.url(NAME), { isCut: false });
	while ((await shop.report("after")) !== 201) await wait(RETRY_MS);
	await until(async () => (await readiness()) === 200);
	ok((await readOrders(primary)).includes("after"));
});

async function startPair(t: TestContext): Promise<{ primary: PostgresServer; standby: PostgresServer }> {
	const primary = await startPostgres({ settings: SETTINGS });
	t.after(() => primary.stop());
	await primary.createDatabase(NAME);
	const standby = await startPostgres({ settings: SETTINGS, standbyOf: primary });
	t.after(() => standby.stop());
	return { primary, standby };
}

async function start(
	t: TestContext,
	settings: { DATABASE_URL: string; RINGBACK_ROLE?: string },
): Promise<Service> {
	const opened = await prepareService({ database: "SQLite" });
	t.after(() => opened.close());
	return opened.start({ RINGBACK_SECRET_KEY: SECRET_KEY, ...settings });
}

async function openShop(service: Service) {
	const { apiKey: key, secret } = await openAccount(service);
	return {
		/** Reports a sale, to the service or to another process of the installation. */
		async report(orderId: string, url = service.url): Promise<number> {
			const path = "/v1/conversions";
			const body = JSON.stringify({ orderId, basketValue: "10.00" });
			const { headers } = signedRequest("POST", path, { key, secret }, { nowMs: Date.now(), body });
			return (await fetch(url + path, { method: "POST", headers, body })).status;
		},
	};
}

async function query<Row extends object>(server: PostgresServer, text: string): Promise<Row[]> {
	const client = new pg.Client({ connectionString: server.url(NAME) });
	await client.connect();
	try {
		return (await client.query<Row>(text)).rows;
	} finally {
		await client.end();
	}
}

/** Returns the orders that are stored on the server. A standby may not have the tables yet. */
async function readOrders(server: PostgresServer): Promise<string[]> {
	const [found] = await query<{ exists: boolean }>(
		server,
		"select to_regclass('conversions') is not null as exists",
	);
	if (found?.exists !== true) return [];
	const rows = await query<{ order_id: string }>(server, "select order_id from conversions order by 1");
	return rows.map(({ order_id }) => order_id);
}

async function listListeners(server: PostgresServer): Promise<string[]> {
	const rows = await query<{ name: string }>(
		server,
		"select application_name as name from pg_stat_activity where application_name like '%-listen'",
	);
	return rows.map(({ name }) => name);
}
