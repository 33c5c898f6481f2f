// Tests `ringback move`, which moves an installation that has outgrown its SQLite file to PostgreSQL without
// a visible difference.

import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import type { Cursor } from "#core/domain/cursor.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { countCopied } from "#core/store/move.ts";
import { openSqlite } from "#core/store/sqlite/store.ts";
import type { Store } from "#core/store/store.ts";
import { savePaymentDetails } from "#modules/accounts/use-cases/payment-details.ts";
import { payStatements } from "#modules/accounts/use-cases/payments.ts";
import { NOVEMBER_MS, openNetwork } from "#modules/accounts/use-cases/statements.test-support.ts";
import { readFeed } from "#modules/feeds/use-cases/event-feed.ts";
import { realClock } from "../../src/outside/clock.ts";
import { readKeyFile } from "../../src/outside/key-file.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";
import { START_MS } from "../support/clock.ts";
import { type Home, hasStack, openHome, type Settings } from "../support/command-home.ts";
import { GUIDE_BLOCKS } from "../support/guide-blocks.ts";
import { WITH_MADE_UP } from "../support/made-up-migration.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { addOwedConversion } from "../support/rows.ts";
import { startShop } from "../support/shop.ts";
import { createShopClient } from "../support/shop-client.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createMigratedDatabase, createTestDatabase } from "../support/test-database.ts";
import { until } from "../support/until.ts";

