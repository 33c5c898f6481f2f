// Tests the README's programs, run unchanged with the packed package, on this Node and in the frameworks that
// the install includes. test/receiver/runtimes covers the other runtimes and the large framework.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createClient } from "@ringback/receiver";
import { keepClick } from "@ringback/receiver/click";
import { createOutbox } from "@ringback/receiver/outbox";
import { createFakeService, type FakeService } from "@ringback/receiver/testing";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import pg from "pg";
import { sampleEvent, sampleSecret } from "../../receiver/src/sample-delivery.test-support.ts";
import { startHttpServer } from "../support/http-server.ts";
import { createPostgresAtHand } from "../support/postgres.ts";
import { runProgram } from "../support/run-program.ts";
import { until } from "../support/until.ts";
import { checkTypes } from "./check-types.ts";
import { FRAMEWORK_CONSUMER } from "./consumer-programs.ts";
import { freshDelivery, SECRET, sendDelivery } from "./delivery-cases.ts";
import {
	checkBusyProgram,
	checkCommand,
	checkLastingStore,
	checkProgram,
	checkVectors,
	PATH,
	type ReceiverProgram,
} from "./program-cases.ts";
import { readPrograms } from "./readme-programs.ts";
import { checkSharedTable } from "./shared-table.ts";
import { ANNOUNCE, openShopFolder, type ShopFolder } from "./shop-folder.ts";
import { SHUTDOWNS, WAITING_WORK } from "./shutdowns.ts";
import { TRAPS } from "./traps.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

const THIS_NODE: ReceiverProgram = { title: "Node 26", command: process.execPath, program: "receiver.mjs" };
const SERVERS: readonly ReceiverProgram[] = [
	THIS_NODE,
	...["Express", "Fastify", "Hono"].map((title) => ({
		title,
		command: process.execPath,
		args: ["--import", ANNOUNCE],
		program: `${title.toLowerCase()}.mjs`,
	})),
];

let parent: string;
let shop: ShopFolder;

before(async () => {
	parent = mkdtempSync(join(tmpdir(), "ringback-programs-"));
	symlinkSync(MODULES, join(parent, "node_modules"));
	shop = await openShopFolder(parent);
});

after(async () => {
	await shop.close();
	rmSync(parent, { recursive: true });
});

describe("the README's receiver processes each valid event once, and nothing else", () => {
	for (const server of SERVERS) test(server.title, () => checkProgram(shop, server));
});

describe("work that blocks the thread forever does not delay the answer", () => {
	for (const server of SERVERS) test(server.title, () => checkBusyProgram(shop, server));
});

describe("deliveries that a framework changes before the receiver sees them", () => {
	for (const { title, source, path = PATH, status, log } of TRAPS) {
		test(title, async () => {
			writeFileSync(join(shop.folder, "trap.mjs"), source);
			const args = ["--import", ANNOUNCE, "trap.mjs"];
			const { program, origin } = await shop.listen(process.execPath, args, SECRET);
			equal(await sendDelivery(origin, freshDelivery({ path })), status);
			await program.said(log);
			await program.stop();
		});
	}
});

