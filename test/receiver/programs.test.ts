// Tests the README's programs, run unchanged with the packed package, on this Node and in the frameworks that
// the install includes. test/receiver/runtimes covers the other runtimes and the large framework.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createClient } from "@ringback/receiver";
import { keepClick } from "@ringback/receiver/click";
import { createFakeService } from "@ringback/receiver/testing";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import pg from "pg";
import { sampleEvent } from "../../receiver/src/sample-delivery.test-support.ts";
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

describe("the README's recipes for PostgreSQL", () => {
	let pool: pg.Pool;
	let end: () => Promise<void>;

	before(async () => {
		const postgres = createPostgresAtHand();
		const { url, drop } = await postgres.createDatabase();
		pool = new pg.Pool({ connectionString: url });
		end = async () => {
			await pool.end();
			await drop();
			await postgres.stop();
		};
	});

	after(() => end());

	test("the table of callbacks stores each event once, also when it arrives twice at once, and lists open ones", async () => {
		const { openCallbackTable } = await importProgram("postgres-callbacks.mjs");
		const { insert, listOpen, markDone } = await openCallbackTable(pool);
		deepEqual((await Promise.all([insert(sampleEvent), insert(sampleEvent)])).sort(), ["seen", "stored"]);
		const others = [
			{ ...sampleEvent, event: "conversion.reversed" },
			{ ...sampleEvent, conversionId: "cnv_other" },
		];
		for (const other of others) equal(await insert(other), "stored");
		await markDone(others[0]);
		deepEqual(await listOpen(10), [sampleEvent, others[1]]);
		deepEqual(await listOpen(1), [sampleEvent]);
		await pool.query("DROP TABLE callbacks");
		await rejects(insert(sampleEvent), /callbacks/);
	});

	test("the outbox sends the calls of committed orders alone, and of two processes one sends", async (t) => {
		const { createPostgresOutbox } = await importProgram("postgres-outbox.mjs");
		const { service, client } = openFakeShop();
		const first = await createPostgresOutbox(pool, client);
		const second = await createPostgresOutbox(pool, client);
		t.after(() => Promise.all([first.stop(), second.stop()]));
		for (const [orderId, ending] of [
			["1001", "COMMIT"],
			["1002", "ROLLBACK"],
		]) {
			const transaction = await pool.connect();
			await transaction.query("BEGIN");
			await first.add(transaction, { call: "record", orderId, basketValue: "10.00", occurredAt: new Date() });
			await first.add(transaction, { call: "approve", orderId });
			await transaction.query(`${ending}`);
			transaction.release();
		}
		service.setOutage("no_answer");
		equal((await first.drain()).failed, 1);
		service.setOutage(null);
		deepEqual(await readOutbox(), [
			["open", 1, true],
			["open", 0, false],
		]);
		await pool.query("UPDATE outbox SET due_at_ms = 0");
		deepEqual(
			await second.drain(),
			{ done: 0, refused: 0, failed: 0, isPaused: false },
			"the other one sends",
		);
		await first.stop();
		// The database frees the lock a moment after the connection has been closed.
		await until(
			async () => (await second.drain()).done === 2,
			() => "the second process does not take over",
		);
		deepEqual(
			service.conversions().map(({ orderId, status }) => [orderId, status]),
			[["1001", "APPROVED"]],
		);
		deepEqual(
			(await readOutbox()).map(([state]) => state),
			["done", "done"],
		);
	});

	async function readOutbox(): Promise<unknown[][]> {
		const { rows } = await pool.query("SELECT state, attempts, detail FROM outbox ORDER BY id");
		return rows.map(({ state, attempts, detail }) => [state, attempts, detail !== null]);
	}
});

test("the README's outbox for SQLite sends the calls of committed orders alone, and keeps what is refused", async () => {
	const { createSqliteOutbox } = await importProgram("sqlite-outbox.mjs");
	const { service, client } = openFakeShop();
	const file = join(shop.folder, "shop.db");
	const database = new DatabaseSync(file);
	const outbox = createSqliteOutbox(database, client);
	for (const [orderId, ending] of [
		["1001", "COMMIT"],
		["1002", "ROLLBACK"],
	]) {
		database.exec("BEGIN");
		outbox.add({ call: "record", orderId, basketValue: "10.00", occurredAt: new Date() });
		outbox.add({ call: "refund", orderId, refundId: "R-1", amount: "10.01", reason: "RETURN" });
		database.exec(`${ending}`);
	}
	service.setOutage(503);
	equal((await outbox.drain()).failed, 1);
	await outbox.stop();
	database.close();

	// Another process continues with the same file.
	service.setOutage(null);
	const reopened = new DatabaseSync(file);
	const again = createSqliteOutbox(reopened, client);
	reopened.exec("UPDATE outbox SET due_at_ms = 0");
	deepEqual(await again.drain(), { done: 1, refused: 1, failed: 0, isPaused: false });
	const rows = reopened.prepare("SELECT state, detail FROM outbox ORDER BY id").all();
	deepEqual(
		rows.map(({ state }) => state),
		["done", "refused"],
	);
	match(String(rows[1]?.["detail"]), /10\.00 is left/);
	equal(service.conversions().length, 1);
	reopened.close();
});

test("the README's work keeps what the shop has if an event has an equal or lower rank", async () => {
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
	await rejects(work({ ...event, orderId: "unknown" }), /not stored yet/);
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
