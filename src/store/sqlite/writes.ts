// Hot writes on SQLite: prepared statements on the transaction's own connection (there is only one), a run for each
// row, without composing SQL.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { sql } from "kysely";
import {
	CHANGING,
	CONVERSION,
	DECIDING,
	INBOUND_CALL,
	MOVE,
	NONCE,
	storedConversion,
} from "../hot-columns.ts";
import {
	type Change,
	type HotWrites,
	type MoveLink,
	type NewNonce,
	type OrderKey,
	OWED_PROGRAMME_SELECT,
	type OwedEvent,
} from "../hot-writes.ts";
import type { Conversion, NewConversion } from "../queries/conversions.ts";
import type { Db } from "../schema/tables.ts";
import { toTarget } from "./queue.ts";

export function createSqliteWrites(database: DatabaseSync): HotWrites {
	// Prepared at first use: the tables may not exist before the migrations have run.
	let statements: Statements | undefined;
	/** Without a transaction the connection may be in the middle of somebody else's: the write then gets one of its own. */
	async function write<Value>(db: Db, work: (statements: Statements) => Value): Promise<Value> {
		if (!db.isTransaction) return db.transaction().execute((trx) => write(trx, work));
		statements ??= prepareStatements(database);
		return work(statements);
	}
	return {
		findByOrders,
		insertConversions: (trx, rows) => write(trx, (prepared) => insertConversions(prepared, rows)),
		updateUnlessChanged: (trx, changes) => write(trx, (prepared) => updateUnlessChanged(prepared, changes)),
		removeUnlessChanged: (trx, rows) => write(trx, (prepared) => removeUnlessChanged(prepared, rows)),
		relinkMoves: (trx, links) => write(trx, (prepared) => relinkMoves(prepared, links)),
		insertMoves: (trx, moves) => write(trx, ({ insertMove }) => runForEach(insertMove, MOVE, moves)),
		keepAnnouncedBodies: (trx, bodies) =>
			write(trx, ({ keepBody }) => {
				for (const { conversion_id, body } of bodies) keepBody.run(body, conversion_id);
			}),
		readOwedProgrammes: (trx, ids) =>
			write(trx, ({ readOwed }) => readOwed.all(JSON.stringify(ids)).map(toTarget)),
		insertOwedEvents: (trx, owed, nowMs) => write(trx, (prepared) => insertOwedEvents(prepared, owed, nowMs)),
		spendNonces: (trx, nonces) => write(trx, (prepared) => spendNonces(prepared, nonces)),
		insertInboundCalls: (trx, calls) =>
			write(trx, ({ insertCall }) => runForEach(insertCall, INBOUND_CALL, calls)),
	};
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
	const prepare = (text: string): StatementSync => database.prepare(text);
	return {
		insertConversion: prepare(
			`${insertText("conversions", CONVERSION)} on conflict (programme_id, order_id, event_type) do nothing`,
		),
		updateConversion: prepare(updateText(CHANGING)),
		decideConversion: prepare(updateText(DECIDING)),
		removeConversion: prepare("delete from conversions where id = ? and status = ?"),
		// All at once: of two that go together, one may get the number that the other has left.
		relinkMoves: prepare(
			`update moves set conversion_id = link.value ->> 1 from json_each(?) as link
				where moves.conversion_id = link.value ->> 0`,
		),
		insertMove: prepare(insertText("moves", MOVE)),
		keepBody: prepare("update moves set announced_body = ? where conversion_id = ? and move = 'record'"),
		readOwed: prepare(`${OWED_PROGRAMME_SELECT} and p.id in (select value from json_each(?))`),
		insertEvent: prepare(
			"insert into events (programme_id, receiver_id, conversion_id, name, body) values (?, ?, ?, ?, ?)",
		),
		insertDelivery: prepare(
			`insert into deliveries (id, public_id, programme_id, receiver_id, state, run, attempts, created_at_ms)
				values (?, ?, ?, ?, 'pending', 1, 0, ?)`,
		),
		insertQueued: prepare(
			`insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
				values (?, ?, ?, ?, 1, 0, 0)`,
		),
		insertNonce: prepare(`${insertText("nonces", NONCE)} on conflict do nothing`),
		insertCall: prepare(insertText("inbound_calls", INBOUND_CALL)),
	};
}

