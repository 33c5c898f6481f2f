// Bringing a database to this program's schema, on both databases: new, again, by several at once, and
// when a newer program was there first.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { describe, test } from "node:test";
import { MIGRATIONS, type Migration } from "../../src/store/migrations.ts";
import { SchemaTooNewError, UnreleasedSchemaError } from "../../src/store/schema-state.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { settle, takeOne } from "../support/queue-rows.ts";
import { addDelivery, addProgramme, delivered } from "../support/rows.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, DATABASE_KINDS } from "../support/test-database.ts";

const NAMES = MIGRATIONS.map((migration) => migration.name);

for (const kind of DATABASE_KINDS) {
	describe(`migrations (${kind})`, () => {
		test("a new database gets every migration, in order", async () => {
			await using database = await openEmpty();
			const report = await database.store.migrate(START_MS);
			deepEqual(report, { version: MIGRATIONS.length, applied: NAMES });
			const rows = await readVersions(database.store);
			deepEqual(
				rows.map(({ version }) => version),
				NAMES.map((_, index) => index + 1),
			);
			deepEqual(
				rows.map(({ name }) => name.replace(/ [0-9a-f]{12}$/, "")),
				NAMES,
			);
		});

		test("a second start applies nothing and keeps what is stored", async () => {
			await using database = await openEmpty();
			await database.store.migrate(START_MS);
			await addProgramme(database.store);
			const report = await database.store.migrate(START_MS + 1);
			deepEqual(report, { version: MIGRATIONS.length, applied: [] });
			const kept = await database.store.db.selectFrom("programmes").select("name").execute();
			deepEqual(
				kept.map(({ name }) => name),
				["Shop"],
			);
		});

		test("of three processes on the same empty database one migrates and all go on", async () => {
			await using database = await openEmpty();
			const processes = [1, 2, 3].map(() =>
				fork(new URL("../support/migrating-process.ts", import.meta.url), [kind, database.location]),
			);
			await Promise.all(processes.map((process) => once(process, "message")));
			for (const process of processes) process.send("go");
			const reports = await Promise.all(processes.map(readReport));
			const applied = reports.map(({ applied }) => applied.length).sort();
			deepEqual(applied, [0, 0, MIGRATIONS.length]);
			equal((await readVersions(database.store)).length, MIGRATIONS.length);
		});

		test("a migration that fails leaves nothing of itself behind", async () => {
			await using database = await openEmpty();
			const broken = future(true, [
				"create table half_made (id integer)",
				"create table half_made (id integer)",
			]);
			const migrations = [...MIGRATIONS, broken];
			await rejects(database.store.migrate(START_MS, { migrations }), /half_made/);
			equal((await readVersions(database.store)).length, MIGRATIONS.length, "those before it stay");
			const tables = await database.store.db.introspection.getTables();
			equal(
				tables.some(({ name }) => name === "half_made"),
				false,
			);
		});

		test("an older program refuses a schema that a newer one has broken for it, and says what to do", async () => {
			await using database = await openEmpty();
			await database.store.migrate(START_MS, {
				migrations: [...MIGRATIONS, future(true), future(false)],
			});
			await rejects(database.store.migrate(START_MS), (error) => {
				equal(error instanceof SchemaTooNewError, true);
				equal(/newer Ringback/.test(String(error)), true);
				return true;
			});
			equal((await readVersions(database.store)).length, MIGRATIONS.length + 2);
		});

		test("a database from before the first release is refused, and the error says what to do", async () => {
			await using database = await openEmpty();
			const older = MIGRATIONS.map((migration) => ({ ...migration, name: "people and programmes" }));
			await database.store.migrate(START_MS, { migrations: [...older, future(true)] });
			await rejects(database.store.migrate(START_MS), (error) => {
				equal(error instanceof UnreleasedSchemaError, true);
				equal(/another DATABASE_URL/.test(String(error)), true);
				return true;
			});
			equal((await readVersions(database.store)).length, MIGRATIONS.length + 1);
		});

		test("so is one whose first schema had another column then", async () => {
			await using database = await openEmpty();
			const [first] = MIGRATIONS;
			ok(first !== undefined);
			const other: Migration = {
				...first,
				steps: (dialect) =>
					first.steps(dialect).map((step) => {
						if (step.kind !== "statements") return step;
						const statements = step.statements.map((text) =>
							text.replace("announced_body text", "body text"),
						);
						return { ...step, statements };
					}),
			};
			await database.store.migrate(START_MS, { migrations: [other] });
			await rejects(database.store.migrate(START_MS), UnreleasedSchemaError);
		});

		test("an older program works on a newer schema that only added to its tables", async () => {
			await using database = await openEmpty();
			const { store } = database;
			const added = ["attempts", "queue", "deliveries"].map(
				(table) => `alter table ${table} add column extra text`,
			);
			await store.migrate(START_MS, { migrations: [...MIGRATIONS, future(false, added)] });
			const report = await store.migrate(START_MS);
			deepEqual(report, { version: MIGRATIONS.length + 1, applied: [] });
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			deepEqual(await settle(store, delivered(await takeOne(store, programme.id, START_MS))), new Set([id]));
		});

		async function openEmpty(): Promise<TestDatabase & AsyncDisposable & { store: Store }> {
			const database = await createTestDatabase(kind);
			return { ...database, store: database.open(), [Symbol.asyncDispose]: () => database.remove() };
		}
	});
}

function future(isBreaking: boolean, statements: readonly string[] = []): Migration {
	return { name: "from the future", isBreaking, steps: () => [{ kind: "statements", statements }] };
}

function readVersions(store: Store) {
	return store.db.selectFrom("schema_versions").selectAll().orderBy("version").execute();
}

async function readReport(process: ChildProcess): Promise<{ applied: readonly string[] }> {
	const exited = once(process, "exit");
	// A process that dies says nothing: without the race the test would wait for its word forever.
	const [report] = await Promise.race([once(process, "message"), exited.then(([code]) => failed(code))]);
	await exited;
	return report as { applied: readonly string[] };
}

function failed(code: unknown): never {
	throw new Error(`a migrating process ended with ${code} instead of a report`);
}
