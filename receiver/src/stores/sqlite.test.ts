import { deepEqual, equal, throws } from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { createClient } from "../client/create-client.ts";
import { createDurableReceiver } from "../durable/create-durable-receiver.ts";
import { createOutbox } from "../outbox/create-outbox.ts";
import { createFakeService, exampleEvent, signCallback } from "../testing/testing.ts";
import { openSqliteStore, type SqliteDatabase, transaction } from "./sqlite.ts";

const sale = { call: "record", orderId: "1001", basketValue: "10.00" } as const;

/**
 * Opens a shop's database file with a table of orders. `reopen` opens the file as another process would after
 * a crash.
 */
function openShop(t: TestContext) {
	const folder = mkdtempSync(join(tmpdir(), "ringback-sqlite-store-"));
	const file = join(folder, "shop.db");
	const handles: DatabaseSync[] = [];
	const reopen = () => {
		const handle = new DatabaseSync(file);
		handles.push(handle);
		return handle;
	};
	t.after(() => {
		for (const handle of handles) handle.close();
		rmSync(folder, { recursive: true });
	});
	const database = reopen();
	database.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, total TEXT NOT NULL)");
	return { database, reopen };
}

function count(database: DatabaseSync, table: string): unknown {
	return database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.["rows"];
}

test("a callback that arrives while a transaction was left open is answered 503, and stored when it comes again", async (t) => {
	const { database, reopen } = openShop(t);
	const store = openSqliteStore(database);
	const service = createFakeService();
	const { secret } = service.clientOptions;
	const errors: string[] = [];
	const receiver = createDurableReceiver({
		secret,
		...store.callbacks,
		onEvent: () => undefined,
		onError: (error) => errors.push(String(error)),
	});
	t.after(() => receiver.close());
	const send = async () => {
		const { answer, finish } = await receiver.receive(await signCallback(exampleEvent(), { secret }));
		await finish?.();
		return answer.status;
	};
	// The shop's own code forgets the ROLLBACK.
	database.exec("BEGIN");
	throws(() => database.exec("INSERT INTO orders (id) VALUES ('1001')"), /NOT NULL/);
	equal(await send(), 503);
	deepEqual([errors.length, /already open on this database handle/.test(`${errors[0]}`)], [1, true]);
	equal(count(reopen(), "ringback_callbacks"), 0);
	database.exec("ROLLBACK");
	equal(await send(), 204);
	equal(count(reopen(), "ringback_callbacks"), 1);
	equal(await send(), 204);
	deepEqual(await store.callbacks.listOpen(10), []);
});

test("an open transaction also refuses a callback with a driver that does not say whether one is open", async (t) => {
	const { database } = openShop(t);
	const driver: SqliteDatabase = {
		exec: (text) => database.exec(text),
		prepare: (text) => database.prepare(text),
	};
	const { callbacks } = openSqliteStore(driver);
	database.exec("BEGIN");
	throws(() => callbacks.insert(exampleEvent()), /cannot start a transaction within a transaction/);
	database.exec("COMMIT");
	deepEqual(
		[await callbacks.insert(exampleEvent()), await callbacks.insert(exampleEvent())],
		["stored", "seen"],
	);
	throws(() => transaction({ ...driver, inTransaction: true }, () => undefined), /already open/);
});

test("a transaction whose work fails is rolled back with its calls, and the next one succeeds", (t) => {
	const { database } = openShop(t);
	const store = openSqliteStore(database);
	const placeOrder = (total: string | null) =>
		transaction(database, () => {
			store.add(sale);
			return database.prepare("INSERT INTO orders (id, total) VALUES ('1001', ?)").run(total).changes;
		});
	throws(() => placeOrder(null), /NOT NULL/);
	equal(database.isTransaction, false);
	deepEqual([count(database, "orders"), count(database, "ringback_outbox")], [0, 0]);
	equal(placeOrder("10.00"), 1);
	deepEqual([count(database, "orders"), count(database, "ringback_outbox")], [1, 1]);
});

test("a transaction inside another one is refused, and so is asynchronous work", (t) => {
	const { database } = openShop(t);
	const inner = () => transaction(database, () => "inner");
	throws(() => transaction(database, inner), /already open on this database handle/);
	throws(() => transaction(database, async () => "later"), /must not be asynchronous/);
	equal(database.isTransaction, false);
});