test("the README's receiver does not start without a secret, and says so", async () => {
	const program = shop.start(process.execPath, ["receiver.mjs"]);
	await program.said(/TypeError: secret is empty: give the programme's signing secret/);
	await program.stop();
});

test("the README's durable store answers 503 while it cannot write, and accepts the same request afterwards", () =>
	checkLastingStore(shop, THIS_NODE));

test("two processes with one SQLite file work on each event once, and on one event of a conversion at a time", async (t) => {
	const file = join(shop.folder, "shared.db");
	const database = new DatabaseSync(file, { timeout: 10_000 });
	t.after(() => database.close());
	const { openSqliteStore } = await importEntry("sqlite");
	const { callbacks } = openSqliteStore(database);
	const countOpen = database.prepare("SELECT count(*) AS count FROM ringback_callbacks WHERE done = 0");
	const listClaims = database.prepare("SELECT conversion_id FROM ringback_claims");
	await checkSharedTable(t, shop, {
		settings: { DATABASE_FILE: file },
		insert: (events) => events.forEach(callbacks.insert),
		countOpen: () => countOpen.get()?.["count"],
		listClaims: () => listClaims.all().map((row) => String(row["conversion_id"])),
		endClaims: () => database.exec("UPDATE ringback_claims SET until_ms = 0"),
	});
});

describe("the README's shop with PostgreSQL", () => {
	let url: string;
	let pool: pg.Pool;
	let end: () => Promise<void>;

	before(async () => {
		const postgres = createPostgresAtHand();
		const created = await postgres.createDatabase();
		const { drop } = created;
		url = created.url;
		pool = new pg.Pool({ connectionString: url });
		await pool.query("CREATE TABLE orders (id text PRIMARY KEY, total text NOT NULL)");
		end = async () => {
			await pool.end();
			await drop();
			await postgres.stop();
		};
	});

	after(() => end());

	test("two processes may start at once, and the table stores each event once and lists open ones", async () => {
		const { openPostgresStore } = await importEntry("postgres");
		const [{ callbacks }] = await Promise.all([openPostgresStore(pool), openPostgresStore(pool)]);
		const { insert, listOpen, markDone } = callbacks;
		deepEqual((await Promise.all([insert(sampleEvent), insert(sampleEvent)])).sort(), ["seen", "stored"]);
		const others = [
			{ ...sampleEvent, event: "conversion.reversed" },
			{ ...sampleEvent, conversionId: "cnv_other" },
		];
		for (const other of others) equal(await insert(other), "stored");
		await markDone(others[0]);
		deepEqual(await listOpen(10), [sampleEvent, others[1]]);
		deepEqual(await listOpen(1), [sampleEvent]);
	});

	test("two processes with one table work on each event once, and on one event of a conversion at a time", async (t) => {
		const { openPostgresStore } = await importEntry("postgres");
		const { callbacks } = await openPostgresStore(pool);
		await pool.query("DELETE FROM ringback_callbacks");
		await checkSharedTable(t, shop, {
			settings: { DATABASE_URL: url },
			insert: (events) => Promise.all(events.map(callbacks.insert)),
			countOpen: async () => (await callbacks.listOpen(100)).length,
			listClaims: async () =>
				(await pool.query("SELECT conversion_id FROM ringback_claims")).rows.map((row) => row.conversion_id),
			endClaims: () => pool.query("UPDATE ringback_claims SET until_at = '-infinity'"),
		});
	});

	test("a transaction is rolled back if its work fails, and its connection is free again", async () => {
		const { openPostgresStore, transaction } = await importEntry("postgres");
		const small = new pg.Pool({ ...pool.options, max: 1 });
		const { add } = await openPostgresStore(small);
		const fail = async (connection: pg.PoolClient) => {
			await add(connection, { call: "approve", orderId: "1003" });
			await connection.query("INSERT INTO orders (id) VALUES ('1003')");
		};
		await rejects(transaction(small, fail), /null value/);
		equal(await transaction(small, async () => "the only connection is free"), "the only connection is free");
		const nested = (connection: pg.PoolClient) => transaction(connection, fail);
		await rejects(transaction(small, nested), /must be a Pool of pg/);
		await small.end();
		deepEqual(await readOutbox(), []);
	});

	test("the outbox sends the calls of committed orders alone, and of two processes one sends", async (t) => {
		const { connectShop } = await importProgram("postgres-shop.mjs");
		const { service, client } = openFakeShop();
		const answers: unknown[] = [];
		const onAnswer = ({ orderId, status }: { orderId: string; status: string }) =>
			answers.push([orderId, status]);
		const options = { pool, client, secret: sampleSecret, onEvent: () => undefined, onAnswer };
		const first = await connectShop(options);
		const second = await connectShop(options);
		t.after(() => Promise.all([first.close(), second.close()]));
		await first.placeOrder({ id: "1001", total: "10.00" });
		await rejects(first.placeOrder({ id: "1001", total: "20.00" }), /duplicate key/);
		await rejects(first.placeOrder({ id: "1002", total: null }), /null value/);
		service.setOutage("no_answer");
		equal((await first.outbox.drain()).failed, 1);
		service.setOutage(null);
		deepEqual(await readOutbox(), [["open", 1, true]]);
		await pool.query("UPDATE ringback_outbox SET due_at_ms = 0");
		deepEqual(
			await second.outbox.drain(),
			{ done: 0, refused: 0, failed: 0, isPaused: false },
			"the other one sends",
		);
		await first.close();
		// The database frees the lock a moment after the connection has been closed.
		await until(
			async () => (await second.outbox.drain()).done === 1,
			() => "the second process does not take over",
		);
		deepEqual(answers, [["1001", "RECORDED"]]);
		deepEqual(await readOutbox(), [["done", 1, false]]);
	});

	test("a decision that is committed before the report of its sale waits for it", async (t) => {
		const { openPostgresStore } = await importEntry("postgres");
		const store = await openPostgresStore(pool, { tablePrefix: "two_connections" });
		const { service, client } = openFakeShop();
		let clockMs = Date.now();
		const outbox = createOutbox({ client, ...store.outbox, onProblem: () => undefined, now: () => clockMs });
		const [ordering, deciding] = [await pool.connect(), await pool.connect()];
		t.after(async () => {
			store.close();
			ordering.release();
			deciding.release();
		});
		const readStates = async () =>
			(await pool.query("SELECT state FROM two_connections_outbox ORDER BY id")).rows.map(
				({ state }) => state,
			);
		const drainLater = () => {
			clockMs += 5_000;
			return outbox.drain();
		};
		// The report has the lower id in one pair of transactions, and the higher one in the other.
		for (const orderId of ["2001", "2002"]) {
			const report = { call: "record", orderId, basketValue: "10.00" };
			await ordering.query("BEGIN");
			await deciding.query("BEGIN");
			if (orderId === "2001") await store.add(ordering, report);
			await store.add(deciding, { call: "approve", orderId });
			await deciding.query("COMMIT");
			equal((await outbox.drain()).failed, 1);
			if (orderId === "2002") await store.add(ordering, report);
			await ordering.query("COMMIT");
			equal((await outbox.drain()).done, 1);
			equal((await drainLater()).done, 1);
		}
		deepEqual(await readStates(), Array(4).fill("done"));
		deepEqual(
			service.conversions().map(({ orderId, status }) => [orderId, status]),
			[
				["2001", "APPROVED"],
				["2002", "APPROVED"],
			],
		);
	});

	test("a refused call is listed, and sent again as it is or corrected", async () => {
		const { openPostgresStore } = await importEntry("postgres");
		const store = await openPostgresStore(pool, { tablePrefix: "repairs" });
		const { service, client } = openFakeShop();
		const outbox = createOutbox({ client, ...store.outbox, onProblem: () => undefined });
		await store.add(pool, { call: "record", orderId: "1001", basketValue: "ten" });
		equal((await outbox.drain()).refused, 1);
		const [refused, ...others] = await store.refused(10);
		deepEqual([refused.call.basketValue, others], ["ten", []]);
		equal(await store.sendAgain(refused.id), true);
		equal((await outbox.drain()).refused, 1, "as it is");
		equal(await store.sendAgain(refused.id, { ...refused.call, basketValue: "10.00" }), true);
		equal(await store.sendAgain(refused.id), false, "it is open");
		equal((await outbox.drain()).done, 1);
		deepEqual([await store.refused(10), service.conversions()[0]?.basketValue], [[], "10.00"]);
		store.close();
	});

	async function readOutbox(): Promise<unknown[][]> {
		const { rows } = await pool.query("SELECT state, attempts, detail FROM ringback_outbox ORDER BY id");
		return rows.map(({ state, attempts, detail }) => [state, attempts, detail !== null]);
	}
});

test("the README's whole shop has at most 60 lines, reports sales with clicks and codes, and follows callbacks and refunds", async (t) => {
	const lines = readPrograms().get("shop.mjs")?.trimEnd().split("\n") ?? [];
	ok(lines.length > 40 && lines.length <= 60, `${lines.length} lines`);
	const widest = Math.max(...lines.map((line) => line.replaceAll("\t", "  ").length));
	ok(widest <= 110, `${widest} columns`);

	const service = createFakeService({ secret: sampleSecret });
	const url = await startHttpServer(t, forwardTo(service.clientOptions));
	const settings = { RINGBACK_URL: url, RINGBACK_API_KEY: service.clientOptions.apiKey, ...SECRET };
	const database = join(shop.folder, "whole-shop.db");
	const args = ["--import", ANNOUNCE, "shop.mjs"];
	const { program, origin } = await shop.listen(process.execPath, args, {
		...settings,
		DATABASE_FILE: database,
	});
	const post = async (path: string, body: object, cookie = "") => {
		const headers = { "content-type": "application/json", connection: "close", cookie };
		const answer = await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
		await answer.arrayBuffer();
		return answer.status;
	};
	const readOrder = async () =>
		(await (await fetch(`${origin}/orders/1001`)).json()) as { status: string; commission: string };
	const untilOrder = (status: string, commission: string) =>
		until(
			async () => {
				const order = await readOrder();
				return order.status === status && order.commission === commission;
			},
			() => `the order does not become ${status} with ${commission}:\n${program.output}`,
		);

	const landed = await fetch(`${origin}/?rbclick=AV1`);
	await landed.arrayBuffer();
	const cookie = landed.headers.getSetCookie()[0]?.split(";")[0] ?? "";
	equal(await post("/orders", { id: "1001", total: "100.00", couponCodes: ["A"] }, cookie), 201);
	await untilOrder("RECORDED", "8.00");
	const sent = service.calls().find(({ method }) => method === "POST")?.body;
	ok(JSON.stringify(sent).includes('"clickId":"AV1","couponCodes":["A"]'), JSON.stringify(sent));
	equal(await post("/orders", { id: "1001", total: "1.00" }), 500, "an order that cannot be stored");
	deepEqual(
		(await service.sendCallbacks(`${origin}/postback`)).map(({ status }) => status),
		[204],
		"a failed order leaves no transaction open",
	);
	equal(await post("/orders/1001/refund", { refundId: "R-1", amount: "25.00", reason: "RETURN" }), 202);
	await untilOrder("RECORDED", "6.00");
	service.decide("1001", { move: "approve" });
	await service.sendCallbacks(`${origin}/postback`);
	await untilOrder("APPROVED", "6.00");
	equal(await post("/orders/1001/reverse", { reason: "RETURN" }), 202);
	await until(
		async () => (await readOrder()).status === "REVERSED",
		() => program.output,
	);
	await program.stop();
});

test("the README's work keeps what the shop has if an event has an equal or lower rank, and skips tests", async (t) => {
	const { createWork } = await importProgram("work.mjs");
	const orders = new Map([["1001", { id: "1001", status: "APPROVED", commission: "0.40" }]]);
	const work = createWork(
		async (id: string) => orders.get(id),
		async (order: { id: string; status: string; commission: string }) => orders.set(order.id, order),
	);
	const event = { ...sampleEvent, orderId: "1001", commission: "0.80" };
	for (const status of ["RECORDED", "APPROVED"]) await work({ ...event, status });
	deepEqual(orders.get("1001"), { id: "1001", status: "APPROVED", commission: "0.40" });
	await work({ ...event, status: "REVERSED" });
	deepEqual(orders.get("1001"), { id: "1001", status: "REVERSED", commission: "0.80" });
	const warn = t.mock.method(console, "warn", () => undefined);
	await work({ ...event, orderId: "unknown" });
	equal(warn.mock.callCount(), 1, "an unknown order is logged and not tried again");
	await work({ ...event, status: "UNKNOWN", orderId: "test-1001", test: true });
	equal(warn.mock.callCount(), 1, "a test conversion is acknowledged and skipped");
});

test("the README's comparison names what differs, and its tests for a shop pass", async () => {
	const { compareBooks } = await importProgram("reconcile.mjs");
	const { client } = openFakeShop();
	await client.record({ orderId: "1001", basketValue: "10.00" });
	const orders = [{ orderId: "1001", basketValue: "10.00", status: "RECORDED" }];
	match(await compareBooks(client, orders, "2026-01-01"), /^\d{4}-/);
	// It rejects if the exit code is not 0.
	match(
		await runProgram(process.execPath, ["--test-reporter=tap", "shop.test.mjs"], shop.folder),
		/^# pass 2$/m,
	);
});

test("the README's program for click IDs keeps the last two of them", async () => {
	const { program, origin } = await shop.listen(process.execPath, ["click.mjs"], {});
	const landed = await fetch(`${origin}/?rbclick=AV2`, { headers: { cookie: "rbclick=AV1" } });
	equal(await landed.text(), "clickId: AV1.AV2\n");
	match(
		landed.headers.get("set-cookie") ?? "",
		/^rbclick=AV1\.AV2; Path=\/; Max-Age=2592000; HttpOnly; Secure/,
	);
	equal(await (await fetch(origin)).text(), "clickId: none\n");
	await program.stop();
});

test("the keeper of click IDs sets its cookie in each framework, beside a cookie of the shop", async (t) => {
	const keeper = keepClick();
	const shopCookie = "cart=1; Path=/";
	const expressApp = express();
	expressApp.use(keeper.node);
	expressApp.get("/", (request, response) => {
		response.append("Set-Cookie", shopCookie).send(keeper.read(request));
	});
	const origin = await startHttpServer(t, expressApp);
	const fastifyApp = Fastify();
	fastifyApp.addHook("onRequest", keeper.fastify);
	fastifyApp.get("/", (request, reply) => reply.header("Set-Cookie", shopCookie).send(keeper.read(request)));
	const honoApp = new Hono();
	honoApp.use(keeper.hono);
	honoApp.get("/", (c) => c.text(keeper.read(c.req.raw) ?? "none", 200, { "Set-Cookie": shopCookie }));

	const path = "/?rbclick=AV2";
	const headers = { cookie: "rbclick=AV1" };
	const injected = await fastifyApp.inject({ url: path, headers });
	const answers = [await fetch(origin + path, { headers }), await honoApp.request(path, { headers })];
	const told = await Promise.all(
		answers.map(async (answer) => [await answer.text(), answer.headers.getSetCookie()] as const),
	);
	for (const [text, cookies] of [
		...told,
		[injected.body, [injected.headers["set-cookie"] ?? []].flat()] as const,
	]) {
		equal(text, "AV1.AV2");
		deepEqual(cookies.map((cookie) => cookie.split(";")[0]).sort(), ["cart=1", "rbclick=AV1.AV2"]);
	}
	await fastifyApp.close();
});

/** Imports a program of the README with the packed package. */
function importProgram(name: string) {
	return import(pathToFileURL(join(shop.folder, name)).href);
}

/** Imports an entry of the packed package. */
function importEntry(name: string) {
	const file = join(shop.folder, `node_modules/@ringback/receiver/stores/${name}.js`);
	return import(pathToFileURL(file).href);
}

/** Returns a server that answers as the fake service does. */
function forwardTo({ url, fetch: answer }: FakeService["clientOptions"]): RequestListener {
	return async (request, response) => {
		const { method = "GET", url: path } = request;
		const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
			name,
			String(value),
		]);
		const body = method === "GET" ? null : await buffer(request);
		const answered = await answer(`${url}${path}`, {
			method,
			headers,
			body,
		});
		response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text());
	};
}

