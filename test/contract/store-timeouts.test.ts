// Tests that statements and transactions whose caller has stopped waiting also end at the PostgreSQL server.
// The number of our connections there is limited, and each has a name.

import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { PostgresSetting } from "#core/store/postgres/setting.ts";
import type { Store } from "#core/store/store.ts";
import { isDatabaseUnavailable } from "#core/store/unavailable.ts";
import { realClock } from "../../src/outside/clock.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, openPostgresAt } from "../support/test-database.ts";
import { until } from "../support/until.ts";

describe("time limits on the PostgreSQL server", () => {
	let database: TestDatabase;
	let onlooker: Store;
	before(async () => {
		database = await createTestDatabase("PostgreSQL");
		onlooker = database.open();
		await sql`create table guarded (id int)`.execute(onlooker.db);
	});
	after(() => database.remove());

	test("every connection has the time limits", async () => {
		await withStore({}, async (store) => {
			const { rows } = await sql`
				select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
					current_setting('idle_in_transaction_session_timeout') as idle`.execute(store.db);
			deepEqual(rows, [{ statement: "15s", lock: "10s", idle: "15s" }]);
		});
	});

	// Limits in the URL override the default ones, so that the tests need not wait for ten seconds.
	const blocked = [
		["waits for a lock", "lock_timeout=200", "select * from guarded", "55P03"],
		["runs too long", "statement_timeout=200", "select pg_sleep(60)", "57014"],
	] as const;
	for (const [what, limit, statement, code] of blocked) {
		test(`a statement that ${what} is ended by the server, and the caller may retry`, async () => {
			await withStore({ url: `${database.url}?${limit}` }, (store) =>
				onlooker.transact(async (trx) => {
					await sql`lock table guarded in access exclusive mode`.execute(trx);
					const error = await sql.raw(statement).execute(store.db).catch(asIs);
					ok(error instanceof Error && "code" in error, String(error));
					equal(error.code, code);
					ok(isDatabaseUnavailable(error));
					// The server first answers, and shows the connection as idle a moment later.
					await until(async () => (await activities("ringback-timeouts", "active")).length === 0);
				}),
			);
		});
	}

	test("a server that falls silent counts as unreachable at once, and the connection is not used again", async () => {
		await withStore({ url: `${database.url}?query_timeout=200`, poolSize: 1 }, async (store) => {
			const silent = store.transact((trx) => sql`select pg_sleep(60)`.execute(trx));
			ok(isDatabaseUnavailable(await silent.catch(asIs)));
			await sql`select 1`.execute(store.db);
			// The ROLLBACK and the next query did not wait for the silent statement, which is still running.
			const { rows } = await sql`select pg_terminate_backend(pid) as ended from pg_stat_activity
				where application_name = 'ringback-timeouts' and query like '%pg_sleep(60)%' and state = 'active'`.execute(
				onlooker.db,
			);
			deepEqual(rows, [{ ended: true }]);
		});
		await until(async () => (await activities("ringback-timeouts")).length === 0);
	});

	test("a slow statement does not count as silence, even if the server answers nothing else meanwhile", async () => {
		const store = openPostgresAt(database.url, {}, { clock: realClock, name: "ringback-timeouts" });
		try {
			const { rows } = await sql`select pg_sleep(1.2) is null as is_null`.execute(store.db);
			deepEqual(rows, [{ is_null: false }]);
		} finally {
			await store.close();
		}
	});

	test("an idle transaction is ended, and its locks are released", async () => {
		const url = `${database.url}?idle_in_transaction_session_timeout=100`;
		await withStore({ url }, async (store) => {
			const abandoned = store.transact(async (trx) => {
				await sql`lock table guarded in access exclusive mode`.execute(trx);
				await until(async () => (await activities("ringback-timeouts", "idle in transaction")).length === 0);
				await sql`select 1`.execute(trx);
			});
			ok(isDatabaseUnavailable(await abandoned.catch(asIs)));
			await sql`select * from guarded`.execute(onlooker.db);
		});
	});

	test("a process opens at most the configured number of connections, and they have its name", async () => {
		await until(async () => (await activities("ringback-timeouts")).length === 0);
		await withStore({ poolSize: 3 }, async (store) => {
			await Promise.all(Array.from({ length: 9 }, () => sql`select pg_sleep(0.02)`.execute(store.db)));
			equal((await activities("ringback-timeouts")).length, 3);
			store.onDue({ onOwed: () => [], onTargetChange: () => undefined, onRecheck: () => undefined });
			await until(async () => (await activities("ringback-timeouts-listen")).length === 1);
		});
		await withStore({ url: `${database.url}?application_name=mine` }, async (store) => {
			await sql`select 1`.execute(store.db);
			equal((await activities("mine")).length, 1);
		});
	});

	async function withStore(
		setting: Partial<PostgresSetting>,
		work: (store: Store) => Promise<void>,
	): Promise<void> {
		const { url = database.url, ...rest } = setting;
		const store = openPostgresAt(url, rest, { name: "ringback-timeouts" });
		try {
			await work(store);
		} finally {
			await store.close();
		}
	}

	async function activities(name: string, state?: string): Promise<unknown[]> {
		const { rows } = await sql`
			select pid from pg_stat_activity where datname = current_database() and application_name = ${name}
				and (${state ?? null}::text is null or state = ${state ?? null})`.execute(onlooker.db);
		return rows;
	}
});

function asIs(error: unknown): unknown {
	return error;
}
