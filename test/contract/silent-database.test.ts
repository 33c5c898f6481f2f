// Tests a PostgreSQL server that stops answering. Every caller is answered within five seconds, and calls are
// accepted again when the server is back. The tests use real time, because the driver enforces the limits on
// connections and statements.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { sql } from "kysely";
import { SECOND_MS } from "#core/domain/time.ts";
import { Browser, PASSWORD } from "#core/web/test-site.test-support.ts";
import { prepareService } from "../support/open-service.ts";
import { openAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";
import { watchStalls } from "../support/stalls.ts";
import { until } from "../support/until.ts";
import { type Freeze, openFreezableLine } from "./silent-line.ts";

/** Maximum time until a caller is answered, as docs/operations/postgresql.md promises. */
const ANSWERED_WITHIN_MS = 5_000;
const FLOOD = 200;
/** Time between two rounds with a call of each kind. */
const ROUND_MS = 250;
/** Round trip to a PostgreSQL on another continent, in a network that loses packets. */
const SLOW_ROUND_TRIP_MS = 300;
/** Number of sales: 25 a second for five seconds. */
const SLOW_SALES = 125;
const SLOW_INTERVAL_MS = 40;
const EMAIL = "first@network.example";

const WAYS: Readonly<Record<Freeze, string>> = {
	hold: "a PostgreSQL that is frozen",
	lose: "a PostgreSQL whose connections are all lost silently",
};

for (const [way, what] of Object.entries(WAYS)) {
	test(`${what} costs every caller five seconds at most, and is used again when it is back`, async (t) => {
		const { line, shop, staff, url, storedOrders } = await openSite(t);
		const calls = {
			sale: () => shop.post("/v1/conversions", sale("frozen")),
			approval: () => shop.post("/v1/approvals", { orderId: "before" }),
			"bulk call": () => shop.post("/v1/conversions/batch", { items: [sale("one"), sale("two")] }),
			list: () => shop.get("/v1/conversions"),
			pixel: () => shop.openPixel("pixel"),
			page: () => staff.open("/programmes"),
			"sign-in": () => staff.submit("/sign-in", { email: EMAIL, password: PASSWORD }),
			readiness: () => fetch(`${url}/readyz`),
		};
		const stalls = watchStalls();
		t.after(() => stalls.stop());
		const told: Told[] = [];
		let frozenAtMs = 0;
		const ask = async (kind: string, call: () => Promise<Pick<Told, "status">>) => {
			const sinceMs = performance.now();
			const { status } = await call();
			// The readiness check may still return a result that is a second old.
			if (kind === "readiness" && sinceMs - frozenAtMs < SECOND_MS) return;
			told.push({ kind, status, tookMs: performance.now() - sinceMs });
		};
		const askAll = () => Object.entries(calls).map(([kind, call]) => ask(kind, call));

		equal((await shop.post("/v1/conversions", sale("before"))).status, 201);
		line.freeze(way === "hold" ? "hold" : "lose");
		frozenAtMs = performance.now();
		// The test sends many calls at once, some more while those wait, and some after they were answered.
		const flood = Array.from({ length: FLOOD }, (_, n) =>
			ask("flood", () => shop.post("/v1/conversions", sale(`flood-${n}`))),
		);
		const asked = askAll();
		while ((await Promise.race([Promise.all(flood), wait(ROUND_MS)])) === undefined) asked.push(...askAll());
		await Promise.all([...asked, ...askAll()]);
		// Time in which the machine itself stalled is subtracted.
		deepEqual(
			told.filter(({ tookMs }) => tookMs > ANSWERED_WITHIN_MS + stalls.longestMs),
			[],
		);
		const wrong = told.filter(({ kind, status }) => status !== (kind === "pixel" ? 200 : 503));
		deepEqual(wrong, []);
		match((await staff.open("/programmes")).text, /One moment, please/);

		line.thaw();
		const thawedAtMs = performance.now();
		while ((await shop.post("/v1/conversions", sale("after"))).status !== 201) await wait(ROUND_MS);
		const tookMs = performance.now() - thawedAtMs;
		ok(tookMs < ANSWERED_WITHIN_MS + stalls.longestMs, `calls were accepted again after ${tookMs} ms`);
		equal((await staff.open("/programmes")).status, 200);
		await until(async () => (await fetch(`${url}/readyz`)).status === 200);
		// No other call had reached its commit before the connection was frozen.
		deepEqual(await storedOrders(), ["after", "before"]);
	});
}

test("a PostgreSQL with a round trip of 300 ms costs every caller five seconds at most, and a repeated sale is stored once", async (t) => {
	const { line, shop, storedOrders } = await openSite(t);
	equal((await shop.post("/v1/conversions", sale("before"))).status, 201);
	const stalls = watchStalls();
	t.after(() => stalls.stop());
	line.slowDown(SLOW_ROUND_TRIP_MS);
	const told: Told[] = [];
	const ask = async (kind: string, call: () => Promise<Pick<Told, "status">>) => {
		const sinceMs = performance.now();
		const { status } = await call();
		told.push({ kind, status, tookMs: performance.now() - sinceMs });
	};
	const asked: Promise<void>[] = [];
	for (let n = 0; n < SLOW_SALES; n++) {
		asked.push(ask("sale", () => shop.post("/v1/conversions", sale(`slow-${n}`))));
		if (n % 10 === 0) asked.push(ask("pixel", () => shop.openPixel(`pixel-${n}`)));
		if (n % 10 === 5) asked.push(ask("list", () => shop.get("/v1/conversions")));
		await wait(SLOW_INTERVAL_MS);
	}
	await Promise.all(asked);
	deepEqual(
		told.filter(({ tookMs }) => tookMs > ANSWERED_WITHIN_MS + stalls.longestMs),
		[],
	);
	const statuses = new Set(told.map(({ status }) => status));
	deepEqual(statuses.difference(new Set([200, 201, 503])), new Set());

	line.slowDown(0);
	for (let n = 0; n < SLOW_SALES; n++) {
		const repeated = () => shop.post("/v1/conversions", sale(`slow-${n}`));
		await until(async () => (await repeated()).ok);
	}
	const orders = (await storedOrders()).filter((order) => order.startsWith("slow-"));
	equal(orders.length, SLOW_SALES);
	equal(new Set(orders).size, SLOW_SALES);
});

test("a PostgreSQL that answers but stores nothing makes the process unready until a call is stored again", async (t) => {
	const { shop, url, db } = await openSite(t);
	const isReady = async () => (await fetch(`${url}/readyz`)).ok;
	const report = async (orderId: string) => (await shop.post("/v1/conversions", sale(orderId))).status;
	equal(await report("before"), 201);
	// The trigger refuses every insert, like a database with a full disk.
	await sql`create function refuse() returns trigger as $$
		begin raise exception 'could not extend file' using errcode = '53100'; end $$ language plpgsql`.execute(
		db,
	);
	await sql`create trigger full_disk before insert on conversions execute function refuse()`.execute(db);
	for (const [order, ready] of [true, true, false, false].entries()) {
		equal(await report(`full-${order}`), 503);
		equal(await isReady(), ready, `after ${order + 1}`);
	}
	await sql`drop trigger full_disk on conversions`.execute(db);
	equal(await isReady(), false, "no call has been stored yet");
	equal(await report("after"), 201);
	equal(await isReady(), true);
});

interface Told {
	kind: string;
	status: number;
	tookMs: number;
}

const sale = (orderId: string) => ({ orderId, basketValue: "10.00" });

/** Starts a service whose connection to the database can be frozen, with a shop and signed-in staff. */
async function openSite(t: TestContext) {
	const opened = await prepareService({ database: "PostgreSQL" });
	const line = await openFreezableLine(opened.database.url);
	t.after(async () => {
		line.thaw();
		await opened.stop();
		await line.close();
		await opened.close();
	});
	// The whole flood comes from 127.0.0.1, so this address is configured as a trusted proxy.
	const settings = { DATABASE_URL: line.url, RINGBACK_TRUSTED_PROXIES: "127.0.0.1" };
	const service = await opened.start(settings);
	const { url } = service;
	const { apiKey: key, secret, programmeId } = await openAccount(service);
	const send = async (method: string, path: string, body?: string) => {
		const init = body === undefined ? {} : { body };
		const { headers } = signedRequest(method, path, { key, secret }, { nowMs: Date.now(), ...init });
		return fetch(url + path, { method, headers, ...init });
	};
	const shop = {
		post: (path: string, body: object) => send("POST", path, JSON.stringify(body)),
		get: (path: string) => send("GET", path),
		openPixel: (orderId: string) => fetch(`${url}/pixel/${programmeId}.gif?orderId=${orderId}&basketValue=1`),
	};
	const staff = new Browser((path, init) => fetch(url + path, { ...init, redirect: "manual" }));
	const { pathname: welcome } = new URL(service.welcomeLink ?? "");
	await staff.open(welcome);
	equal((await staff.submit(welcome, { email: EMAIL, name: "First", password: PASSWORD })).status, 303);
	equal((await staff.open("/programmes")).status, 200);
	const { db } = opened.database.open();
	const storedOrders = async () => {
		const rows = db.selectFrom("conversions").select("order_id");
		return (await rows.orderBy("order_id").execute()).map(({ order_id }) => order_id);
	};
	return { line, shop, staff, url, db, storedOrders };
}
