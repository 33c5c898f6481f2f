// Tests notifications on both databases: which engine gets which notification, and that a lost one leads to a recheck.
// The tests also show that closing a store always completes.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import { insertProgramme } from "#core/store/queries/programmes.ts";
import type { Owed } from "#core/store/queries/queue.ts";
import type { Store } from "#core/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { receiverId } from "../support/receiver-ids.ts";
import { newProgramme } from "../support/rows.ts";
import { createTestDatabase, DATABASE_KINDS, openPostgresAt, openStore } from "../support/test-database.ts";
import { until, untilOnClock } from "../support/until.ts";

/** Delay before a lost listening connection is opened again. */
const RECONNECT_DELAY_MS = 1_000;
/** Delay before a recheck that replaces a notification that failed. */
const RETRY_DELAY_MS = 1_000;

eachDatabase("notifications of due deliveries", (database) => {
	test("an engine is notified by its own process, with the deliveries to send, until it stops listening", async () => {
		const { store } = database;
		const heard = listen(store);
		if (database.kind === "PostgreSQL")
			equal(await heard.next(), "recheck", "the first listening connection causes a recheck");
		const owed: Owed = {
			receiverIds: [7, 8].map(receiverId),
			dueAtMs: START_MS,
			ready: { deliveries: [], targets: [], readAtMs: 5 },
		};
		store.announceDue(owed);
		equal(await heard.next(), owed);
		store.announceTargetChange(receiverId(8));
		equal(await heard.next(), "change 8");
		heard.stop();
		store.announceDue(owed);
		store.announceTargetChange(receiverId(9));
		deepEqual(heard.waiting, []);
	});

	test("a write of another process is noticed once, and a process does not notice its own reads and writes", async () => {
		const { store, kind, location } = database;
		const other = openStore(kind, location);
		const hasChanged = () => store.queue.hasChangedElsewhere();
		try {
			const write = (one: Store) => one.transact((trx) => insertProgramme(trx, newProgramme()));
			equal(hasChanged(), false, "nothing has changed before the first check");
			await write(store);
			await other.db.selectFrom("programmes").select("id").execute();
			equal(hasChanged(), false);
			await write(other);
			// PostgreSQL uses NOTIFY, so there is nothing to poll.
			deepEqual([hasChanged(), hasChanged()], [kind === "SQLite", false]);
			await write(other);
			await write(store);
			deepEqual([hasChanged(), hasChanged()], [kind === "SQLite", false]);
		} finally {
			await other.close();
		}
	});

	if (database.kind === "SQLite") return;

	/**
	 * Opens two processes that listen. The second one sends notifications, and its engine sends to the
	 * receivers in `held`.
	 */
	async function listenTwice(t: TestContext, held: readonly number[] = []) {
		const stores = [openPostgresAt(database.location), openPostgresAt(database.location)] as const;
		const [there, here] = [listen(stores[0]), listen(stores[1], held)];
		t.after(() => Promise.all(stores.map((store) => store.close())));
		for (const each of [there, here]) equal(await each.next(), "recheck");
		return { there, here, announcing: stores[1] };
	}

	test("an engine of another process is notified of due receivers with their time, of changes and of rechecks", async (t) => {
		const { there, here, announcing } = await listenTwice(t);
		announcing.announceDue({ receiverIds: [1, 2, 3].map(receiverId), dueAtMs: START_MS + 4 });
		deepEqual(await there.next(), { receiverIds: [1, 2, 3].map(receiverId), dueAtMs: START_MS + 4 });
		announcing.announceTargetChange(receiverId(4));
		equal(await there.next(), "change 4");
		const before = here.waiting.length;
		announcing.announceRecheck();
		equal(here.waiting.length, before, "a recheck is announced to the others only");
		equal(await there.next(), "recheck");
		announcing.announceDue({ receiverIds: [], dueAtMs: START_MS });
		announcing.announceTargetChange(receiverId(5));
		equal(await there.next(), "change 5", "an empty list of due receivers is not announced");
	});

	test("thousands of due receivers are announced in batches, each once, with a due time that is not too late", async (t) => {
		const { there, announcing } = await listenTwice(t);
		const ids = Array.from({ length: 5_000 }, (_, n) => receiverId(1_000_000_000 + n));
		const portions = [ids.slice(0, 401), ids.slice(401, 402), ids.slice(402)];
		const dueOf = (n: number) => START_MS + (n === 0 ? 10 : n === 1 ? 5 : 7);
		for (const [n, receiverIds] of portions.entries())
			announcing.announceDue({ receiverIds, dueAtMs: dueOf(n) });
		const told = new Map<number, number>();
		while (told.size < ids.length) {
			const word = await there.next();
			if (typeof word === "string") throw new Error(`${word} came instead of due receivers`);
			for (const id of word.receiverIds) {
				equal(told.has(id), false, `${id} was announced twice`);
				told.set(id, word.dueAtMs);
			}
		}
		deepEqual([...told.keys()].sort(), ids);
		for (const [n, receiverIds] of portions.entries())
			for (const id of receiverIds) ok((told.get(id) ?? Number.POSITIVE_INFINITY) <= dueOf(n));
	});

	test("another process is notified only of receivers that the engine of this process does not send to", async (t) => {
		const { there, announcing } = await listenTwice(t, [301, 302]);
		announcing.announceDue({ receiverIds: [301, 302].map(receiverId), dueAtMs: START_MS });
		announcing.announceDue({ receiverIds: [302, 402, 301].map(receiverId), dueAtMs: START_MS });
		deepEqual(await there.next(), { receiverIds: [402], dueAtMs: START_MS });
		// A changed target is announced to all processes, because the previous owner of the slot may still be
		// sending a request.
		announcing.announceTargetChange(receiverId(302));
		equal(await there.next(), "change 302");
	});

	test("a payload in an unknown form makes the engine check the database itself", async (t) => {
		const { there } = await listenTwice(t);
		for (const [payload, word] of [
			["500:5,6", { receiverIds: [5, 6], dueAtMs: 500 }],
			["anywhere", "recheck"],
			["5,6", "recheck"],
			["later:1,2", "recheck"],
			["", "recheck"],
			["change:7", "change 7"],
		] as const) {
			await sql`select pg_notify('ringback_due', ${payload})`.execute(database.store.db);
			deepEqual(await there.next(), word, payload);
		}
	});

	test("connections that the server ends are opened again, and a new listening connection causes a recheck", async () => {
		const [clock, log] = [createClock(), createLog()];
		const store = openPostgresAt(database.location, {}, { clock, log, name: "lost" });
		const isListening = async () => {
			const { rows } = await sql`select 1 from pg_stat_activity
				where application_name = 'lost-listen' and state = 'idle' and query like 'listen%'`.execute(
				database.store.db,
			);
			return rows.length > 0;
		};
		try {
			const heard = listen(store);
			equal(await heard.next(), "recheck");
			await sql`select 1`.execute(store.db);
			await sql`select pg_terminate_backend(pid) from pg_stat_activity
				where application_name in ('lost', 'lost-listen')`.execute(database.store.db);
			// The pool finds its two broken connections one after the other.
			await until(() => log.text().includes("a database connection broke"));
			await until(() => clock.timersDueIn(RECONNECT_DELAY_MS) > 0);
			await sql`select pg_notify('ringback_due', 'change:5')`.execute(database.store.db);
			await clock.moveBy(RECONNECT_DELAY_MS);
			equal(await heard.next(), "recheck", "each attempt to reconnect causes a recheck");
			// On a busy machine an attempt may fail, and another one follows.
			await untilOnClock(clock, "a new connection listens", isListening, 20);
			equal(
				await heard.next(),
				"recheck",
				"the new connection causes a recheck, because notifications were lost",
			);
			database.rival.announceTargetChange(receiverId(6));
			let word: Word = "recheck";
			while (word === "recheck") word = await heard.next();
			equal(word, "change 6");
			deepEqual((await sql`select 1 as one`.execute(store.db)).rows, [{ one: 1 }]);
			equal(log.text().includes(database.location), false);
		} finally {
			await store.close();
		}
	});

	test("a notification that failed is replaced by a recheck as soon as the database is back", async (t) => {
		const clock = createClock();
		// The search path makes PostgreSQL find our function of the same name before its own pg_notify.
		const url = `${database.location}?options=${encodeURIComponent("-c search_path=public,pg_catalog")}`;
		const store = openPostgresAt(url, {}, { clock });
		const there = listen(database.rival);
		t.after(async () => {
			there.stop();
			await store.close();
			equal(clock.waitingTimers, 0);
		});
		await sql`create function public.pg_notify(text, text) returns void language plpgsql
			as 'begin raise exception ''no''; end'`.execute(database.store.db);
		store.announceDue({ receiverIds: [receiverId(1)], dueAtMs: START_MS });
		await until(() => clock.timersDueIn(RETRY_DELAY_MS) > 0);
		await clock.moveBy(RETRY_DELAY_MS);
		await until(() => clock.timersDueIn(RETRY_DELAY_MS) > 0);
		await sql`drop function public.pg_notify(text, text)`.execute(database.store.db);
		await clock.moveBy(RETRY_DELAY_MS);
		while ((await there.next()) !== "recheck"); // Other notifications are ignored, because some of earlier tests may still arrive.
	});

	test("a commit without an answer causes a recheck here and elsewhere, and a transaction that was rolled back does not", async (t) => {
		const { there, here, announcing: store } = await listenTwice(t);
		// The server ends the connection during the commit.
		await sql`create function end_it() returns trigger language plpgsql
			as 'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`.execute(database.store.db);
		await sql`create constraint trigger ended after insert on programmes deferrable initially deferred
			for each row execute function end_it()`.execute(database.store.db);
		const sell = (breakOff: () => void) =>
			store.transact(async (trx) => {
				await insertProgramme(trx, newProgramme());
				breakOff();
			});
		const failing = sell(() => {
			throw new Error("broken off");
		});
		await rejects(failing, /broken off/);
		store.announceTargetChange(receiverId(1));
		deepEqual([await there.next(), await here.next(), await here.next()], Array(3).fill("change 1"));
		await rejects(sell(() => undefined));
		deepEqual(
			here.waiting,
			["recheck"],
			"the own process rechecks at once, because the database may be unreachable",
		);
		equal(await there.next(), "recheck");
		await sql`drop function end_it cascade`.execute(database.store.db);
	});
});

