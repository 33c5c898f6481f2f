// Rows that may be written. A row that a page read earlier may be out of date, and a write that depends on it would
// undo somebody else's change. Update functions therefore accept only a `Locked` row, and only the functions here make
// one.

import type { SelectQueryBuilder } from "kysely";
import type { Db, Schema } from "./schema/tables.ts";

declare const IS_LOCKED: unique symbol;

/**
 * A row as it is now, read under its lock. Nobody else can change it until the transaction ends, so a use case may
 * check it and write the result. The row must not be used outside the transaction that read it.
 *
 * Statements that do not depend on an earlier read need no `Locked` row. Examples are inserts, counters, and updates
 * whose `where` clause contains the condition itself (such as `where state = 'applying'`).
 */
export type Locked<Row> = Row & { readonly [IS_LOCKED]: true };

/** Locks the row that the query finds, and returns its present values. */
export async function lockRow<Table extends keyof Schema, Row>(
	trx: Db,
	query: SelectQueryBuilder<Schema, Table, Row>,
): Promise<Locked<Row> | undefined> {
	const [row] = await lockRows(trx, query);
	return row;
}

/**
 * Locks all rows that the query finds, and returns their present values. The query must sort them by their key, so
 * that all transactions that lock several rows lock them in the same order and cannot deadlock. On PostgreSQL this is
 * the lock that an UPDATE takes, so other transactions can still insert rows that refer to a locked row. On SQLite
 * the transaction itself is the lock, because it begins with `begin immediate`.
 */
export async function lockRows<Table extends keyof Schema, Row>(
	trx: Db,
	query: SelectQueryBuilder<Schema, Table, Row>,
): Promise<Locked<Row>[]> {
	if (!trx.isTransaction) throw new Error("a row can be locked only in a transaction");
	return (await query.forNoKeyUpdate().execute()) as Locked<Row>[];
}