test("the outbox sends stored calls in their order, and the shop gets each answer before the call is done", async (t) => {
	const { database, reopen } = openShop(t);
	const service = createFakeService();
	const client = createClient({ ...service.clientOptions, retry: { maxAttempts: 1 } });
	const answers: unknown[] = [];
	const store = openSqliteStore(database, {
		onAnswer({ orderId, status, basketValue }) {
			const open = reopen()
				.prepare("SELECT count(*) AS rows FROM ringback_outbox WHERE state = 'open'")
				.get();
			answers.push([orderId, status, basketValue, open?.["rows"]]);
		},
	});
	const outbox = createOutbox({ client, ...store.outbox, onProblem: () => undefined });
	store.add(sale);
	store.add({ call: "refund", orderId: "1001", refundId: "R-1", amount: "4.00", reason: "RETURN" });
	store.add({ call: "refund", orderId: "1001", refundId: "R-2", amount: "7.00", reason: "RETURN" });
	database.exec("INSERT INTO ringback_outbox (call) VALUES ('{')");
	service.setOutage(503);
	// The damaged row is refused without a request.
	deepEqual(await outbox.drain(), { done: 0, refused: 1, failed: 1, isPaused: false });
	database.exec("UPDATE ringback_outbox SET due_at_ms = 0");
	service.setOutage(null);
	deepEqual(await outbox.drain(), { done: 2, refused: 1, failed: 0, isPaused: false });
	deepEqual(answers, [
		["1001", "RECORDED", "10.00", 3],
		["1001", "RECORDED", "6.00", 2],
	]);
	const rows = database.prepare("SELECT state, attempts, detail FROM ringback_outbox ORDER BY id").all();
	deepEqual(
		rows.map(({ state, attempts, detail }) => [state, attempts, detail !== null]),
		[
			["done", 1, false],
			["done", 0, false],
			["refused", 0, true],
			["refused", 0, true],
		],
	);
});

test("the tables of a shop that opened them before claims existed get what is missing, and their open events are worked on", async (t) => {
	const { database, reopen } = openShop(t);
	database.exec(`CREATE TABLE ringback_callbacks (
		id INTEGER PRIMARY KEY AUTOINCREMENT, conversion_id TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
		done INTEGER NOT NULL DEFAULT 0, UNIQUE (conversion_id, event))`);
	const event = exampleEvent();
	const insert = database.prepare(
		"INSERT INTO ringback_callbacks (conversion_id, event, body) VALUES (?, ?, ?)",
	);
	insert.run(event.conversionId, event.event, JSON.stringify(event));
	const worked: string[] = [];
	const receiver = createDurableReceiver({
		secret: "rbs_shop",
		...openSqliteStore(database).callbacks,
		onEvent: ({ orderId }) => worked.push(orderId),
	});
	await receiver.sweep();
	await receiver.close();
	deepEqual([worked, count(reopen(), "ringback_claims")], [[event.orderId], 0]);
});

test("an event is not claimed while a transaction was left open, because a rollback would end the claim", (t) => {
	const { database } = openShop(t);
	const { claim, release } = openSqliteStore(database).callbacks;
	const event = exampleEvent();
	database.exec("BEGIN");
	throws(() => claim(event, "one", 1_000), /already open on this database handle/);
	database.exec("ROLLBACK");
	equal(claim(event, "one", 1_000), "claimed");
	deepEqual([claim(event, "one", 1_000), claim(event, "two", 1_000)], ["claimed", "busy"]);
	release(event, "two");
	equal(claim(event, "two", 1_000), "busy", "nobody ends the claim of another");
	release(event, "one");
	equal(claim(event, "two", 0), "claimed");
	equal(claim(event, "one", 1_000), "claimed", "a claim that has ended");
});

test("stores with prefixes of their own have tables of their own, and a prefix that is not safe in SQL is refused", async (t) => {
	const { database } = openShop(t);
	const [euro, yen] = ["ringback_eur", "ringback_jpy"].map((tablePrefix) =>
		openSqliteStore(database, { tablePrefix }),
	);
	euro?.add(sale);
	equal(await euro?.callbacks.insert(exampleEvent()), "stored");
	deepEqual([(await euro?.outbox.load(0, 10))?.length, await yen?.outbox.load(0, 10)], [1, []]);
	equal(await yen?.callbacks.insert(exampleEvent()), "stored");
	deepEqual(
		["ringback_eur_outbox", "ringback_jpy_outbox", "ringback_jpy_callbacks"].map((table) =>
			count(database, table),
		),
		[1, 0, 1],
	);
	for (const tablePrefix of ["", "Ringback", "1a", "a b", "a;drop table orders", "x".repeat(41)]) {
		throws(() => openSqliteStore(database, { tablePrefix }), /tablePrefix must be 1 to 40 of a-z, 0-9 and _/);
	}
});

test("a refused call is listed, and sent again as it is or corrected", async (t) => {
	const { database } = openShop(t);
	const service = createFakeService();
	const client = createClient({ ...service.clientOptions, retry: { maxAttempts: 1 } });
	const store = openSqliteStore(database);
	const outbox = createOutbox({ client, ...store.outbox, onProblem: () => undefined });
	store.add({ ...sale, basketValue: "ten" });
	equal((await outbox.drain()).refused, 1);
	const [refused, ...others] = store.refused(10);
	deepEqual([refused?.call, typeof refused?.detail, others], [{ ...sale, basketValue: "ten" }, "string", []]);
	const id = refused?.id ?? 0;
	equal(store.sendAgain(id), true);
	equal((await outbox.drain()).refused, 1, "as it is");
	equal(store.sendAgain(id, sale), true);
	equal(store.sendAgain(id), false, "it is open");
	equal((await outbox.drain()).done, 1);
	deepEqual([store.refused(10), service.conversions()[0]?.basketValue], [[], "10.00"]);
});