for (const kind of DATABASE_KINDS) {
	test(`closing a store that was never used leaves nothing open (${kind})`, async () => {
		const database = await createTestDatabase(kind);
		listen(database.open());
		database.open();
		await database.remove();
	});
}

// PostgreSQL needs no such test, because its pool rejects a query whose wait for a connection times out.
test("closing a SQLite store ends the queries that are still waiting", async () => {
	const database = await createTestDatabase("SQLite");
	const store = database.open();
	const queries = Array.from({ length: 10 }, () =>
		store.transact((trx) => sql`select 1`.execute(trx)).catch(() => "refused"),
	);
	const closing = store.close();
	equal((await Promise.all(queries)).length, 10);
	await closing;
	equal(await sql`select 1`.execute(store.db).catch(() => "refused"), "refused");
	await database.remove();
});

type Word = Owed | "recheck" | `change ${number}`;

/**
 * Collects the notifications that a listener receives, in order. The listener's own engine sends to the receivers in
 * `held`.
 */
function listen(store: Store, held: readonly number[] | "all" = "all") {
	const waiting: Word[] = [];
	const stop = store.onDue({
		onOwed(owed) {
			waiting.push(owed);
			return held === "all" ? [] : owed.receiverIds.filter((id) => !held.includes(id));
		},
		onTargetChange: (id) => void waiting.push(`change ${id}`),
		onRecheck: () => void waiting.push("recheck"),
	});
	const next = async (): Promise<Word> => {
		await until(() => waiting.length > 0);
		return waiting.shift() ?? "recheck";
	};
	return { waiting, stop, next };
}
