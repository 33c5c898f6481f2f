// Tests batches that change no stored conversion, such as new sales. PostgreSQL stores them by one statement, which commits
// by itself. It stores the same rows as the transaction that other batches take.

import { deepEqual, equal, ok } from "node:assert/strict";
import { mock, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { SECOND_MS } from "#core/domain/time.ts";
import type { Store } from "#core/store/store.ts";
import { createApp } from "../../src/app.ts";
import { createRandom } from "../../src/outside/random.ts";
import { makeAppDeps } from "../support/app-deps.ts";
import { removeUrl, setProgramme } from "../support/change-rows.ts";
import { START_MS } from "../support/clock.ts";
import { onDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { until } from "../support/until.ts";
import { createIntakeSetup, word } from "./intake-setup.ts";

/** Tables in which a sale is stored. */
const TABLES = ["nonces", "conversions", "credits", "moves", "events", "queue", "inbound_calls"] as const;
/** Columns that differ between two sales with equal content. */
const IDENTITIES = [
	"id",
	"programme_id",
	"receiver_id",
	"conversion_id",
	"transaction",
	"nonce",
	"list_key",
	"partnership_id",
];

onDatabase("PostgreSQL", "new sales in one statement", (database) => {
	const { clock, openShop, sendTo, post, sale, approval, bulk, pixel, logged, eventsOf } =
		createIntakeSetup(database);

	test("a batch of new sales of several shops is read by one statement, and stored by one that commits by itself", async () => {
		const { credentials, other, sendTogether } = await openShop();
		const calls = [
			...Array.from({ length: 20 }, (_, n) => sale(credentials, `A-${n}`)),
			...Array.from({ length: 20 }, (_, n) => sale(other.credentials, `B-${n}`)),
			bulk(credentials, "C", 30),
		];
		const statements = await collectStatements(async () => {
			const answers = await sendTogether(calls);
			deepEqual(
				answers.map(({ status }) => status),
				[...Array(40).fill(201), 200],
			);
		});
		// The other statements stored the two sales that kept the workers busy.
		equal(statements.length, 6, statements.join("\n"));
		equal(new Set(statements).size, 2);
	});

	test("the single statement stores the same rows as a transaction", async () => {
		const stored: object[] = [];
		const shops = [
			await openShop({ parksPixels: true }),
			await openShop({ parksPixels: true, over: { ...database.store, writeAlone: null } }),
		];
		for (const { programme, credentials, identify, sendTogether } of shops) {
			await identify();
			await clearTables(database.store);
			const invalid = { orderId: "C-1", basketValue: "1,5" };
			const items = [{ orderId: "C-0", basketValue: "7.00", eventType: "LEAD", test: true }, invalid];
			await sendTogether([
				sale(credentials, 'A-"1"\\', "12.34"),
				post(credentials, "/v1/conversions", {
					orderId: "A-2",
					basketValue: "0.10",
					occurredAt: "2026-01-02T03:04:05Z",
					clickId: "nobody's",
				}),
				pixel(programme.public_id, "P-1"),
				post(credentials, "/v1/conversions/batch", { items }),
			]);
			equal(await countLinked(database.store), 6, "with the two sales that kept the workers busy");
			stored.push(await readTables(database.store));
		}
		deepEqual(stored[0], stored[1]);
	});

	test("sales with a coupon code are stored with their credit and their partnership's rate, as in a transaction", async () => {
		const stored: Record<string, unknown[]>[] = [];
		const shops = [await openShop(), await openShop({ over: { ...database.store, writeAlone: null } })];
		for (const { programme } of shops) await addPartnerWithCode(database.store, programme, "SPRING");
		// After a second the cached programmes are read again.
		await clock.moveBy(SECOND_MS);
		for (const { credentials, identify, sendTogether } of shops) {
			await identify();
			await clearTables(database.store);
			const answers = await sendTogether(
				[{ couponCodes: ["UNKNOWN", "spring"] }, { couponCode: "UNKNOWN" }, {}].map((signal, n) =>
					post(credentials, "/v1/conversions", { orderId: `A-${n}`, basketValue: "100.00", ...signal }),
				),
			);
			const bodies = answers.map(({ json }) => json);
			deepEqual(
				bodies.map(({ credit }) => credit),
				["CODE", "UNKNOWN_CODE", "NO_SIGNAL"],
			);
			stored.push(await readTables(database.store));
		}
		deepEqual(stored[0], stored[1]);
		equal(stored[0]?.["credits"]?.length, 3);
		deepEqual(
			stored[0]?.["conversions"]?.map(
				(row) => JSON.parse(String(row)).find(([name]: [string]) => name === "rates")?.[1],
			),
			["12.5+1.00 2.5", "0 0", "0 0", "8 2.5", "8 2.5"],
			"the last two kept the workers busy, in a programme that credits nobody",
		);
	});

	test("without a Postback URL or an active secret the sale is stored and no event is owed", async () => {
		const withoutUrl = await openShop();
		await removeUrl(database.store.db, withoutUrl.programme.id, clock.nowMs());
		const withoutSecret = await openShop();
		await sql`update signing_secrets set replaced_at_ms = ${clock.nowMs()}`.execute(database.store.db);
		for (const { programme, credentials, watched, send } of [withoutUrl, withoutSecret]) {
			watched.transactions = 0;
			equal(word(await send(sale(credentials, "A-1"))), "RECORDED");
			equal(watched.transactions, 1);
			deepEqual(await eventsOf(programme.id), []);
			equal((await logged(programme.id)).length, 1);
		}
	});

	test("repeated and replayed calls of a batch are answered without a lock, and the new ones are stored", async () => {
		const { programme, credentials, other, watched, send, sendTogether } = await openShop();
		const nonce = "0123456789abcdef";
		const replayed = { orderId: "A-3", basketValue: "1.00" };
		await send(sale(credentials, "A-1"));
		await send(post(credentials, "/v1/conversions", { orderId: "A-2", basketValue: "1.00" }, nonce));
		const items = ["A-1", "A-4"].map((orderId) => ({ orderId, basketValue: "100.00" }));
		const answers = await sendTogether([
			sale(credentials, "A-1"),
			post(credentials, "/v1/conversions", replayed, nonce),
			post(credentials, "/v1/conversions/batch", { items }),
			sale(credentials, "A-5"),
			sale(other.credentials, "A-1"),
		]);
		deepEqual([watched.transactions, watched.conflicts], [1, 0]);
		deepEqual(answers.map(word), ["DUPLICATE", "replayed_nonce", undefined, "RECORDED", "RECORDED"]);
		deepEqual((await eventsOf(programme.id)).map(({ order_id }) => order_id).sort(), [
			"A-1",
			"A-2",
			"A-4",
			"A-5",
		]);
		const log = await logged(programme.id);
		deepEqual(log.map(({ outcome }) => outcome).sort(), [
			...["BATCH", "DUPLICATE", "RECORDED", "RECORDED", "RECORDED", "replayed_nonce"],
		]);
	});

	test("two processes that get the same signed calls at once store each of them once", async () => {
		const { programme, credentials, send } = await openShop();
		const rival = createApp(
			makeAppDeps({ store: database.rival, clock, random: createRandom(), log: createLog() }),
		);
		for (let round = 0; round < 5; round++) {
			const calls = Array.from({ length: 30 }, (_, n) => sale(credentials, `A-${round}-${n}`));
			const copies = calls.map((call) => call.clone());
			const [ours, theirs] = await Promise.all([
				Promise.all(calls.map(send)),
				Promise.all(copies.toReversed().map((call) => sendTo(rival, call))),
			]);
			for (const [n, answer] of ours.entries()) {
				const copy = theirs[ours.length - 1 - n];
				deepEqual([word(answer), copy && word(copy)].sort(), ["RECORDED", "replayed_nonce"]);
			}
		}
		const events = await eventsOf(programme.id);
		equal(events.length, 150);
		equal(new Set(events.map(({ order_id }) => order_id)).size, 150);
	});

	for (const { end, expected } of [
		{ end: "commit", expected: "DUPLICATE" },
		{ end: "rollback", expected: "RECORDED" },
	] as const) {
		test(`a sale waits while another process is storing the same order; after a ${end} it is ${expected}`, async () => {
			const { programme, credentials, other, send } = await openShop();
			const order = `held until ${end}`;
			const held = await holdOrder(database.rival, programme.id, order);
			const answer = send(sale(credentials, order));
			await until(() => isWaiting(database.rival));
			// The other worker of the intake is free, so a sale of another shop is stored at once.
			equal(word(await send(sale(other.credentials, "B-1"))), "RECORDED");
			await held.end(end);
			equal(word(await answer), expected);
		});
	}

	test("a statement whose connection breaks stores nothing, and its nonce is not spent", async () => {
		const { programme, credentials, send } = await openShop();
		await clearTables(database.store);
		const held = await holdOrder(database.rival, programme.id, "A-2");
		const call = bulk(credentials, "A", 4);
		const again = call.clone();
		const answer = send(call);
		await until(() => isWaiting(database.rival));
		await sql`select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`.execute(database.rival.db);
		const { status, headers } = await answer;
		deepEqual([status, headers.get("retry-after")], [503, "5"]);
		await held.end("rollback");
		const left = await readTables(database.store);
		deepEqual(
			{ ...left, inbound_calls: [] },
			Object.fromEntries(TABLES.map((table) => [table, []])),
			"only the refusal is logged",
		);
		equal((await send(again)).status, 200);
		equal(await countLinked(database.store), 4);
	});

	test("an approval is ordered after the sale's first move, even if its transaction began before the sale was stored", async () => {
		const { credentials, send } = await openShop();
		const order = "approved at once";
		await database.rival.transact(async (trx) => {
			await sql`select pg_current_xact_id()`.execute(trx);
			equal(word(await send(sale(credentials, order))), "RECORDED");
			await sql`insert into moves (programme_id, conversion_id, move, to_status, at_ms)
				select programme_id, id, 'approve', 'APPROVED', 0 from conversions where order_id = ${order}`.execute(
				trx,
			);
		});
		const { rows } = await sql<{ move: string }>`select move from moves
			join conversions on conversions.id = conversion_id where order_id = ${order}
			order by transaction, moves.id`.execute(database.store.db);
		deepEqual(rows, [{ move: "record" }, { move: "approve" }]);
	});

	test("an approval after a sale of the same batch finds the sale", async () => {
		const { credentials, sendTogether } = await openShop();
		const answers = await sendTogether([
			sale(credentials, "A-1"),
			sale(credentials, "A-2"),
			approval(credentials, "A-1"),
		]);
		deepEqual(answers.map(word), ["RECORDED", "RECORDED", "APPROVED"]);
	});
});

/** Adds a partner with a coupon code and a rate of its own, and lets the programme credit partners. */
async function addPartnerWithCode({ db }: Store, { id }: { id: number }, code: string): Promise<void> {
	await setProgramme(db, id, { credits_partners: 1 });
	const made = { created_at_ms: START_MS };
	const partner = { public_id: `par ${id}`, name: code, site: "", ...made };
	const { id: partnerId } = await db
		.insertInto("partners")
		.values(partner)
		.returning("id")
		.executeTakeFirstOrThrow();
	const agreed = { commission_rate: "12.5000+1.00", terms: "", ended_at_ms: null, ...made };
	const { id: partnershipId } = await db
		.insertInto("partnerships")
		.values({ ...agreed, public_id: `pts ${id}`, programme_id: id, partner_id: partnerId })
		.returning("id")
		.executeTakeFirstOrThrow();
	const named = { folded: code, code, programme_id: id, partnership_id: partnershipId };
	await db
		.insertInto("coupon_codes")
		.values({ ...named, ...made })
		.execute();
}

/** Returns the texts of all statements that the work sends, except the notification of engines after the commit. */
async function collectStatements(work: () => Promise<void>): Promise<string[]> {
	const query = mock.method(pg.Client.prototype, "query");
	try {
		await work();
		const sent = query.mock.calls.map(({ arguments: [statement] }) => textOf(statement));
		return sent.filter((text) => !text.includes("pg_notify"));
	} finally {
		query.mock.restore();
	}
}

function textOf(statement: unknown): string {
	if (typeof statement === "string") return statement;
	ok(typeof statement === "object" && statement !== null && "text" in statement);
	return String(statement.text);
}

/** Begins to store an order in another process, and holds the transaction until `end` is called. */
async function holdOrder(rival: Store, programmeId: number, orderId: string) {
	const isHeld = Promise.withResolvers<void>();
	const isEnding = Promise.withResolvers<"commit" | "rollback">();
	const failure = new Error("rolled back");
	const holding = rival
		.transact(async (trx) => {
			await sql`insert into conversions (public_id, programme_id, order_id, event_type, status, basket_value,
				commission, network_fee, currency, test, source, occurred_at_ms, created_at_ms, updated_at_ms)
				values (${orderId}, ${programmeId}, ${orderId}, 'SALE', 'RECORDED', '1.00', '0.10', '0.01', 'EUR', 0,
					'postback', 0, 0, 0)`.execute(trx);
			isHeld.resolve();
			if ((await isEnding.promise) === "rollback") throw failure;
		})
		.catch((error: unknown) => {
			if (error !== failure) throw error;
		});
	await isHeld.promise;
	return {
		async end(way: "commit" | "rollback"): Promise<void> {
			isEnding.resolve(way);
			await holding;
		},
	};
}

/** Returns whether a statement waits for another transaction. */
async function isWaiting({ db }: Store): Promise<boolean> {
	const { rows } = await sql`select 1 from pg_stat_activity
		where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
	return rows.length > 0;
}

async function clearTables({ db }: Store): Promise<void> {
	for (const table of TABLES) await sql`delete from ${sql.table(table)}`.execute(db);
}

/** Returns the rows of all tables without their ids, in an order that does not depend on them. */
async function readTables({ db }: Store): Promise<Record<string, unknown[]>> {
	const tables: Record<string, unknown[]> = {};
	for (const table of TABLES) {
		const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(db);
		const comparable = rows.map((row) => {
			const columns = Object.entries(row).filter(([name]) => !IDENTITIES.includes(name));
			return JSON.stringify(columns).replaceAll(/(cnv|dlv|prg)_[0-9A-Z]{26}/g, "$1");
		});
		tables[table] = comparable.sort();
	}
	return tables;
}

/**
 * Counts the conversions whose first move is stored and whose event is in the queue. A parked conversion
 * counts if it has no event.
 */
async function countLinked({ db }: Store): Promise<number> {
	const { rows } = await sql<{ count: number }>`select count(*) as count from conversions c
		join moves m on m.conversion_id = c.id and m.to_status = c.status
		left join events e on e.conversion_id = c.id left join queue q on q.id = e.id
		where (c.status = 'PARKED') = (q.id is null)`.execute(db);
	return rows[0]?.count ?? 0;
}
