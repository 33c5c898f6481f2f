// Brings a database to this program's schema, step by step, each step in transactions of its own: nobody who works with
// the database meanwhile waits for longer than a moment. How far it has come is kept in the database
// (`schema_progress`), so that one that is broken off goes on where it was.

import { sql } from "kysely";
import { MIGRATIONS, type Migration, type MigrationStep } from "./migrations.ts";
import type { Db } from "./schema.ts";
import { checkSchema, type PresentSchema, readSchema, storedName } from "./schema-state.ts";
import type { Dialect } from "./tables/dialect.ts";

export interface MigrationReport {
	version: number;
	applied: readonly string[];
}

export interface MigrateOptions {
	migrations?: readonly Migration[];
	/** Hears a sentence whenever something begins, goes on or has to wait. */
	tell?: (progress: string) => void;
}

type IndexStep = Extract<MigrationStep, { kind: "index" }>;
type BackfillStep = Extract<MigrationStep, { kind: "backfill" }>;

/** What a database does for it. */
export interface MigrationDriver {
	dialect: Dialect;
	/** No other process is inside at the same time, or each sees what those before it have stored. */
	transact<Value>(work: (trx: Db) => Promise<Value>): Promise<Value>;
	/** Also when somebody broke it off before. Outside a transaction, where the database can. */
	buildIndex(index: IndexStep): Promise<void>;
}

/** A batch holds its rows' locks until it is stored: this many are written in some milliseconds. */
const BACKFILL_ROWS = 1_000;

export async function applyMigrations(
	driver: MigrationDriver,
	nowMs: number,
	{ migrations = MIGRATIONS, tell = () => undefined }: MigrateOptions,
): Promise<MigrationReport> {
	await driver.transact(makeVersionTables);
	const applied: string[] = [];
	for (;;) {
		const { name, ...next } = await driver.transact((trx) => goOn(trx, driver.dialect, migrations, nowMs));
		if (next.state === "current") return { version: next.version, applied };
		if (next.state === "applied") applied.push(name);
		tell(`${name}: ${next.progress}`);
		if (next.state === "index") {
			await driver.buildIndex(next.index);
			await driver.transact((trx) => saveProgress(trx, { ...next.at, step: next.at.step + 1 }));
		}
	}
}

/** How far a migration has come. */
interface Progress {
	version: number;
	/** Steps that are done. */
	step: number;
	/** The highest key a backfill has come to. */
	position: number | null;
}

type Next =
	| { state: "current"; version: number }
	| { state: "applied" | "under way"; progress: string }
	| { state: "index"; progress: string; at: Progress; index: IndexStep };

/** One transaction's worth: all statements of a step, or a batch of a backfill. An index is left to the caller. */
async function goOn(
	trx: Db,
	dialect: Dialect,
	migrations: readonly Migration[],
	nowMs: number,
): Promise<Next & { name: string }> {
	const present = await readSchema(trx);
	checkSchema(present, dialect, migrations);
	const migration = migrations[present.version];
	if (migration === undefined) return { name: "", state: "current", version: present.version };
	const steps = migration.steps(dialect);
	const at = await readProgress(trx, present);
	const finish = async (): Promise<Next> => {
		await noteApplied(trx, { migrations, dialect, version: at.version, nowMs });
		return { state: "applied", progress: `done; the schema is at version ${at.version}` };
	};
	const next = await takeStep(trx, steps, at, finish);
	return { name: migration.name, ...next };
}

async function takeStep(
	trx: Db,
	steps: readonly MigrationStep[],
	at: Progress,
	finish: () => Promise<Next>,
): Promise<Next> {
	const step = steps[at.step];
	if (step === undefined) return finish();
	const where = `step ${at.step + 1} of ${steps.length}`;
	switch (step.kind) {
		case "statements":
			for (const statement of step.statements) await sql.raw(statement).execute(trx);
			// Together with the last one: a program must not meet a schema that says less than it is.
			if (at.step + 1 === steps.length) return finish();
			await saveProgress(trx, { ...at, step: at.step + 1 });
			return { state: "under way", progress: `${where} is done` };
		case "index":
			return { state: "index", progress: `${where}, building the index ${step.name}`, at, index: step };
		case "backfill": {
			const position = await backfillBatch(trx, step, at.position);
			const isDone = position === null;
			await saveProgress(trx, { ...at, step: at.step + (isDone ? 1 : 0), position });
			const progress = isDone ? `${where} is done` : `${where}, filling ${step.table} up to ${position}`;
			return { state: "under way", progress };
		}
		default:
			return step satisfies never;
	}
}

/** Resolves to the last key of the batch, or null when there was nothing left. */
async function backfillBatch(
	trx: Db,
	{ table, key, set }: BackfillStep,
	position: number | null,
): Promise<number | null> {
	const column = sql.ref(key);
	const isBehind = position === null ? sql`1 = 1` : sql`${column} > ${position}`;
	const { rows } = await sql<{ last: number | null }>`
		select max(${column}) as last from (
			select ${column} from ${sql.table(table)} where ${isBehind} order by ${column} limit ${BACKFILL_ROWS}
		) as batch`.execute(trx);
	const last = rows[0]?.last ?? null;
	if (last === null) return null;
	await sql`update ${sql.table(table)} set ${sql.raw(set)} where ${isBehind} and ${column} <= ${last}`.execute(
		trx,
	);
	return last;
}

async function makeVersionTables(trx: Db): Promise<void> {
	await sql`create table if not exists schema_versions (
		version integer primary key, name text not null, oldest_program integer not null,
		applied_at_ms bigint not null)`.execute(trx);
	await sql`create table if not exists schema_progress (
		version integer primary key, step integer not null, position bigint)`.execute(trx);
}

async function readProgress(trx: Db, present: PresentSchema): Promise<Progress> {
	const version = present.version + 1;
	const row = await trx
		.selectFrom("schema_progress")
		.selectAll()
		.where("version", "=", version)
		.executeTakeFirst();
	return row ?? { version, step: 0, position: null };
}

async function saveProgress(trx: Db, progress: Progress): Promise<void> {
	await trx
		.insertInto("schema_progress")
		.values(progress)
		.onConflict((conflict) => conflict.column("version").doUpdateSet(progress))
		.execute();
}

async function noteApplied(
	trx: Db,
	{
		migrations,
		dialect,
		version,
		nowMs,
	}: { migrations: readonly Migration[]; dialect: Dialect; version: number; nowMs: number },
): Promise<void> {
	const migration = migrations[version - 1];
	if (migration === undefined) throw new Error(`there is no migration ${version}`);
	await trx
		.insertInto("schema_versions")
		.values({
			version,
			name: storedName(migration, dialect),
			oldest_program: oldestProgramAfter(migrations, version),
			applied_at_ms: nowMs,
		})
		.execute();
	await trx.deleteFrom("schema_progress").where("version", "=", version).execute();
}

/** The last breaking migration up to `version`: a program that knows that one can live with the rest. */
function oldestProgramAfter(migrations: readonly Migration[], version: number): number {
	return migrations.slice(0, version).findLastIndex((migration) => migration.isBreaking) + 1;
}
