// Everything in a SQLite file into an empty PostgreSQL database, for `ringback move`. The caller does it in one
// transaction: when it is broken off nothing is left of it, and the next one starts over.

import type { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { raiseTransactionNumbers } from "./postgres/store.ts";
import type { Db } from "./store.ts";

/** By table, in the order in which they were made: what others refer to comes first. */
export type RowCounts = ReadonlyMap<string, number>;

/** One parameter of a statement: some thousand conversions. */
const BATCH_CHARACTERS = 1_000_000;
/** Rows between two words about the same table. */
const TOLD_EVERY = 50_000;

/**
 * Tables that are not copied: those that describe running processes, and those that PostgreSQL has in a form of its own.
 * Every other table is copied.
 */
const NOT_COPIED =
	/^(?:processes|engines|slots|chores|schema_versions|order_indexed|(?:sqlite|order_search)_?.*)$/;

/** A migration puts a row in: a database that has no more than that is empty. */
const SEEDED: readonly string[] = ["network", "link_lock"];

type Row = Record<string, unknown>;

/** What must be another value there. */
const CHANGES: Readonly<Record<string, (row: Row) => Row>> = {
	// On SQLite the id is the place in the order that listeners' cursors name, so the cursors stay good.
	moves: ({ id }) => ({ transaction: id }),
	// Whoever held them has ended.
	jobs: () => ({ claim: null, claim_until_ms: 0 }),
	// `ringback backup` makes none of PostgreSQL: the warning that the last one is old would never end.
	network: () => ({ backed_up_at_ms: null }),
};

export function countCarried(from: DatabaseSync): RowCounts {
	const tables = from.prepare("select name from sqlite_schema where type = 'table' order by rowid").all();
	const carried = tables.map(({ name }) => String(name)).filter((name) => !NOT_COPIED.test(name));
	return new Map(carried.map((name) => [name, readNumber(from, `select count(*) as n from "${name}"`)]));
}

/** The tables that have rows already. Nobody else writes to any of them until the transaction ends. */
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

/** Ends with what the new database needs to go on: numbers for new rows, the order of moves, statistics. */
export async function copyRows(
	from: DatabaseSync,
	counts: RowCounts,
	trx: Db,
	tell: (progress: string) => void,
): Promise<void> {
	for (const table of SEEDED) await sql`delete from ${sql.table(table)}`.execute(trx);
	for (const [table, total] of counts) {
		await copyTable(from, table, trx, (done) => tell(`${table}: ${done} of ${total} rows`));
	}
	await numberOn(from, trx);
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
	const store = async (): Promise<void> => {
		const names = sql.join(columns.map((column) => sql.ref(column)));
		// PostgreSQL reads each value as its column has it: 0 and 1 as a truth value, a text as a time.
		await sql`insert into ${sql.table(table)} (${names}) select ${names}
			from json_populate_recordset(null::${sql.table(table)}, ${`[${batch}]`}::json)`.execute(trx);
		batch = "";
	};
	for (const row of from.prepare(`select * from "${table}"`).iterate()) {
		const changed = { ...row, ...change(row) };
		columns = Object.keys(changed);
		batch += `${batch === "" ? "" : ","}${JSON.stringify(changed)}`;
		if (batch.length >= BATCH_CHARACTERS) await store();
		if (++done % TOLD_EVERY === 0) tell(done);
	}
	if (batch !== "") await store();
	if (done % TOLD_EVERY > 0) tell(done);
}

/** Rows that are still to come get numbers behind all that were ever given. */
async function numberOn(from: DatabaseSync, trx: Db): Promise<void> {
	const { rows } = await sql<{ table: string; sequence: string }>`
		select table_name as "table", pg_get_serial_sequence(quote_ident(table_name), column_name) as sequence
		from information_schema.columns
		where table_schema = current_schema() and column_name = 'id' and is_identity = 'YES'`.execute(trx);
	for (const { table, sequence } of rows) {
		const given = `(select coalesce(max(seq), 0) from sqlite_sequence where name = '${table}')`;
		const last = readNumber(from, `select max(coalesce(max(id), 0), ${given}) as n from "${table}"`);
		if (last > 0) await sql`select setval(${sequence}::regclass, ${last})`.execute(trx);
	}
}

function namesOf(counts: RowCounts) {
	return sql.join([...counts.keys()].map((name) => sql.table(name)));
}

function readNumber(from: DatabaseSync, question: string): number {
	return Number(from.prepare(question).get()?.["n"] ?? 0);
}
