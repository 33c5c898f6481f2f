// Reads and writes the rows of a database that an earlier schema version has filled, and creates databases with these
// rows. The program of that version wrote the rows, so a migration meets the same rows as at real installations.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import type { BrokenRule } from "#core/store/queries/ledger.ts";
import { MIGRATIONS } from "#core/store/schema/migrations.ts";
import type { Db, Store } from "#core/store/store.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";
import { START_MS } from "./clock.ts";
import type { TestDatabase } from "./sqlite-database.ts";
import { createTestDatabase, type DatabaseKind } from "./test-database.ts";

/** Sealing key of every kept state. Only sample data is sealed with it. */
export const KEPT_KEY = "ab".repeat(32);

/** Tables that describe running processes, or that triggers and the schema itself fill. */
export const NOT_KEPT =
	/^(?:processes|engines|slots|schema_versions|order_indexed|recording_breaks|unpaid_statements|(?:sqlite|order_search)_?.*)$/;

/** Tables in which the schema itself inserts a row. */
const SEEDED = ["network", "access_lock"];

type Row = Readonly<Record<string, string | number | null>>;

export interface KeptTable {
	columns: readonly string[];
	rows: readonly (readonly (string | number | null)[])[];
}

export interface KeptState {
	version: number;
	/** Tables in an order in which each table comes after those to which it refers. */
	tables: Readonly<Record<string, KeptTable>>;
	/**
	 * Rules of the ledger that the rows break. The sample network writes some rows without a use case, such as its
	 * history.
	 */
	broken: readonly BrokenRule[];
}

export function stateFile(version: number): string {
	return fileURLToPath(new URL(`../upgrade/version-${version}.json`, import.meta.url));
}

/** Reads all kept tables of a SQLite database. */
export async function readState({ db }: Pick<Store, "db">, version: number): Promise<KeptState> {
	const names = sql<{ name: string }>`select name from sqlite_schema where type = 'table' order by rowid`;
	const tables: Record<string, KeptTable> = {};
	for (const { name } of (await names.execute(db)).rows) {
		if (NOT_KEPT.test(name)) continue;
		// `pragma_table_info` leaves out generated columns.
		const info = await sql<{ name: string }>`select name from pragma_table_info(${name})`.execute(db);
		const columns = info.rows.map((column) => column.name);
		const refs = sql.join(columns.map((column) => sql.ref(column)));
		const { rows } = await sql<Row>`select ${refs} from ${sql.table(name)}`.execute(db);
		tables[name] = { columns, rows: rows.map((row) => columns.map((column) => row[column] ?? null)) };
	}
	const { broken } = await checkLedger({ db });
	return { version, tables, broken };
}

/** Writes a state as JSON with one row on each line. */
export function writeState({ version, tables, broken }: KeptState): string {
	const texts = Object.entries(tables).map(([table, { columns, rows }]) => {
		const lines = rows.map((row) => `\n${JSON.stringify(row)}`).join(",");
		return `"${table}": {"columns": ${JSON.stringify(columns)}, "rows": [${lines}]}`;
	});
	return `{\n"version": ${version},\n"tables": {\n${texts.join(",\n")}\n},\n"broken": ${JSON.stringify(broken)}\n}\n`;
}

export function readKeptState(version: number): KeptState {
	return JSON.parse(readFileSync(stateFile(version), "utf8"));
}

/** Creates a database with the schema and the rows of an earlier version. */
export async function createKeptDatabase(kind: DatabaseKind, state: KeptState): Promise<TestDatabase> {
	const database = await createTestDatabase(kind);
	const store = database.open();
	await store.migrate(START_MS, { migrations: MIGRATIONS.slice(0, state.version) });
	await store.transact((trx) => insertRows(kind, trx, state));
	return database;
}

async function insertRows(kind: DatabaseKind, trx: Db, { tables }: KeptState): Promise<void> {
	for (const table of SEEDED) await sql`delete from ${sql.table(table)}`.execute(trx);
	for (const [table, { columns, rows }] of Object.entries(tables)) {
		const names = sql.join(columns.map((column) => sql.ref(column)));
		for (const row of rows) {
			await sql`insert into ${sql.table(table)} (${names}) values (${sql.join(row)})`.execute(trx);
		}
	}
	if (kind === "PostgreSQL") await setSequences(trx);
}

/** Sets each sequence to the highest id, because the rows were inserted with explicit ids. */
async function setSequences(trx: Db): Promise<void> {
	const { rows } = await sql<{ table: string }>`
		select table_name as "table" from information_schema.columns
		where table_schema = current_schema() and column_name = 'id' and is_identity = 'YES'`.execute(trx);
	for (const { table } of rows) {
		await sql`select setval(pg_get_serial_sequence(${table}, 'id'), greatest(1, (select max(id) from ${sql.table(table)})))`.execute(
			trx,
		);
	}
}
