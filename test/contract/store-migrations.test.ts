// Bringing a database to this program's schema, on both databases: new, again, by several at once, and
// when a newer program was there first.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { sql } from "kysely";
import { Engine } from "../../src/callbacks/engine.ts";
import { SEALING_IV_BYTES, SEALING_KEY_BYTES, sealSecret } from "../../src/domain/sealing.ts";
import { sha256Hex } from "../../src/domain/signature.ts";
import { SECOND_MS } from "../../src/domain/time.ts";
import { createRandom } from "../../src/outside/random.ts";
import { findDeliveryDetail, listAttempts } from "../../src/store/queries/delivery-list.ts";
import { claimJob, listJobs } from "../../src/store/queries/jobs.ts";
import { givenWire } from "../../src/store/queries/known-network.ts";
import { checkLedger } from "../../src/store/queries/ledger.ts";
import { DIALECTS } from "../../src/store/schema/dialect.ts";
import { MIGRATIONS, type Migration, SchemaTooNewError } from "../../src/store/schema/migrations.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { takeDatabaseClock } from "../support/database-clock.ts";
import { createLog } from "../support/log.ts";
import { settle, takeOne } from "../support/queue-rows.ts";
import { addDelivery, addOwedConversion, addProgramme, delivered } from "../support/rows.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { createTestDatabase, DATABASE_KINDS } from "../support/test-database.ts";
import { until } from "../support/until.ts";

