// Tests that a database that is unavailable is distinguished from one that refuses a statement. A retry helps only in
// the first case, and only then does the API answer 503 instead of 500.

import { equal, ok } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { sql } from "kysely";
import type { Db } from "#core/store/store.ts";
import { isDatabaseUnavailable } from "#core/store/unavailable.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, openStore } from "../support/test-database.ts";

test("a connection that breaks during a query of a transaction counts as unavailable (PostgreSQL)", async () => {
	await onPostgres(async (database) => {
		const error = await failIn(database, (trx) =>
			sql`select pg_terminate_backend(pg_backend_pid())`.execute(trx),
		);
		ok(isDatabaseUnavailable(error), String(error));
	});
});

test("a connection that breaks between two queries of a transaction counts as unavailable (PostgreSQL)", async () => {
	await onPostgres(async (database) => {
		const rival = database.open();
		const error = await failIn(database, async (trx) => {
			const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
			const pid = rows[0]?.pid ?? 0;
			await sql`select pg_terminate_backend(${pid}, 5000)`.execute(rival.db);
			// After this turn of the event loop the client has noticed that its connection is closed.
			await new Promise((resolve) => setImmediate(resolve));
			await sql`select 1`.execute(trx);
		});
		ok(isDatabaseUnavailable(error), String(error));
	});
});

test("a server that closes the connection before its greeting counts as unavailable (PostgreSQL)", async () => {
	const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	if (address === null || typeof address === "string") throw new Error("no port");
	const store = openStore("PostgreSQL", `postgres://nobody:nothing@127.0.0.1:${address.port}/none`);
	try {
		const error = await store.db.selectFrom("programmes").select("id").execute().catch(asIs);
		ok(isDatabaseUnavailable(error), String(error));
	} finally {
		await store.close();
		server.close();
		await once(server, "close");
	}
});

test("a server that refuses a statement counts as available, and its error is passed on (PostgreSQL)", async () => {
	await onPostgres(async (database) => {
		const error = await failIn(database, (trx) => sql`select no_such_column`.execute(trx));
		equal(isDatabaseUnavailable(error), false);
		ok(error instanceof Error && "code" in error && error.code === "42703", String(error));
	});
});

async function onPostgres(check: (database: TestDatabase) => Promise<void>): Promise<void> {
	const database = await createTestDatabase("PostgreSQL");
	try {
		await check(database);
	} finally {
		await database.remove();
	}
}

/** Returns the error with which the transaction fails. */
function failIn(database: TestDatabase, work: (trx: Db) => Promise<unknown>): Promise<unknown> {
	return database.open().transact(work).catch(asIs);
}

function asIs(error: unknown): unknown {
	return error;
}
