// Tests hot statements, which are those that run most often. On PostgreSQL each has a name, so that a
// connection plans it only once. The names can be turned off.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { arrayLiteral, hotStatement } from "#core/store/postgres/hot-statement.ts";
import type { Db, Store } from "#core/store/store.ts";
import { START_MS } from "../support/clock.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, openPostgresAt } from "../support/test-database.ts";

const DOUBLE = hotStatement<{ twice: number }>(
	"select n * 2 as twice from unnest($1::bigint[]) as t(n) order by n",
);
const DIVIDE = hotStatement<{ share: number }>("select 100 / $1::int as share");
const OF_NO_TABLE = hotStatement<object>("select a from a_table_to_come where a = $1::int");
const ECHO = hotStatement<{ text: string | null }>("select text from unnest($1::text[]) as t(text)");

/** Number of runs for which PostgreSQL plans a prepared statement before it may use a generic plan. */
const CUSTOM_PLANS = 5;
const RUNS = CUSTOM_PLANS + 3;

describe("hot statements (PostgreSQL)", () => {
	let database: TestDatabase | undefined;
	let store: Store | undefined;
	before(async () => {
		database = await createTestDatabase("PostgreSQL");
		store = database.open();
	});
	after(() => database?.remove());
	const inTransaction = (work: (trx: Db) => Promise<void>) => {
		if (store === undefined) throw new Error("the store is opened before the first test");
		return store.transact(work);
	};

	for (const preparesStatements of [true, false]) {
		const what = preparesStatements
			? "that runs often is planned once for a connection"
			: "can be sent without its name";
		test(`a hot statement ${what}, and other statements have no name`, async () => {
			const url = database?.location ?? "";
			// A new connection, which has no prepared statements yet.
			const opened = openPostgresAt(url, { preparesStatements });
			try {
				await opened.transact(async (trx) => {
					for (let n = 1; n <= 8; n++) {
						const doubled = await DOUBLE.run(trx, [arrayLiteral([n, n + 1])]);
						deepEqual(doubled, [{ twice: 2 * n }, { twice: 2 * n + 2 }]);
						await sql`select ${n}::int`.execute(trx);
					}
					deepEqual(await listPrepared(trx), preparesStatements ? [{ statement: DOUBLE.text, runs: 8 }] : []);
				});
			} finally {
				await opened.close();
			}
		});
	}

	test("reads of a single row are not planned anew for each row", async () => {
		const opened = openPostgresAt(database?.location ?? "", { preparesStatements: true });
		await opened.migrate(START_MS);
		const { batch, queue } = opened;
		try {
			await opened.transact(async (trx) => {
				for (let n = 1; n <= RUNS; n++) {
					const key = { programme_id: n, nonce: "n", order_id: "o" };
					await batch.look(trx, { nonces: [key], orders: [key], programmeIds: [n] });
					await batch.lock(trx, [n]);
					const receiverId = n as ReceiverId;
					await queue.readDue(trx, [{ receiverId, limit: 1, afterDueAtMs: -1, afterId: 0 }], n);
					await queue.readTargets(trx, [receiverId]);
				}
				const { rows } = await sql<{ customPlans: number }>`
					select custom_plans as "customPlans" from pg_prepared_statements where not from_sql`.execute(trx);
				deepEqual(
					rows.map(({ customPlans }) => customPlans),
					Array(4).fill(CUSTOM_PLANS),
				);
			});
		} finally {
			await opened.close();
		}
	});

	test("a hot statement that failed runs again on the same connection", async () => {
		const pids = new Set<number>();
		for (const by of [5, 0, 4]) {
			const run = inTransaction(async (trx) => {
				const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
				for (const { pid } of rows) pids.add(pid);
				deepEqual(await DIVIDE.run(trx, [by]), [{ share: 100 / by }]);
			});
			if (by === 0) await rejects(run, { code: "22012" });
			else await run;
		}
		equal(pids.size, 1);
	});

	test("a hot statement whose table did not exist runs once the table exists", async () => {
		await rejects(
			inTransaction(async (trx) => {
				await OF_NO_TABLE.run(trx, [1]);
			}),
			{ code: "42P01" },
		);
		await inTransaction(async (trx) => {
			await sql`create table a_table_to_come (a integer)`.execute(trx);
			deepEqual(await OF_NO_TABLE.run(trx, [1]), []);
		});
	});

	test("a hot statement still runs after a column is added to its table", async () => {
		await inTransaction(async (trx) => {
			await sql`create table a_growing_table as select 1 as a`.execute(trx);
		});
		const read = hotStatement<{ a: number }>("select a from a_growing_table where a = $1::int");
		await inTransaction(async (trx) => {
			deepEqual(await read.run(trx, [1]), [{ a: 1 }]);
			await sql`alter table a_growing_table add column b integer`.execute(trx);
			deepEqual(await read.run(trx, [1]), [{ a: 1 }]);
		});
	});

	test("an array parameter carries every text unchanged", async () => {
		const texts = [
			"",
			"NULL",
			null,
			"{}",
			"a,b",
			'say "x"',
			"back\\slash",
			" blank ",
			"line\nbreak",
			"ünï🦊",
			"'",
		];
		await inTransaction(async (trx) => {
			deepEqual(
				(await ECHO.run(trx, [arrayLiteral(texts)])).map(({ text }) => text),
				texts,
			);
			deepEqual(await ECHO.run(trx, [arrayLiteral([])]), []);
		});
	});
});

async function listPrepared(trx: Db): Promise<{ statement: string; runs: number }[]> {
	const { rows } = await sql<{ statement: string; runs: number }>`
		select statement, generic_plans + custom_plans as runs from pg_prepared_statements
		where not from_sql order by statement`.execute(trx);
	return rows;
}
