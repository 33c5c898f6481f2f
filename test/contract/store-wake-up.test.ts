// "Something has become due" on both databases, and closing a store: nobody waits for ever.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import type { Store } from "../../src/store/store.ts";
import { createClock } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { startPostgres } from "../support/postgres.ts";
import { createTestDatabase, DATABASE_KINDS, openPostgresAt } from "../support/test-database.ts";

eachDatabase("the word that something is due", (database) => {
	test("an engine hears what its own process announces, until it stops listening", async () => {
		const { store } = database;
		const heard = listen(store);
		if (database.kind === "PostgreSQL") deepEqual(await heard.next(), "anywhere");
		store.announceDue([7, 8]);
		deepEqual(await heard.next(), [7, 8]);
		heard.stop();
		store.announceDue([9]);
		deepEqual(heard.waiting, []);
	});

	if (database.kind === "PostgreSQL") {
		test("an engine hears what another process announces; too many names become the word to look", async () => {
			const { store, rival } = database;
			const heard = listen(store);
			// The test before has left a word on its way, which comes whenever it comes.
			const next = async () => {
				for (;;) {
					const word = await heard.next();
					if (word === "anywhere" || !word.includes(9)) return word;
				}
			};
			rival.announceDue([1, 2, 3]);
			deepEqual(await next(), [1, 2, 3]);
			rival.announceDue(Array.from({ length: 5_000 }, (_, n) => 1_000_000 + n));
			deepEqual(await next(), "anywhere");
			rival.announceChange(4);
			deepEqual(await next(), [4]);
			heard.stop();
		});

		test("another process hears of what the engine here does not hold, and of nothing else", async () => {
			const { store, rival } = database;
			const heard = listen(store);
			const here = listen(rival, [301, 302]);
			rival.announceDue([301, 401]);
			rival.announceDue([302, 301]);
			rival.announceDue([302, 402]);
			// A change is told to all: a request may be on its way from wherever the lane was before.
			rival.announceChange(302);
			const words = new Set<number>();
			while (!words.has(302)) for (const id of namesIn(await heard.next())) words.add(id);
			// The one that is held and was announced twice came with the change, and the other never.
			deepEqual([...words].filter((id) => id > 300).sort(), [302, 401, 402]);
			here.stop();
			heard.stop();
		});
	}
});

test("a PostgreSQL that restarts is found again, by queries and by the wake-up", async () => {
	const server = await startPostgres();
	const [clock, log] = [createClock(), createLog()];
	const store = openPostgresAt(server.url(), {}, { clock, log });
	try {
		const heard = listen(store);
		deepEqual(await heard.next(), "anywhere");
		await server.restart();
		await eventually(() => clock.waitingTimers > 0);
		await clock.moveBy(1_000);
		// Whoever listens anew is told to look: what was announced meanwhile was heard by nobody.
		deepEqual(await heard.next(), "anywhere");
		deepEqual((await sql`select 1 as one`.execute(store.db)).rows, [{ one: 1 }]);
		equal(log.text().includes(server.url()), false);
		heard.stop();
	} finally {
		await store.close();
		await server.stop();
	}
});

for (const kind of DATABASE_KINDS) {
	test(`a store that was opened and never used closes without a trace (${kind})`, async () => {
		const database = await createTestDatabase(kind);
		database.open().onDue(() => []);
		database.open();
		await database.remove();
	});
}

// On PostgreSQL the pool sees to it: whoever waits for a connection is refused when the wait times out.
test("queries still in line when a SQLite store closes come to an end", async () => {
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

/** What a listener has heard, one call after the other; it has these lanes. */
function listen(store: Store, held: readonly number[] | "all" = "all") {
	const waiting: (readonly number[] | "anywhere")[] = [];
	let tell = (): void => undefined;
	const stop = store.onDue((where) => {
		waiting.push(where);
		tell();
		return held === "all" ? [] : namesIn(where).filter((id) => !held.includes(id));
	});
	const next = async (): Promise<readonly number[] | "anywhere"> => {
		if (waiting.length === 0) await new Promise<void>((resolve) => (tell = resolve));
		return waiting.shift() ?? [];
	};
	return { waiting, stop, next };
}

function namesIn(word: readonly number[] | "anywhere"): readonly number[] {
	return word === "anywhere" ? [] : word;
}

async function eventually(isTrue: () => boolean): Promise<void> {
	while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}