const SEALING_KEY = new Uint8Array(SEALING_KEY_BYTES).fill(7);
const TIMINGS = { lookUpMs: null, connectMs: null, tlsMs: null, answerMs: 1 };
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
				rows.map(({ name }) => name),
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

		test("of three processes on the same empty database each migration is done by one and all go on", async () => {
			await using database = await openEmpty();
			const processes = [1, 2, 3].map(() =>
				fork(new URL("../support/migrating-process.ts", import.meta.url), [kind, database.location]),
			);
			await Promise.all(processes.map((process) => once(process, "message")));
			for (const process of processes) process.send("go");
			const reports = await Promise.all(processes.map(readReport));
			const applied = reports.flatMap(({ applied }) => applied);
			deepEqual(applied.toSorted(), MIGRATIONS.map(({ name }) => name).toSorted(), "each once");
			equal((await readVersions(database.store)).length, MIGRATIONS.length);
		});

		test("a process that is killed leaves no lock behind, and the next goes on for it", async () => {
			await using database = await openEmpty();
			const killed = fork(new URL("../support/migrating-process.ts", import.meta.url), [
				kind,
				database.location,
				"killed",
			]);
			const exited = once(killed, "exit");
			await once(killed, "message");
			killed.send("go");
			await exited;
			equal(killed.signalCode, "SIGKILL");
			const told: string[] = [];
			const { applied } = await database.store.migrate(START_MS, { tell: (progress) => told.push(progress) });
			deepEqual(applied, NAMES.slice(1));
			deepEqual(told, [`${NAMES[1]}: done; the schema is at version 2`]);
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

		test("the schema of 1.0.0 is as it was released", () => {
			const [first] = MIGRATIONS;
			const statements = first?.statements(DIALECTS[kind === "SQLite" ? "sqlite" : "postgres"]);
			const hash = sha256Hex(JSON.stringify([{ kind: "statements", statements }])).slice(0, 12);
			equal(hash, kind === "SQLite" ? "704e8e9c865d" : "cfd29a13bbea");
		});

		test("what 1.0.0 has left pending is sent once, when its lease is over, and nothing else is", async () => {
			await using database = await openEmpty();
			const { store } = database;
			const databaseClock = await takeDatabaseClock(database);
			await store.migrate(START_MS, { migrations: MIGRATIONS.slice(0, 1) });
			const left = await leaveAsOldRelease(store);
			await store.migrate(START_MS);
			deepEqual((await checkLedger(store)).broken, []);
			deepEqual(await shownAttempts(store, left.interrupted), { count: 1, seqs: [1] });

			const clock = createClock();
			const sent: number[] = [];
			const engine = new Engine({
				store,
				clock,
				log: createLog(),
				random: createRandom(),
				transport: {
					async post({ body }) {
						sent.push(JSON.parse(body).conversion);
						return { outcome: { kind: "answered", status: 204 }, timings: TIMINGS, kept: null };
					},
				},
				sealingKey: SEALING_KEY,
				wire: givenWire("Service"),
				caps: { perProgramme: 8, overall: 64 },
				load: { busyShare: () => 0, lateMs: () => 0 },
				onNotice: () => undefined,
			});
			/** The clock of the process and that of the database go on together. */
			const untilThen = (isReached: () => boolean | Promise<boolean>) =>
				until(isReached, undefined, async (pauseMs) => {
					await databaseClock.set(clock.nowMs() + 500);
					await clock.moveBy(500);
					await wait(pauseMs);
				});
			await untilThen(() => clock.nowMs() >= left.goodUntilMs);
			deepEqual(sent, [], "its engine may still have them in hand");
			await untilThen(() => sent.length >= 2);
			deepEqual(sent.toSorted(), left.due.toSorted());
			await untilThen(async () => (await store.db.selectFrom("queue").select("id").execute()).length === 0);
			deepEqual(await shownAttempts(store, left.interrupted), { count: 2, seqs: [3, 1] });
			deepEqual((await checkLedger(store)).broken, []);
			let hasStopped = false;
			void engine.stop().then(() => {
				hasStopped = true;
			});
			await untilThen(() => hasStopped);
			deepEqual(sent.toSorted(), [...left.due, left.later].sort());
			ok(clock.nowMs() >= left.dueLaterMs);
			deepEqual(
				await store.db.selectFrom("engines").select("id").execute(),
				[],
				"the old one's row is gone, too",
			);
		});

		test("of 1.0.0's jobs what was begun stays on record as it ended, and nothing goes on by itself", async () => {
			await using database = await openEmpty();
			const { store } = database;
			await store.migrate(START_MS, { migrations: MIGRATIONS.slice(0, 1) });
			for (const state of ["storing", "uploaded", "previewed", "applying", "done"]) {
				await sql`insert into bulk_jobs (public_id, programme_id, person_id, decided_by, source, file_name, state,
						row_count, done_rows, claim_until_ms, created_at_ms, applied_at_ms)
					values (${`job_${state}`}, 7, 3, 'shop', 'file', 'x.csv', ${state}, 900, 500, 0, 1, 2)`.execute(
					store.db,
				);
				await sql`insert into import_jobs (public_id, kind, file_name, file_bytes, person_id, state, invites, row_count,
						done_rows, done_batches, lines, claim_until_ms, created_at_ms, applied_at_ms)
					values (${`imp_${state}`}, 'people', 'y.csv', 10, 3, ${state}, 0, 90, 50, 1, 'kept', 0, 1, 2)`.execute(
					store.db,
				);
			}
			await store.migrate(START_MS);
			deepEqual(
				(await listJobs(store.db, 7, 9)).map((job) => [job.public_id, job.kind, job.state, job.lines]),
				[
					["job_done", "decisions", "done", "gone"],
					["job_applying", "decisions", "stopped", "gone"],
				],
			);
			deepEqual(
				(await listJobs(store.db, null, 9)).map((job) => [job.public_id, job.state, job.done_rows]),
				[
					["imp_done", "done", 50],
					["imp_applying", "stopped", 50],
				],
			);
			equal(await claimJob(store.db, "claim", START_MS, START_MS), undefined);
		});

		async function openEmpty(): Promise<TestDatabase & AsyncDisposable & { store: Store }> {
			const database = await createTestDatabase(kind);
			return { ...database, store: database.open(), [Symbol.asyncDispose]: () => database.remove() };
		}
	});
}