function openFakeShop() {
	const service = createFakeService();
	return { service, client: createClient({ ...service.clientOptions, retry: { maxAttempts: 1 } }) };
}

describe("a process that stops as the README says accepts nothing more, and ends when its work is done", () => {
	const readme = { title: "Express, in the README", source: readPrograms().get("shutdown.mjs") ?? "" };
	for (const { title, source } of [readme, ...SHUTDOWNS]) {
		test(title, async () => {
			const waiting = source.replace(/^function work\(event\) \{/m, WAITING_WORK);
			ok(waiting.includes(WAITING_WORK));
			writeFileSync(join(shop.folder, "ending.mjs"), waiting);
			const args = ["--import", ANNOUNCE, "ending.mjs"];
			const { program, origin } = await shop.listen(process.execPath, args, SECRET);
			equal(await sendDelivery(origin, freshDelivery({ path: PATH })), 204);
			await program.said(/^begun$/m);
			program.send("SIGTERM");
			await until(
				() => isUnreachable(origin),
				() => `it still takes requests:\n${program.output}`,
			);
			program.send("SIGUSR2");
			equal(await program.ended(), 0, program.output);
			match(program.output, /^conversion\.rejected for order A-1001/m);
		});
	}
});

function isUnreachable(origin: string): Promise<boolean> {
	return fetch(origin, { headers: { connection: "close" } }).then(
		() => false,
		() => true,
	);
}

test("the README's receiver for the edge passes its work to waitUntil", async () => {
	const worker = await import(pathToFileURL(join(shop.folder, "worker.mjs")).href);
	const { path, headers, rawBody } = freshDelivery();
	const request = new Request(`https://shop.example${path}`, { method: "POST", headers, body: `${rawBody}` });
	const waitedFor: Promise<unknown>[] = [];
	const context = { waitUntil: (promise: Promise<unknown>) => waitedFor.push(promise) };
	equal((await worker.default.fetch(request, SECRET, context)).status, 204);
	equal(waitedFor.length, 1);
	await Promise.all(waitedFor);
});

test("the README's shared nonces refuse a copied callback, and accept one again that could not be stored", async () => {
	const { createRedisNonces } = await import(pathToFileURL(join(shop.folder, "redis-nonces.mjs")).href);
	const kept = new Map<string, number>();
	const redis = {
		set: async (key: string, _: string, { NX, PX }: { NX: boolean; PX: number }) => {
			if (!NX || kept.has(key)) return null;
			kept.set(key, PX);
			return "OK";
		},
		del: async (key: string) => kept.delete(key),
	};
	const nonces = createRedisNonces(redis);
	equal(await nonces.remember("ab12", 301_000), true);
	equal(await nonces.remember("ab12", 301_000), false);
	deepEqual([...kept], [["ringback:nonce:ab12", 301_000]]);
	await nonces.forget("ab12");
	equal(await nonces.remember("ab12", 301_000), true);
});

test("the shared vectors verify, and no altered one does", () => checkVectors(shop, THIS_NODE));

test("the package's command starts by the name that a shop types", () => checkCommand(shop, THIS_NODE));

test("the adapters fit the frameworks' own types", async () => {
	const options = {
		module: "nodenext",
		moduleResolution: "nodenext",
		lib: ["es2022", "dom"],
		types: ["node"],
	};
	// The frameworks' own declarations are not checked.
	await checkTypes(shop.folder, { "frameworks.ts": FRAMEWORK_CONSUMER }, { ...options, skipLibCheck: true });
});