describe("ringback move", { concurrency: 2 }, () => {
	test("ringback move moves every row of every table, and the service continues", async (t) => {
		const home = openHome(t);
		const shop = await startShop();
		t.after(() => shop.close());
		writeFileSync(join(home.folder, "ca.pem"), shop.caPem);
		const settings = {
			PORT: "0",
			RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
			RINGBACK_TRUSTED_CA: join(home.folder, "ca.pem"),
		};
		const onFile = { ...settings, DATABASE_URL: `sqlite:${home.databasePath}` };
		const account = await prepareDatabase(onFile, { postbackUrl: shop.url() });
		equal((await home.runHere(["hold"])).code, 0);
		const old = await serve(home, onFile);
		const before = createShopClient(old.url, account.apiKey, account.secret, Date.now);
		for (const orderId of ["1", "2", "3"]) await before.post("/v1/conversions", sale(orderId));
		await before.post("/v1/approvals", { orderId: "3" });
		const target = await emptyTarget(t);
		const url = target.location;

		const busy = await home.runHere(["move", url]);
		equal(busy.code, 1);
		match(busy.stderr, /^Something works on .*ringback\.db just now\. Stop the service first/m);
		equal(hasStack(busy), false);
		old.running.kill("SIGTERM");
		await old.running.ended();

		const cursor = await cursorBefore(home.databasePath, "approve");
		await addMoney(home.databasePath);
		fillEmptyTables(home.databasePath);
		// The test runs the guide's command with the address of its own database.
		const guide = GUIDE_BLOCKS.filter(({ file }) => file === "docs/operations/move.md");
		const typed = guide.find(({ text }) => text.startsWith("ringback move postgres://"))?.text ?? "";
		const words = typed.trim().split(" ").slice(1);
		const moved = await home.runHere(words.map((word) => (word.startsWith("postgres:") ? url : word)));
		equal(moved.code, 0, moved.stderr);
		match(moved.stderr, /^conversions: 4 of 4 rows …$/m);
		match(moved.stdout, /^Moved \d+ rows in \d+ tables\. .*\nThe ledger balances at both ends\./);
		match(moved.stdout, /^ {2}DATABASE_URL=postgres/m);
		match(
			moved.stdout,
			/^ {2}RINGBACK_SECRET_KEY=… the line in .*ringback\.db\.key, or RINGBACK_SECRET_KEY_FILE=/m,
		);
		const store = target.open();
		deepEqual((await checkLedger(store)).broken, []);
		await compareRows(home.databasePath, store);
		const left = await sql<{
			n: number;
		}>`select (select count(*) from processes) + (select count(*) from engines)
			+ (select count(*) from slots where engine_id is not null) as n`.execute(store.db);
		equal(left.rows[0]?.n, 0, "nothing is left of processes that have ended");
		await store.db.deleteFrom("delivery_pause").execute();

		const key = readFileSync(`${home.databasePath}.key`, "utf8").trim();
		const onServer = { ...settings, DATABASE_URL: url, RINGBACK_SECRET_KEY: key };
		const now = await serve(home, onServer);
		await until(() => shop.requests.length === 3);
		const client = createShopClient(now.url, account.apiKey, account.secret, Date.now);
		equal((await client.post("/v1/conversions", sale("2"))).outcome, "DUPLICATE");
		equal((await client.post("/v1/conversions", sale("4"))).outcome, "RECORDED");
		await until(() => shop.requests.length === 4);
		// The event feed holds back status changes that are newer than the oldest open transaction on the whole
		// server, which may belong to another test.
		const feed = () =>
			readFeed(store, account.programme, cursor, { testOnly: false, nowMs: Date.now() }).then(({ events }) =>
				events.map(({ event, body }) => `${event} ${JSON.parse(body).orderId}`),
			);
		await until(async () => (await feed()).length >= 2);
		deepEqual(
			await feed(),
			["conversion.approved 3", "conversion.recorded 4"],
			"a listener goes on behind the last event that it got from the file",
		);
		now.running.kill("SIGTERM");
		equal((await now.running.ended()).code, 0);
	});

	test("a kill during ringback move leaves the target empty, the next run moves everything, and a third run is refused", async (t) => {
		const home = await openFilledHome(t);
		const database = await createMigratedDatabase("PostgreSQL");
		t.after(() => database.remove());
		const { db } = database.open();
		await sql
			.raw(`create function hold() returns trigger language plpgsql as
			$$ begin perform pg_advisory_xact_lock(42); return null; end $$`)
			.execute(db);
		await sql.raw("create trigger held after insert on queue execute function hold()").execute(db);
		await db.connection().execute(async (holder) => {
			await sql`select pg_advisory_lock(42)`.execute(holder);
			const running = home.start(["move", database.location]);
			await until(async () => {
				const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and not granted
					and database = (select oid from pg_database where datname = current_database())`.execute(holder);
				return rows.length > 0;
			});
			running.kill("SIGKILL");
			equal((await running.ended()).signal, "SIGKILL");
			await sql`select pg_advisory_unlock(42)`.execute(holder);
		});
		const people = async () =>
			(await sql<{ n: number }>`select count(*) as n from people`.execute(db)).rows[0]?.n;
		equal(await people(), 0);
		const next = await home.runHere(["move", database.location, "--json"]);
		equal(next.code, 0, next.stderr);
		const { rows } = JSON.parse(next.stdout);
		deepEqual({ queue: rows.queue, people: rows.people }, { queue: 3, people: await people() });
		const third = await home.runHere(["move", database.location]);
		equal(third.code, 1);
		match(third.stderr, /If an earlier run of this command came to its end there, the move is done\.$/m);
	});

	test("ringback move refuses a database that is not empty, whoever filled it, and changes nothing", async (t) => {
		const home = await openFilledHome(t);
		const others = await emptyTarget(t);
		await sql`create table stock (id integer)`.execute(others.open().db);
		const foreign = await home.runHere(["move", others.location]);
		equal(foreign.code, 1);
		match(
			foreign.stderr,
			/has tables of another program, such as stock\. Create a database for Ringback alone/,
		);
		equal((await others.open().db.introspection.getTables()).length, 1);
		const database = await createMigratedDatabase("PostgreSQL");
		t.after(() => database.remove());
		const { db } = database.open();
		const person = { public_id: "psn_1", email: "a@b.example", kind: "staff", created_at_ms: 1 } as const;
		await db.insertInto("people").values(person).execute();
		const used = await home.runHere(["move", database.location]);
		equal(used.code, 1);
		match(
			used.stderr,
			/is not empty: there are rows in people\. Nothing was changed\. Create an empty database/,
		);
		equal((await db.selectFrom("people").selectAll().execute()).length, 1);
		for (const ended of [foreign, used]) equal(hasStack(ended), false);
	});

	test("ringback move refuses a file of another schema, a file without its key, and a target that is not PostgreSQL", async (t) => {
		const { location } = await emptyTarget(t);
		const newer = openHome(t);
		const store = openSqlite(newer.databasePath, realClock);
		await store.migrate(START_MS, { migrations: WITH_MADE_UP });
		await store.close();
		match(
			(await newer.runHere(["move", location])).stderr,
			/schema version (\d+), and this Ringback moves version (?!\1\.)\d+\. .* If it is newer, use a newer Ringback/,
		);
		const home = await openFilledHome(t);
		renameSync(`${home.databasePath}.key`, `${home.databasePath}.aside`);
		match(
			(await home.runHere(["move", location])).stderr,
			/^The key that opens the signing secrets .* is not here/m,
		);
		equal((await home.runHere(["move", "sqlite:other.db"])).code, 2);
		match((await openHome(t).runHere(["move", location])).stderr, /^There is no database file /m);
		const there = await home.runHere(["move", location], {
			DATABASE_URL: location,
			RINGBACK_SECRET_KEY: "ab".repeat(32),
		});
		match(there.stderr, /^DATABASE_URL must name the SQLite file to move/m);
	});
});

async function emptyTarget(t: TestContext): Promise<TestDatabase> {
	const database = await createTestDatabase("PostgreSQL");
	t.after(() => database.remove());
	return database;
}

async function openFilledHome(t: TestContext): Promise<Home> {
	const home = openHome(t);
	const account = await prepareDatabase(
		{ DATABASE_URL: `sqlite:${home.databasePath}`, RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8" },
		{ postbackUrl: "https://127.0.0.1:9/postback" },
	);
	const store = openSqlite(home.databasePath, realClock);
	for (let n = 0; n < 3; n++) await addOwedConversion(store, account.programme);
	await store.close();
	return home;
}

async function serve(home: Home, settings: Settings) {
	const running = home.start(["serve"], settings);
	const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
	return { running, url };
}

function sale(orderId: string): object {
	return { orderId, basketValue: "10.00", currency: "EUR" };
}

/**
 * Returns the position of a listener that has read everything before this status change in the SQLite file.
 */
async function cursorBefore(path: string, move: "approve"): Promise<Cursor> {
	const store = openSqlite(path, realClock);
	try {
		const { id } = await store.db
			.selectFrom("moves")
			.select("id")
			.where("move", "=", move)
			.executeTakeFirstOrThrow();
		return { at: id - 1, id: id - 1 };
	} finally {
		await store.close();
	}
}

/** Adds a statement that was paid, a refund, payment details and open entries, which must agree with each other. */
async function addMoney(path: string): Promise<void> {
	const store = openSqlite(path, realClock);
	try {
		const network = await openNetwork(store);
		const keyRing = createKeyRing([readKeyFile(`${path}.key`) ?? new Uint8Array(32)]);
		const deps = Object.assign(network.deps, { keyRing });
		const { staff } = network;
		const partner = await network.addPartner("Blog");
		const member = await network.join(await network.addProgramme(), partner);
		const details = { payee: "Blog", address: "", country: "", vatId: "", iban: "", bic: "", account: "1" };
		equal((await savePaymentDetails(deps, staff, partner.id, details)).ok, true);
		const sold = await network.approve(await network.sell(member, "40.00"));
		await network.clock.moveTo(NOVEMBER_MS);
		await network.issue(await network.prepare("2026-10"));
		const ids = (await network.statements()).map(({ public_id }) => public_id);
		equal((await payStatements(deps, staff, ids, { date: "2026-11-02", reference: "" })).ok, true);
		await network.refund(sold, "30.00");
		deepEqual(await network.brokenRules(), []);
	} finally {
		await store.close();
	}
}

/** Values for columns that do not take any text, as "table.column". */
const PERMITTED: Readonly<Record<string, string>> = { "erasures.kind": "person" };

/** Adds one row to each empty table, so that no table is forgotten, including future ones. */
function fillEmptyTables(path: string): void {
	using database = new DatabaseSync(path);
	const moment = new Date(START_MS).toISOString();
	for (const [table, rows] of countCopied(database)) {
		if (rows > 0) continue;
		const columns = database.prepare("select name, type from pragma_table_info(?)").all(table);
		const values = columns.map(({ name, type }) => {
			const permitted = PERMITTED[`${table}.${String(name)}`];
			if (permitted !== undefined) return permitted;
			if (/(?:At|Until)$/.test(String(name))) return moment;
			return type === "TEXT" || type === "text" ? "Ünïcode 'quoted' \\ \n😀" : 1;
		});
		const places = columns.map(() => "?").join();
		database.prepare(`insert into "${table}" values (${places})`).run(...values);
	}
	// The new row of `undelivered` ends the first delivery, so it must not be in the queue any more.
	database.exec("delete from queue where id = 1");
}

/** Columns that differ in the target on purpose. */
const CHANGED = ["transaction", "claim", "claim_until_ms", "backed_up_at_ms"];

async function compareRows(path: string, { db }: Store): Promise<void> {
	using database = new DatabaseSync(path);
	const plain = (rows: readonly unknown[]) =>
		rows
			.map((row) =>
				Object.entries(row ?? {})
					.filter(([column]) => !CHANGED.includes(column))
					.map(
						([column, value]) =>
							`${column}=${typeof value === "boolean" ? Number(value) : JSON.stringify(value)}`,
					)
					.toSorted(),
			)
			.map((row) => row.join())
			.toSorted();
	for (const table of countCopied(database).keys()) {
		const here = database.prepare(`select * from "${table}"`).all();
		const { rows: there } = await sql`select * from ${sql.table(table)}`.execute(db);
		equal(here.length > 0, true, table);
		deepEqual(plain(there), plain(here), table);
	}
}
