// Reads and writes of a batch of changes on SQLite. Prepared statements run once for each row on the only connection,
// so no SQL has to be composed. SQLite has one writer at a time, so no row has to be locked and no conflict can
// occur.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import {
	AMOUNT_MOVES_LIST,
	type BatchRows,
	type BatchStore,
	type Change,
	distinctOrders,
	INBOUND_CALL,
	idOfStarted,
	keyOfNonce,
	MOVE,
	NONCE,
	type Written,
} from "../batch.ts";
import { type Key, type ModuleTable, type RepeatedIn, replacing } from "../module-parts.ts";
import { SHOP_TARGET_SELECT, type ShopTarget } from "../queries/queue.ts";
import type { Db } from "../schema/tables.ts";
import { CHANGING, CONVERSION, type Conversion, DECIDING } from "../tables/conversions.ts";

export function createSqliteBatch(database: DatabaseSync): BatchStore {
	// Statements are prepared at first use, because the tables may not exist before the migrations have run.
	let statements: Statements | undefined;
	const prepared = (): Statements => {
		statements ??= prepareStatements(database);
		return statements;
	};
	/**
	 * Runs the work in a transaction. If the caller has none, a transaction is started, because the only connection may
	 * be in the middle of another caller's transaction.
	 */
	async function run<Value>(db: Db, work: (statements: Statements) => Value): Promise<Value> {
		if (!db.isTransaction) return db.transaction().execute((trx) => run(trx, work));
		return work(prepared());
	}
	return {
		look: (db, { nonces, orders, programmeIds }) =>
			run(db, ({ findNonce, findByOrder, findShop }) => ({
				usedNonces: new Set(
					nonces
						.filter(({ programme_id, nonce }) => findNonce.get(programme_id, nonce) !== undefined)
						.map(keyOfNonce),
				),
				conversions: distinctOrders(orders).flatMap(({ programme_id, order_id }) =>
					allOf<Conversion>(findByOrder, programme_id, order_id),
				),
				shops: programmeIds.flatMap((id) =>
					allOf<ShopTarget>(findShop, id).map((shop) => ({ ...shop, isFailing: Boolean(shop.isFailing) })),
				),
			})),
		lock: async (db, ids) =>
			ids.length === 0
				? []
				: run(db, ({ findConversion }) => ids.flatMap((id) => allOf<Conversion>(findConversion, id))),
		async find(db, read, keys) {
			if (keys.length === 0) return [];
			const readAll = () =>
				keys.flatMap((key) => allOf<object>(prepared().ofRead(read.text), key)).map(read.rowOf);
			// A read takes the connection without a transaction, which would also take the write lock of the file.
			return db.isTransaction ? readAll() : db.connection().execute(async () => readAll());
		},
		write: (db, rows) => run(db, (prepared) => write(prepared, rows)),
	};
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
	const prepare = (text: string): StatementSync => database.prepare(text);
	const conversion = `select id, ${Object.keys(CONVERSION).join(", ")} from conversions`;
	return {
		findNonce: prepare("select 1 from nonces where programme_id = ? and nonce = ?"),
		findByOrder: prepare(`${conversion} where programme_id = ? and order_id = ?`),
		findConversion: prepare(`${conversion} where id = ?`),
		findShop: prepare(`${SHOP_TARGET_SELECT} where p.id = ?`),
		insertNonce: prepare(insertText("nonces", NONCE)),
		rename: prepare("update conversions set order_id = ? where id = ?"),
		changeAll: prepare(updateText(CHANGING)),
		decide: prepare(updateText(DECIDING)),
		insertConversion: prepare(insertText("conversions", CONVERSION)),
		keepBody: prepare(
			`update moves set announced_body = ? where conversion_id = ? and move in ${AMOUNT_MOVES_LIST}
				and announced_body is null`,
		),
		insertMove: prepare(insertText("moves", MOVE)),
		insertEvent: prepare(
			`insert into events (public_id, receiver_id, conversion_id, name, body, created_at_ms)
				values (?, ?, ?, ?, ?, ?)`,
		),
		insertQueued: prepare(
			`insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
				values (?, ?, ?, ?, 1, 0, 0)`,
		),
		insertCall: prepare(insertText("inbound_calls", INBOUND_CALL)),
		noteFirstTimes: prepare(
			`update programmes set first_signed_at_ms = coalesce(first_signed_at_ms, ?),
				first_pixel_at_ms = coalesce(first_pixel_at_ms, ?) where id = ?`,
		),
		noteKeyUse: prepare(
			`update api_keys set last_used_at_ms = ? where id = ?
				and (last_used_at_ms is null or last_used_at_ms <= ?)`,
		),
		ofRead: remember(prepare),
		ofTable: remember(({ name, columns, isOnePerConversion, repeatedIn }: ModuleTable) => ({
			insert: prepare(`${insertText(name, columns)} ${isOnePerConversion ? replacing(columns) : ""}`),
			repeat: repeatedIn && prepare(repeatText(name, repeatedIn)),
		})),
	};
}