function insertText(table: string, columns: Readonly<Record<string, string>>): string {
	const names = Object.keys(columns);
	return `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
}

/** A cross join, so that SQLite goes along conversions_by_order for each of the list. */
async function findByOrders(db: Db, orders: readonly OrderKey[]): Promise<Conversion[]> {
	const list = JSON.stringify(orders.map(({ programme_id, order_id }) => [programme_id, order_id]));
	const { rows } = await sql<Conversion>`
		select conversions.* from json_each(${list}) as wanted cross join conversions
		where conversions.programme_id = wanted.value ->> 0 and conversions.order_id = wanted.value ->> 1`.execute(
		db,
	);
	return rows;
}

function insertConversions(
	{ insertConversion }: Statements,
	conversions: readonly NewConversion[],
): Conversion[] {
	const stored: Conversion[] = [];
	const values = valuesOf(CONVERSION);
	for (const conversion of conversions) {
		const { changes, lastInsertRowid } = insertConversion.run(...values(conversion));
		if (changes !== 0) stored.push(storedConversion(Number(lastInsertRowid), conversion));
	}
	return stored;
}

function updateText(columns: object): string {
	const set = Object.keys(columns).map((column) => `${column} = ?`);
	return `update conversions set ${set.join(", ")} where id = ? and status = ? and confirmed_at_ms is ?`;
}

/** SQLite writes the index of every column that is named anew, changed or not: a decision names none that is sorted by. */
function updateUnlessChanged(
	{ updateConversion, decideConversion }: Statements,
	changes: readonly Change[],
): Set<number> {
	const changed = new Set<number>();
	const [all, deciding] = [valuesOf(CHANGING), valuesOf(DECIDING)];
	for (const { before, after } of changes) {
		const { id, status, confirmed_at_ms } = before;
		const isSame =
			before.basket_value === after.basket_value && before.occurred_at_ms === after.occurred_at_ms;
		const { changes } = isSame
			? decideConversion.run(...deciding(after), id, status, confirmed_at_ms)
			: updateConversion.run(...all(after), id, status, confirmed_at_ms);
		if (changes !== 0) changed.add(id);
	}
	return changed;
}

function removeUnlessChanged(
	{ removeConversion }: Statements,
	conversions: readonly Conversion[],
): Set<number> {
	const removed = conversions.filter(({ id, status }) => removeConversion.run(id, status).changes !== 0);
	return new Set(removed.map(({ id }) => id));
}

function relinkMoves(statements: Statements, links: readonly MoveLink[]): void {
	statements.relinkMoves.run(JSON.stringify(links.map(({ from_id, to_id }) => [from_id, to_id])));
}

function insertOwedEvents(
	{ insertEvent, insertDelivery, insertQueued }: Statements,
	owed: readonly OwedEvent[],
	nowMs: number,
): Map<number, number> {
	const ids = new Map<number, number>();
	for (const { conversionId, programmeId, endpointEpoch, deliveryPublicId, name, body } of owed) {
		const receiverId = programmeId;
		const { lastInsertRowid: id } = insertEvent.run(programmeId, receiverId, conversionId, name, body);
		insertDelivery.run(id, deliveryPublicId, programmeId, receiverId, nowMs);
		insertQueued.run(id, receiverId, nowMs, endpointEpoch);
		ids.set(conversionId, Number(id));
	}
	return ids;
}

function spendNonces({ insertNonce }: Statements, nonces: readonly NewNonce[]): Set<NewNonce> {
	const values = valuesOf(NONCE);
	return new Set(nonces.filter((nonce) => insertNonce.run(...values(nonce)).changes !== 0));
}

function runForEach<Column extends string>(
	statement: StatementSync,
	columns: Readonly<Record<Column, string>>,
	rows: readonly Partial<Readonly<Record<NoInfer<Column>, Cell>>>[],
): void {
	const values = valuesOf(columns);
	for (const row of rows) statement.run(...values(row));
}

type Cell = string | number | null;

/** In the order of the columns. The array is the same each time: it is used up before the next row. */
function valuesOf<Column extends string>(columns: Readonly<Record<Column, string>>) {
	const names = Object.keys(columns) as Column[];
	const values: SQLInputValue[] = [];
	return (row: Partial<Readonly<Record<Column, Cell>>>): SQLInputValue[] => {
		for (const [at, name] of names.entries()) values[at] = row[name] ?? null;
		return values;
	};
}
