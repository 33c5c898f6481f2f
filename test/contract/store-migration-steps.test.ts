// The steps of a migration on both databases: broken off and gone on with, beside people who work, and never in their way.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { describe, test } from "node:test";
import { sql } from "kysely";
import type { Migration, MigrationStep } from "../../src/store/migrations.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { GADGETS, WITH_GADGETS, WITH_WEIGHT } from "../support/made-up-migrations.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, DATABASE_KINDS } from "../support/test-database.ts";

type Open = TestDatabase & AsyncDisposable & { store: Store };

for (const kind of DATABASE_KINDS) {
	describe(`steps of a migration (${kind})`, () => {
		test("all are done, in order, and it is said how far it is", async () => {
			await using database = await open(kind);
			const told: string[] = [];
			const report = await database.store.migrate(START_MS, {
				migrations: WITH_WEIGHT,
				tell: (progress) => told.push(progress),
			});
			deepEqual(report.version, WITH_WEIGHT.length);
			await checkWeights(database.store);
			ok(told.includes("the weight of gadgets: step 3 of 4, filling gadgets up to 1000"), told.join("\n"));
			match(told.at(-1) ?? "", /^the weight of gadgets: done; the schema is at version \d+$/);
			deepEqual(await database.store.db.selectFrom("schema_progress").selectAll().execute(), []);
		});

		test("broken off in the middle of a backfill it goes on where it was, and fills no row twice", async () => {
			await using database = await open(kind);
			const { store } = database;
			const stop = new Error("broken off");
			const breakOff = store.migrate(START_MS, {
				migrations: WITH_WEIGHT,
				tell: (progress) => {
					if (progress.endsWith("up to 3000")) throw stop;
				},
			});
			await rejects(breakOff, stop);
			const [progress] = await store.db.selectFrom("schema_progress").selectAll().execute();
			deepEqual({ ...progress }, { version: WITH_WEIGHT.length, step: 2, position: 3_000 });
			const { applied } = await store.migrate(START_MS, { migrations: WITH_WEIGHT });
			deepEqual(applied, ["the weight of gadgets"]);
			await checkWeights(store);
		});

		test("a process that is killed leaves no lock behind, and the next goes on for it", async () => {
			await using database = await open(kind);
			const url = new URL("../support/migrating-process.ts", import.meta.url);
			const killed = fork(url, [kind, database.location, "made-up"]);
			const exited = once(killed, "exit");
			await once(killed, "message");
			killed.on("message", (message: { progress?: string }) => {
				if (message.progress?.includes("filling") === true) killed.kill("SIGKILL");
			});
			killed.send("go");
			await exited;
			equal(killed.signalCode, "SIGKILL");
			await database.store.migrate(START_MS, { migrations: WITH_WEIGHT });
			await checkWeights(database.store);
		});

		test("an index that cannot be built is built anew once it can", async () => {
			await using database = await open(kind);
			const { store } = database;
			const unique: MigrationStep = {
				kind: "index",
				name: "one_a_size",
				on: "gadgets (size)",
				isUnique: true,
			};
			const migrations = [...WITH_GADGETS, migrationOf(unique)];
			await rejects(store.migrate(START_MS, { migrations }));
			equal((await store.db.selectFrom("schema_versions").select("version").execute()).length, 2);
			await sql`delete from gadgets where id > 100`.execute(store.db);
			await store.migrate(START_MS, { migrations });
			await rejects(sql`insert into gadgets values (101, 1)`.execute(store.db), "it is unique");
			if (kind === "PostgreSQL") {
				const { rows } = await sql`select indisvalid from pg_index
					where indexrelid = 'one_a_size'::regclass`.execute(store.db);
				deepEqual(rows, [{ indisvalid: true }]);
			}
		});
	});
}

describe("migrating beside others (PostgreSQL)", () => {
	test("a table that somebody reads is waited for two seconds at a time, and nobody waits behind us for long", async () => {
		await using database = await open("PostgreSQL");
		const { store } = database;
		const reader = database.open();
		const latecomer = database.open();
		await store.migrate(START_MS, { migrations: WITH_GADGETS });
		const told: string[] = [];
		const hasBeenTold = Promise.withResolvers<void>();
		let longestMs = 0;
		await reader
			.transact(async (trx) => {
				await sql`select * from gadgets limit 1`.execute(trx);
				const migrating = store.migrate(START_MS, {
					migrations: WITH_WEIGHT,
					tell: (progress) => {
						told.push(progress);
						hasBeenTold.resolve();
					},
				});
				let isWaiting = true;
				void hasBeenTold.promise.then(() => {
					isWaiting = false;
				});
				while (isWaiting) {
					const begunAtMs = performance.now();
					await sql`select * from gadgets limit 1`.execute(latecomer.db);
					longestMs = Math.max(longestMs, performance.now() - begunAtMs);
				}
				// Only now the reader ends, and the migration comes through.
				void migrating.catch(() => undefined);
				return { migrating };
			})
			.then(({ migrating }) => migrating);
		match(told[0] ?? "", /somebody is using a table that has to be changed; trying again \(1 of 100\)/);
		// Two seconds and what a busy machine adds. Behind one that waits on and on it would be the fifteen of a statement.
		ok(longestMs < 10_000, `somebody waited for ${longestMs} ms`);
		await checkWeights(store);
	});

	test("while an index is built and rows are filled others write", async () => {
		await using database = await open("PostgreSQL");
		const { store } = database;
		const writer = database.open();
		await store.migrate(START_MS, { migrations: WITH_GADGETS });
		let longestMs = 0;
		let isDone = false;
		const startedAtMs = performance.now();
		const migrating = store.migrate(START_MS, { migrations: WITH_WEIGHT }).finally(() => {
			isDone = true;
		});
		let id = GADGETS;
		while (!isDone) {
			const begunAtMs = performance.now();
			await sql`insert into gadgets (id, size) values (${++id}, 1)`.execute(writer.db);
			longestMs = Math.max(longestMs, performance.now() - begunAtMs);
		}
		await migrating;
		ok(id > GADGETS + 10, "somebody wrote meanwhile");
		// On a busy machine everything takes long; whoever is locked out waits for as long as a whole step takes.
		const mostMs = Math.max(1_000, (performance.now() - startedAtMs) / 3);
		ok(longestMs < mostMs, `somebody waited for ${longestMs} of ${3 * mostMs} ms`);
	});
});

function migrationOf(...steps: readonly MigrationStep[]): Migration {
	return { name: "made up", isBreaking: false, steps: () => steps };
}

async function checkWeights({ db }: Store): Promise<void> {
	const { rows } = await sql<{ count: number; wrong: number }>`
		select count(*) as count, sum(case when weight = size * 2 + 1 then 0 else 1 end) as wrong
		from gadgets where id <= ${GADGETS}`.execute(db);
	deepEqual({ ...rows[0] }, { count: GADGETS, wrong: 0 });
}

async function open(kind: (typeof DATABASE_KINDS)[number]): Promise<Open> {
	const database = await createTestDatabase(kind);
	return { ...database, store: database.open(), [Symbol.asyncDispose]: () => database.remove() };
}