function remember<Of, Value>(make: (of: Of) => Value): (of: Of) => Value {
	const values = new Map<Of, Value>();
	return (of) => {
		const value = values.get(of) ?? make(of);
		values.set(of, value);
		return value;
	};
}

function insertText(table: string, columns: Readonly<Record<string, string>>): string {
	const names = Object.keys(columns);
	return `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
}

function repeatText(from: string, { name, idColumn, columns }: RepeatedIn): string {
	const repeated = columns.join(", ");
	return `insert into ${name} (${idColumn}, ${repeated}) select id, ${repeated} from ${from} where id between ? and ?`;
}

function updateText(columns: object): string {
	const set = Object.keys(columns).map((column) => `${column} = ?`);
	return `update conversions set ${set.join(", ")} where id = ?`;
}

function allOf<Row>(statement: StatementSync, ...parameters: (SQLInputValue | Key)[]): Row[] {
	return statement.all(...(parameters as SQLInputValue[])) as unknown as Row[];
}

function write(statements: Statements, rows: Partial<BatchRows>): Written {
	insertAll(statements.insertNonce, NONCE, rows.nonces ?? []);
	for (const change of rows.changed ?? []) changeOne(statements, change);
	const conversionIds = insertAll(statements.insertConversion, CONVERSION, rows.started ?? []);
	const withId = <Row extends { conversion_id: number | null }>(row: Row): Row => {
		const { conversion_id: id } = row;
		return id === null || id > 0 ? row : { ...row, conversion_id: idOfStarted({ conversionIds }, id) };
	};
	for (const { conversion_id, body } of rows.keptBodies ?? []) statements.keepBody.run(body, conversion_id);
	insertAll(statements.insertMove, MOVE, (rows.moves ?? []).map(withId));
	for (const { table, rows: added } of rows.ofModules ?? []) {
		const { insert, repeat } = statements.ofTable(table);
		const ids = insertAll(insert, table.columns, added.map(withId));
		// No other writer inserts rows meanwhile, so the ids have no gaps.
		if (ids.length > 0) repeat?.run(ids.at(0) ?? 0, ids.at(-1) ?? 0);
	}
	const eventIds = (rows.events ?? []).map(withId).map((event) => {
		const { public_id, receiver_id, conversion_id, name, body, at_ms, endpoint_epoch } = event;
		const { lastInsertRowid: id } = statements.insertEvent.run(
			...([public_id, receiver_id, conversion_id, name, body, at_ms] as const),
		);
		statements.insertQueued.run(id, receiver_id, at_ms, endpoint_epoch);
		return Number(id);
	});
	insertAll(statements.insertCall, INBOUND_CALL, rows.inboundCalls ?? []);
	for (const { programme_id, signed_at_ms, pixel_at_ms } of rows.firstTimes ?? [])
		statements.noteFirstTimes.run(signed_at_ms, pixel_at_ms, programme_id);
	for (const { key_id, at_ms, not_after_ms } of rows.keyUses ?? [])
		statements.noteKeyUse.run(at_ms, key_id, not_after_ms);
	return { conversionIds, eventIds };
}

/** Columns that a decision does not change. */
const CHANGED_BY_OTHERS = (Object.keys(CHANGING) as (keyof typeof CHANGING)[]).filter(
	(column) => !(column in DECIDING),
);
const decidingValues = valuesOf(DECIDING);
const changingValues = valuesOf(CHANGING);

/**
 * Changes a conversion. SQLite rewrites the index entries of every column that an update names, even if its value
 * does not change. A decision therefore uses a statement that names no column by which lists are sorted, and changing
 * the order id has a separate statement.
 */
function changeOne({ rename, changeAll, decide }: Statements, { before, after }: Change): void {
	const { id, order_id } = after;
	if (order_id !== before.order_id) rename.run(order_id, id);
	const isDecided = CHANGED_BY_OTHERS.every((column) => before[column] === after[column]);
	const { changes } = isDecided
		? decide.run(...decidingValues(after), id)
		: changeAll.run(...changingValues(after), id);
	if (changes === 0) throw new Error("a conversion that was read was not changed");
}

type Cell = string | number | null;

/** Runs a statement once for each row. Returns the ids of the rows. */
function insertAll<Column extends string, Row extends Partial<Readonly<Record<Column, Cell>>>>(
	statement: StatementSync,
	columns: Readonly<Record<Column, string>>,
	rows: readonly Row[],
): number[] {
	if (rows.length === 0) return [];
	const values = valuesOf(columns);
	return rows.map((row) => Number(statement.run(...values(row)).lastInsertRowid));
}

/** Returns a function that lists a row's values in the order of the columns. It reuses one array for all rows. */
function valuesOf<Column extends string>(columns: Readonly<Record<Column, string>>) {
	const names = Object.keys(columns) as Column[];
	const values: SQLInputValue[] = [];
	return (row: Partial<Readonly<Record<Column, Cell>>>): SQLInputValue[] => {
		for (const [at, name] of names.entries()) values[at] = row[name] ?? null;
		return values;
	};
}
