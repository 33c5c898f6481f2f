// Tests migrations on both databases: a new database, a second start, several processes at once, a process
// that is killed, and a schema that a newer program has changed. A made-up second migration represents those
// of later releases.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { sha256Hex } from "#core/domain/signature.ts";
import { DIALECTS } from "#core/store/schema/dialect.ts";
import { MIGRATIONS, type Migration, SchemaTooNewError } from "#core/store/schema/migrations.ts";
import type { Store } from "#core/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { MADE_UP_MIGRATION, WITH_MADE_UP } from "../support/made-up-migration.ts";
import { settle, takeOne } from "../support/queue-rows.ts";
import { addDelivery, addProgramme, delivered } from "../support/rows.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, DATABASE_KINDS } from "../support/test-database.ts";

/**
 * Hashes of the statements of every released migration, by its name. A database that an earlier release has made must have
 * the same schema as a new one, so released statements never change.
 */
const RELEASED: Readonly<Record<string, { sqlite: string; postgres: string }>> = {
	"first schema": {
		sqlite: "3f9a783612143eead19aeb0f3ce524ecca2309c2f0fb074a42a9686e07136f55",
		postgres: "c7f66aacef1074eecd37ef7b8430e0f5429efbd94d6fa721498b070a97d6f24d",
	},
};

const NAMES = MIGRATIONS.map((migration) => migration.name);

for (const kind of DATABASE_KINDS) {
	describe(`migrations (${kind})`, () => {
		test("a new database gets every migration, in order", async () => {
			await using database = await openEmpty();
			const report = await database.store.migrate(START_MS, { migrations: WITH_MADE_UP });
			const names = [...NAMES, MADE_UP_MIGRATION.name];
			deepEqual(report, { version: names.length, applied: names });
			const rows = await readVersions(database.store);
			deepEqual(
				rows.map(({ version, name }) => [version, name]),
				names.map((name, index) => [index + 1, name]),
			);
		});

		test("a second start applies nothing and leaves the rows as they are", async () => {
			await using database = await openEmpty();
			await database.store.migrate(START_MS);
			await addProgramme(database.store);
			const report = await database.store.migrate(START_MS + 1);
			deepEqual(report, { version: MIGRATIONS.length, applied: [] });
			const programmes = await database.store.db.selectFrom("programmes").select("name").execute();
			deepEqual(
				programmes.map(({ name }) => name),
				["Shop"],
			);
		});

		test("a newer program applies only the new migration, and the rows stay", async () => {
			await using database = await openEmpty();
			const { store } = database;
			await store.migrate(START_MS);
			await addProgramme(store);
			const report = await store.migrate(START_MS + 1, { migrations: WITH_MADE_UP });
			deepEqual(report, { version: WITH_MADE_UP.length, applied: [MADE_UP_MIGRATION.name] });
			deepEqual(await readNotes(store), ["Shop"]);
		});

		for (const isNew of [true, false]) {
			const what = isNew ? "an empty database" : "a database of the previous release";
			test(`when three processes migrate ${what} at once, each migration is applied once and all continue`, async () => {
				await using database = await openEmpty();
				if (!isNew) {
					await database.store.migrate(START_MS);
					await addProgramme(database.store);
				}
				const processes = [1, 2, 3].map(() => forkMigration(database.location));
				await Promise.all(processes.map((process) => once(process, "message")));
				for (const process of processes) process.send("go");
				const reports = await Promise.all(processes.map(readReport));
				const applied = reports.flatMap((report) => report.applied);
				const expected = isNew ? [...NAMES, MADE_UP_MIGRATION.name] : [MADE_UP_MIGRATION.name];
				deepEqual(applied.toSorted(), expected.toSorted());
				equal((await readVersions(database.store)).length, WITH_MADE_UP.length);
				deepEqual(await readNotes(database.store), isNew ? [] : ["Shop"]);
			});
		}

		test("a process that is killed between two migrations leaves no lock, and the next process resumes", async () => {
			await using database = await openEmpty();
			const killed = forkMigration(database.location, "killed");
			const exited = once(killed, "exit");
			await once(killed, "message");
			killed.send("go");
			await exited;
			equal(killed.signalCode, "SIGKILL");
			const told: string[] = [];
			const { applied } = await database.store.migrate(START_MS, {
				migrations: WITH_MADE_UP,
				// The server may take a moment to notice that the killed process is gone.
				tell: (progress) => {
					if (!progress.startsWith("another process is migrating")) told.push(progress);
				},
			});
			const resumed = WITH_MADE_UP.slice(1).map(({ name }) => name);
			deepEqual(applied, resumed);
			deepEqual(
				told,
				resumed.map((name, index) => `${name}: done; the schema is at version ${index + 2}`),
			);
		});

		test("a migration that fails leaves nothing behind, and the next start tries it again", async () => {
			await using database = await openEmpty();
			const { store } = database;
			const broken = future(true, [
				"create table half_made (id integer)",
				"create table half_made (id integer)",
			]);
			await rejects(store.migrate(START_MS, { migrations: [...MIGRATIONS, broken] }), /half_made/);
			equal((await readVersions(store)).length, MIGRATIONS.length, "the earlier ones stay");
			const tables = await store.db.introspection.getTables();
			equal(
				tables.some(({ name }) => name === "half_made"),
				false,
			);
			const corrected = future(true, ["create table half_made (id integer)"]);
			const { applied } = await store.migrate(START_MS, { migrations: [...MIGRATIONS, corrected] });
			deepEqual(applied, [corrected.name]);
		});

		test("an older program refuses a schema that a breaking migration has changed, and says what to do", async () => {
			await using database = await openEmpty();
			await database.store.migrate(START_MS, {
				migrations: [...MIGRATIONS, future(true), future(false)],
			});
			await rejects(database.store.migrate(START_MS), (error) => {
				ok(error instanceof SchemaTooNewError);
				match(error.message, /Start a newer Ringback/);
				return true;
			});
			equal((await readVersions(database.store)).length, MIGRATIONS.length + 2);
		});

		test("an older program works on a newer schema that only added to its tables", async () => {
			await using database = await openEmpty();
			const { store } = database;
			const added = ["attempts", "queue", "events"].map(
				(table) => `alter table ${table} add column extra text`,
			);
			await store.migrate(START_MS, { migrations: [...WITH_MADE_UP, future(false, added)] });
			const report = await store.migrate(START_MS);
			deepEqual(report, { version: MIGRATIONS.length + 2, applied: [] });
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			deepEqual(
				await settle(store, delivered(await takeOne(store, programme.receiver_id, START_MS))),
				new Set([id]),
			);
		});

		async function openEmpty(): Promise<TestDatabase & AsyncDisposable & { store: Store }> {
			const database = await createTestDatabase(kind);
			return { ...database, store: database.open(), [Symbol.asyncDispose]: () => database.remove() };
		}

		function forkMigration(location: string, ...more: readonly string[]): ChildProcess {
			return fork(new URL("../support/migrating-process.ts", import.meta.url), [kind, location, ...more]);
		}
	});
}