test("a table that somebody reads is waited for two seconds at a time, and nobody waits behind us for long (PostgreSQL)", async () => {
	await using database = await createTestDatabase("PostgreSQL").then((made) => ({
		...made,
		[Symbol.asyncDispose]: () => made.remove(),
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
		// Only now the reader ends, and the migration comes through.
		return { migrating: begun };
	});
	deepEqual((await migrating).applied, ["from the future"]);
	match(told[0] ?? "", /a table that has to be changed is in use; trying again \(1 of 100\)/);
	// Two seconds and what a busy machine adds. Behind one that waits on and on it would be the fifteen of a statement.
	ok(longestMs < 10_000, `somebody waited for ${longestMs} ms`);
});

/** Two that are due and one that waits, an engine whose lease is good, and what it had in hand; and one that has ended. */
async function leaveAsOldRelease(store: Store) {
	const goodUntilMs = START_MS + 10 * SECOND_MS;
	const dueLaterMs = START_MS + 25 * SECOND_MS;
	const programme = await addProgramme(store);
	const sealed = sealSecret(SEALING_KEY, programme.id, "rbs_1", new Uint8Array(SEALING_IV_BYTES));
	await store.db.updateTable("signing_secrets").set({ sealed }).execute();
	const made = [];
	for (let n = 0; n < 4; n++) made.push(await addOwedConversion(store, programme));
	const [ended, interrupted, inHand, later] = made.map(({ deliveryId }) => deliveryId);
	const attempt = (id: number | undefined, seq: number, result: string, status: number | null) =>
		`insert into attempts (delivery_id, seq, programme_id, run, result, http_status, started_at_ms)
			values (${id}, ${seq}, ${programme.id}, 1, '${result}', ${status}, ${START_MS})`;
	for (const statement of [
		`delete from queue where id = ${ended}`,
		`update deliveries set attempts = 1, finished_at_ms = ${START_MS}, state = 'delivered' where id = ${ended}`,
		attempt(ended, 1, "answered", 204),
		`update deliveries set attempts = 2, interrupted = 1 where id = ${interrupted}`,
		`update queue set counted = 1, seq = 2 where id = ${interrupted}`,
		attempt(interrupted, 1, "answered", 503),
		attempt(interrupted, 2, "interrupted", null),
		`update queue set due_at_ms = ${dueLaterMs} where id = ${later}`,
		`insert into engines (id, good_until_ms, held) values (9, ${goodUntilMs}, 1)`,
		`insert into lanes (receiver_id, next_due_ms, engine_id) values (${programme.id}, ${START_MS}, 9)`,
		`insert into handouts (engine_id, number, at_ms, delivery_ids, dues)
			values (9, 1, ${START_MS}, '${inHand}', '${START_MS}')`,
	])
		await sql.raw(statement).execute(store.db);
	const [, first, second, last] = made.map(({ conversionId }) => conversionId);
	return { interrupted: interrupted ?? 0, due: [first, second], later: last, goodUntilMs, dueLaterMs };
}

/** As pages show them. */
async function shownAttempts({ db }: Store, id: number) {
	const { public_id, receiver_id } = await db
		.selectFrom("deliveries")
		.select(["public_id", "receiver_id"])
		.where("id", "=", id)
		.executeTakeFirstOrThrow();
	const detail = await findDeliveryDetail(db, receiver_id, public_id);
	return { count: detail?.attempts, seqs: (await listAttempts(db, id)).map(({ seq }) => seq) };
}

function future(isBreaking: boolean, statements: readonly string[] = []): Migration {
	return { name: "from the future", isBreaking, statements: () => statements };
}

function readVersions(store: Store) {
	return store.db.selectFrom("schema_versions").selectAll().orderBy("version").execute();
}

async function readReport(process: ChildProcess): Promise<{ applied: readonly string[] }> {
	const exited = once(process, "exit");
	// A process that dies says nothing: without the race the test would wait for its word forever.
	const [report] = await Promise.race([once(process, "message"), exited.then(([code]) => endedEarly(code))]);
	await exited;
	return report as { applied: readonly string[] };
}

function endedEarly(code: unknown): never {
	throw new Error(`a migrating process ended with ${code} instead of a report`);
}
