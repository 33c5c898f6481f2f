// Tests that databases which an earlier version has filled reach the current schema with every row, on both databases.
// Checks of what a migration does to old rows stand here, one test for each migration.

import { deepEqual } from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { checkLedger } from "../../src/store/queries/ledger.ts";
import { MIGRATIONS } from "../../src/store/schema/migrations.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { createKeptDatabase, type KeptState, readKeptState } from "../support/kept-state.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";

/** Columns, written "table.column", that a migration gives another value. Each has a test of its own below. */
const CHANGED: readonly string[] = [];

for (const kind of DATABASE_KINDS) {
	describe(`a database of version 1 after all migrations (${kind})`, () => {
		const state: KeptState = readKeptState(1);
		let database: TestDatabase;
		let store: Store;
		before(async () => {
			database = await createKeptDatabase(kind, state);
			store = database.open();
			await store.migrate(START_MS);
		});
		after(() => database.remove());

		test("it has the current version", async () => {
			const versions = store.db.selectFrom("schema_versions").select("version").orderBy("version");
			const rows = await versions.execute();
			deepEqual(
				rows.map(({ version }) => version),
				MIGRATIONS.map((_migration, index) => index + 1),
			);
		});

		test("it has every row, and only the columns that a migration changes have other values", async () => {
			for (const [table, { columns, rows }] of Object.entries(state.tables)) {
				const kept = columns.filter((column) => !CHANGED.includes(`${table}.${column}`));
				const refs = sql.join(kept.map((column) => sql.ref(column)));
				const query = sql<Record<string, unknown>>`select ${refs} from ${sql.table(table)}`;
				const found = await query.execute(store.db);
				const expected = rows.map((row) =>
					JSON.stringify(kept.map((column) => row[columns.indexOf(column)])),
				);
				const actual = found.rows.map((row) => JSON.stringify(kept.map((column) => row[column])));
				deepEqual(actual.sort(), expected.sort(), table);
			}
		});

		test("the ledger has no rule broken that was not broken before", async () => {
			deepEqual((await checkLedger(store)).broken, state.broken);
		});
	});
}