test("the first schema and released migrations are never changed, and a release pins the hash of each", () => {
	const changelog = readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
	const [newest = ""] = /^## \[.*$/m.exec(changelog) ?? [];
	const isReleased = !/unreleased/i.test(newest);
	for (const { name, statements } of MIGRATIONS) {
		const hashOf = (kind: "sqlite" | "postgres") => sha256Hex(JSON.stringify(statements(DIALECTS[kind])));
		const present = { sqlite: hashOf("sqlite"), postgres: hashOf("postgres") };
		const pinned = RELEASED[name];
		if (pinned === undefined) {
			ok(!isReleased, `"${newest}" is released, so RELEASED needs "${name}": ${JSON.stringify(present)}`);
		} else deepEqual(present, pinned, `"${name}" is released: add a new migration instead of changing it`);
	}
});

test("a migration waits for a table in use two seconds at a time, so that readers behind it never wait long (PostgreSQL)", async () => {
	await using database = await createTestDatabase("PostgreSQL").then((created) => ({
		...created,
		[Symbol.asyncDispose]: () => created.remove(),
	}));
	const [store, reader, latecomer] = [database.open(), database.open(), database.open()];
	await store.migrate(START_MS);
	const migrations = [...MIGRATIONS, future(true, ["alter table programmes add column extra text"])];
	const told: string[] = [];
	let longestMs = 0;
	const { migrating } = await reader.transact(async (trx) => {
		await sql`select * from programmes limit 1`.execute(trx);
		const begun = store.migrate(START_MS, { migrations, tell: (progress) => told.push(progress) });
		while (told.length === 0) {
			const begunAtMs = performance.now();
			await sql`select * from programmes limit 1`.execute(latecomer.db);
			longestMs = Math.max(longestMs, performance.now() - begunAtMs);
		}
		// The reader's transaction ends here, and the migration can take the lock.
		return { migrating: begun };
	});
	deepEqual((await migrating).applied, ["from the future"]);
	match(told[0] ?? "", /a table that has to be changed is in use; trying again \(1 of 100\)/);
	// The limit allows for two seconds and a busy machine. A migration that waited without a limit would make
	// the later reader wait until its statement timeout of 15 seconds.
	ok(longestMs < 10_000, `a reader waited for ${longestMs} ms`);
});

function future(isBreaking: boolean, statements: readonly string[] = []): Migration {
	return { name: "from the future", isBreaking, statements: () => statements };
}

function readVersions(store: Store) {
	return store.db.selectFrom("schema_versions").selectAll().orderBy("version").execute();
}

/** Reads the table that the made-up migration has created and filled. */
async function readNotes({ db }: Store): Promise<string[]> {
	const { rows } = await sql<{ note: string }>`select note from programme_notes order by id`.execute(db);
	return rows.map(({ note }) => note);
}

async function readReport(process: ChildProcess): Promise<{ applied: readonly string[] }> {
	const exited = once(process, "exit");
	// A process that dies sends no message. Without the race the test would wait for it forever.
	const [report] = await Promise.race([once(process, "message"), exited.then(([code]) => endedEarly(code))]);
	await exited;
	return report as { applied: readonly string[] };
}

function endedEarly(code: unknown): never {
	throw new Error(`a migrating process ended with ${code} instead of a report`);
}
