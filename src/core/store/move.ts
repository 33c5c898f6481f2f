// Copies all data of a SQLite file into an empty PostgreSQL database, for `ringback move`. The caller uses one
// transaction, so an interrupted copy leaves no rows behind, and the next copy starts from the beginning.

import type { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { raiseTransactionNumbers } from "./postgres/store.ts";
import type { Db } from "./store.ts";

/** Numbers of rows by table. Each table comes after the tables that it refers to. */
export type RowCounts = ReadonlyMap<string, number>;

/** Size of a batch in characters. A batch is one parameter of a statement and holds a few thousand conversions. */
const BATCH_CHARACTERS = 1_000_000;
/** Number of rows between two progress messages about a table. */
const PROGRESS_EVERY = 50_000;

/**
 * Tables that are not copied. Some describe running processes, and the others exist in PostgreSQL in a different form.
 * Triggers fill `recording_breaks` and `unpaid_statements` while other tables are copied.
 */
const NOT_COPIED =
	/^(?:processes|engines|slots|chores|schema_versions|order_indexed|recording_breaks|unpaid_statements|(?:sqlite|order_search)_?.*)$/;

/**
 * Tables that have a row as soon as the schema exists. A database in which only these tables have rows counts as empty.
 */
const SEEDED: readonly string[] = ["network", "access_lock", "sealing_key"];

/**
 * Tables into which triggers insert rows while the tables before them are copied. The copied rows replace the
 * inserted ones.
 */
const FILLED_BY_TRIGGERS: readonly string[] = ["programme_rates", "partnership_rates"];

type Row = Record<string, unknown>;

const CHANGES: Readonly<Record<string, (row: Row) => Row>> = {
	// On SQLite, listeners receive moves in the order of their ids. Copying the id to `transaction` keeps the listeners'
	// cursors valid.
	moves: ({ id }) => ({ transaction: id }),
	// The claims belong to processes of the old installation, which have ended.
	jobs: () => ({ claim: null, claim_until_ms: 0 }),
	// The recorded backups are left out, because they are backups of the SQLite file and not of the new database.
	network: () => ({
		backed_up_at_ms: null,
		backup_bytes: null,
		backup_note: null,
		backup_failed_at_ms: null,
		backup_failure: null,
	}),
};

export function countCopied(from: DatabaseSync): RowCounts {
	const tables = from.prepare("select name from sqlite_schema where type = 'table' order by rowid").all();
	const copied = tables.map(({ name }) => String(name)).filter((name) => !NOT_COPIED.test(name));
	return new Map(copied.map((name) => [name, readNumber(from, `select count(*) as n from "${name}"`)]));
}

/** Returns the tables that are not empty. Locks all tables against writes by others until the transaction ends. */
export async function findFilled(trx: Db, tables: RowCounts): Promise<string[]> {
	await sql`lock table ${namesOf(tables)} in exclusive mode`.execute(trx);
	const counts = await countRows(trx, tables);
	return [...counts].flatMap(([table, rows]) => (rows === 0 || SEEDED.includes(table) ? [] : [table]));
}

export async function countRows(db: Db, tables: RowCounts): Promise<RowCounts> {
	const counts = new Map<string, number>();
	for (const table of tables.keys()) {
		const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db);
		counts.set(table, rows[0]?.n ?? 0);
	}
	return counts;
}

/**
 * Copies all rows. Then sets the next id of each table, raises the transaction numbers above those of the copied moves,
 * and collects statistics for the planner.
 */
export async function copyRows(
	from: DatabaseSync,
	counts: RowCounts,
	trx: Db,
	tell: (progress: string) => void,
): Promise<void> {
	for (const table of SEEDED) await sql`delete from ${sql.table(table)}`.execute(trx);
	for (const [table, total] of counts) {
		if (FILLED_BY_TRIGGERS.includes(table)) await sql`delete from ${sql.table(table)}`.execute(trx);
		await copyTable(from, table, trx, (done) => tell(`${table}: ${done} of ${total} rows`));
	}
	await setSequences(from, trx);
	await raiseTransactionNumbers(trx);
	await sql`analyze ${namesOf(counts)}`.execute(trx);
}

async function copyTable(
	from: DatabaseSync,
	table: string,
	trx: Db,
	tell: (done: number) => void,
): Promise<void> {
	const change = CHANGES[table] ?? (() => ({}));
	let batch = "";
	let columns: string[] = [];
	let done = 0;
	const storeBatch = async (): Promise<void> => {
		const names = sql.join(columns.map((column) => sql.ref(column)));
		// PostgreSQL converts each value to the type of its column.
		await sql`insert into ${sql.table(table)} (${names}) select ${names}
			from json_populate_recordset(null::${sql.table(table)}, ${`[${batch}]`}::json)`.execute(trx);
		batch = "";
	};
	// `pragma_table_info` does not list generated columns. PostgreSQL computes their values itself.
	const stored = from.prepare("select name from pragma_table_info(?)").all(table);
	const storedNames = stored.map(({ name }) => `"${name}"`).join(", ");
	for (const row of from.prepare(`select ${storedNames} from "${table}"`).iterate()) {
		const changed = { ...row, ...change(row) };
		columns = Object.keys(changed);
		batch += `${batch === "" ? "" : ","}${JSON.stringify(changed)}`;
		if (batch.length >= BATCH_CHARACTERS) await storeBatch();
		if (++done % PROGRESS_EVERY === 0) tell(done);
	}
	if (batch !== "") await storeBatch();
	if (done % PROGRESS_EVERY > 0) tell(done);
}

async function setSequences(from: DatabaseSync, trx: Db): Promise<void> {
	const { rows } = await sql<{ table: string; sequence: string }>`
		select table_name as "table", pg_get_serial_sequence(quote_ident(table_name), column_name) as sequence
		from information_schema.columns
		where table_schema = current_schema() and column_name = 'id' and is_identity = 'YES'`.execute(trx);
	for (const { table, sequence } of rows) {
		const lastUsed = `(select coalesce(max(seq), 0) from sqlite_sequence where name = '${table}')`;
		const last = readNumber(from, `select max(coalesce(max(id), 0), ${lastUsed}) as n from "${table}"`);
		if (last > 0) await sql`select setval(${sequence}::regclass, ${last})`.execute(trx);
	}
}

function namesOf(counts: RowCounts) {
	return sql.join([...counts.keys()].map((name) => sql.table(name)));
}

function readNumber(from: DatabaseSync, question: string): number {
	return Number(from.prepare(question).get()?.["n"] ?? 0);
}
