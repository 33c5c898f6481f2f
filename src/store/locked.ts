// Rows that may be written. A row that a page read earlier may be out of date, so a write that depends on it would undo what
// somebody else has stored since. Update functions therefore accept only a `Locked` row, and only the functions here make one.

import type { SelectQueryBuilder } from "kysely";
import type { Db, Schema } from "./schema/tables.ts";

declare const IS_LOCKED: unique symbol;

/**
 * A row as it is now, read under its lock. Nobody else can change it until the transaction ends, so a use case may judge it
 * and write what follows. It must not leave the transaction that read it.
 *
 * Statements that depend on nothing that was read need no `Locked` row: inserts, counters, and updates whose `where` states
 * the condition themselves (such as `where state = 'applying'`).
 */
export type Locked<Row> = Row & { readonly [IS_LOCKED]: true };

/** Locks the one row that the query finds, and returns it as it is now. */
export async function lockRow<Table extends keyof Schema, Row>(
	trx: Db,
	query: SelectQueryBuilder<Schema, Table, Row>,
): Promise<Locked<Row> | undefined> {
	const [row] = await lockRows(trx, query);
	return row;
}

/**
 * Locks all rows that the query finds. The query must order them by their key, so that two transactions that lock several
 * rows do it in the same order and cannot block each other for ever.
 *
 * On PostgreSQL this is the lock that an UPDATE takes, which lets others insert rows that refer to the locked one. On
 * SQLite the transaction itself is the lock, because it begins with `begin immediate`.
 */
export async function lockRows<Table extends keyof Schema, Row>(
	trx: Db,
	query: SelectQueryBuilder<Schema, Table, Row>,
): Promise<Locked<Row>[]> {
	if (!trx.isTransaction) throw new Error("a row can be locked only in a transaction");
	return (await query.forNoKeyUpdate().execute()) as Locked<Row>[];
}
