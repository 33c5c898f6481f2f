// 1.0.0 kept two large tables in partitions by time, with a default one (`<table>_other`) for rows that had no other.
// Partitions are not made any more: rows whose range has none go to the default one, as they always did, and retention
// deletes row by row from all of them. At every start the empty ones are dropped; when only the default one is left, it
// takes the table's place, which is a plain table from then on. No row is ever moved, so it takes a moment however much
// there is. A new database goes the same way at once.

import { sql } from "kysely";
import type { Db } from "../schema/tables.ts";
import { waitedForLock } from "../unavailable.ts";

const TABLES = ["attempts", "inbound_calls"] as const;

/** Every query of the table waits behind the one who waits for this lock. */
const LOCK_TIMEOUT_MS = 500;

/** What is in somebody's way just now is left to the next start: it is in nobody else's way. */
export async function dissolvePartitions(connection: Db): Promise<void> {
	for (const table of TABLES) {
		try {
			await connection.transaction().execute((trx) => dissolve(trx, table));
		} catch (error) {
			if (!waitedForLock(error)) throw error;
		}
	}
}

async function dissolve(trx: Db, table: string): Promise<void> {
	// Without a lock first: mostly there is nothing to do.
	const before = await findPartitions(trx, table);
	if (before.length !== 1 && !before.some(({ isEmpty }) => isEmpty)) return;
	await sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`).execute(trx);
	await sql.raw(`lock table ${table} in access exclusive mode`).execute(trx);
	// Again: a row may have come in since.
	const partitions = await findPartitions(trx, table);
	const empty = partitions.filter(({ isEmpty }) => isEmpty);
	for (const { name } of empty) await sql.raw(`drop table ${name}`).execute(trx);
	if (partitions.length - empty.length === 1) await makePlain(trx, table);
}

interface Partition {
	name: string;
	/** Never said of the default one, which stays. */
	isEmpty: boolean;
}

/** None of a plain table. */
async function findPartitions(trx: Db, table: string): Promise<Partition[]> {
	const { rows } = await sql<{ name: string }>`
		select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
		where inhparent = to_regclass(${table})`.execute(trx);
	const partitions: Partition[] = [];
	for (const { name } of rows) {
		const { rows: first } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(trx);
		partitions.push({ name, isEmpty: first.length === 0 && name !== `${table}_other` });
	}
	return partitions;
}

/** The default partition has the same columns, indexes and defaults: it needs nothing but the names. */
async function makePlain(trx: Db, table: string): Promise<void> {
	const { rows: indexes } = await sql<{ name: string; wholeName: string }>`
		select part.relname as name, whole.relname as "wholeName"
		from pg_index
		join pg_inherits on inhrelid = indexrelid
		join pg_class part on part.oid = inhrelid
		join pg_class whole on whole.oid = inhparent
		where indrelid = to_regclass(${`${table}_other`})`.execute(trx);
	for (const statement of [
		`alter table ${table} detach partition ${table}_other`,
		`drop table ${table}`,
		`alter table ${table}_other rename to ${table}`,
		...indexes.map(({ name, wholeName }) => `alter index ${name} rename to ${wholeName}`),
	])
		await sql.raw(statement).execute(trx);
}
