// HotWrites on SQLite. Prepared statements run once for each row on the only connection, so no SQL has to be composed.

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { sql } from "kysely";
import {
	AMOUNT_MOVES,
	type Change,
	type CodeKey,
	CREDIT,
	type CreditedPartner,
	distinctOrders,
	ENTRY,
	type FoundPartnership,
	type HotWrites,
	INBOUND_CALL,
	MOVE,
	type NewRefund,
	NONCE,
	OPEN_ENTRY,
	type OrderKey,
	type OwedEvent,
	REFUND,
	REPLACING_CREDIT,
} from "../hot-writes.ts";
import type { Db } from "../schema/tables.ts";
import { CHANGING, CONVERSION, type Conversion, DECIDING } from "../tables/conversions.ts";
import type { StoredCredit } from "../tables/partners.ts";

export function createSqliteWrites(database: DatabaseSync): HotWrites {
	// Statements are prepared at first use, because the tables may not exist before the migrations have run.
	let statements: Statements | undefined;
	/**
	 * Runs the work in a transaction. Starts one if the caller has none, because the only connection may be in the middle
	 * of another caller's transaction.
	 */
	async function write<Value>(db: Db, work: (statements: Statements) => Value): Promise<Value> {
		if (!db.isTransaction) return db.transaction().execute((trx) => write(trx, work));
		statements ??= prepareStatements(database);
		return work(statements);
	}
	return {
		findByOrders,
		insertConversions: (trx, rows) =>
			write(trx, ({ insertConversion }) =>
				runForEach(insertConversion, CONVERSION, rows).map(({ row, id }) => ({ ...row, id })),
			),
		updateUnlessChanged: (trx, changes) => write(trx, (prepared) => updateUnlessChanged(prepared, changes)),
		renameUnlessChanged: (trx, rows) =>
			write(trx, ({ renameConversion }) => {
				const renamed = rows.filter(
					({ order_id, id, status }) => renameConversion.run(order_id, id, status).changes !== 0,
				);
				return new Set(renamed.map(({ id }) => id));
			}),
		insertMoves: (trx, moves, credited = []) =>
			write(trx, ({ insertMove, credits }) => {
				runForEach(insertMove, MOVE, moves);
				if (credited.length > 0) runForEach(credits.put, CREDIT, credited);
			}),
		findByCodes: async (db, codes) => {
			if (codes.length === 0) return [];
			return write(db, ({ credits }) => {
				const found = codes.map(({ programme_id, folded }) => credits.findByCode.get(programme_id, folded));
				return found.filter((row) => row !== undefined) as unknown as (FoundPartnership & CodeKey)[];
			});
		},
		findPartnerships: async (db, ids) => {
			if (ids.length === 0) return [];
			return write(db, ({ credits }) => {
				const found = ids.map((id) => credits.findById.get(id));
				return found.filter((row) => row !== undefined) as unknown as FoundPartnership[];
			});
		},
		findCreditedPartners: async (trx, ids) => {
			if (ids.length === 0) return [];
			return write(trx, ({ credits }) => {
				const found = ids.map((id) => credits.findPartner.get(id));
				return found.filter((row) => row !== undefined) as unknown as CreditedPartner[];
			});
		},
		insertEntries: async (trx, entries) => {
			if (entries.length === 0) return;
			await write(trx, ({ insertEntry, openEntries }) => {
				const stored = runForEach(insertEntry, ENTRY, entries);
				// Nobody else writes meanwhile, so the ids have no gaps.
				openEntries.run(stored.at(0)?.id ?? 0, stored.at(-1)?.id ?? 0);
			});
		},
		insertRefunds: async (trx, refunds) => {
			if (refunds.length > 0)
				await write(trx, ({ insertRefund }) => void runForEach(insertRefund, REFUND, refunds));
		},
		findRefunds: async (db, ids) => {
			if (ids.length === 0) return [];
			return write(db, ({ findRefunds }) =>
				ids.flatMap((id) => findRefunds.all(id) as unknown as NewRefund[]),
			);
		},
		lockCredits: async (trx, ids) => {
			if (ids.length === 0) return new Map();
			// No row has to be locked, because no other transaction can write at the same time.
			return write(trx, ({ credits }) => {
				const found = ids.map((id) => credits.find.get(id)) as unknown as (StoredCredit | undefined)[];
				return new Map(found.flatMap((row) => (row === undefined ? [] : [[row.conversion_id, row]])));
			});
		},
		keepAnnouncedBodies: (trx, bodies) =>
			write(trx, ({ keepBody }) => {
				for (const { conversion_id, body } of bodies) keepBody.run(body, conversion_id);
			}),
		insertOwedEvents: (trx, owed, nowMs) => write(trx, (prepared) => insertOwedEvents(prepared, owed, nowMs)),
		spendNonces: (trx, nonces) =>
			write(trx, ({ insertNonce }) => new Set(runForEach(insertNonce, NONCE, nonces).map(({ row }) => row))),
		insertInboundCalls: (db, calls) =>
			write(db, ({ insertCall }) => void runForEach(insertCall, INBOUND_CALL, calls)),
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
		renameConversion: prepare("update conversions set order_id = ? where id = ? and status = ?"),
		insertMove: prepare(insertText("moves", MOVE)),
		credits: prepareCredits(prepare),
		keepBody: prepare(
			`update moves set announced_body = ? where conversion_id = ? and move in ${AMOUNT_MOVES}
				and announced_body is null`,
		),
		insertEvent: prepare(
			`insert into events (public_id, receiver_id, conversion_id, name, body, created_at_ms)
				values (?, ?, ?, ?, ?, ?)`,
		),
		insertQueued: prepare(
			`insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
				values (?, ?, ?, ?, 1, 0, 0)`,
		),
		insertEntry: prepare(insertText("entries", ENTRY)),
		openEntries: prepare(
			`insert into open_entries (entry_id, ${OPEN_ENTRY.join(", ")})
				select id, ${OPEN_ENTRY.join(", ")} from entries where id between ? and ?`,
		),
		insertRefund: prepare(insertText("refunds", REFUND)),
		findRefunds: prepare(
			`select ${Object.keys(REFUND).join(", ")} from refunds where conversion_id = ? order by id`,
		),
		insertNonce: prepare(`${insertText("nonces", NONCE)} on conflict do nothing`),
		insertCall: prepare(insertText("inbound_calls", INBOUND_CALL)),
	};
}

function prepareCredits(prepare: (text: string) => StatementSync) {
	return {
		findByCode: prepare(
			`select code.programme_id, folded, own.id, partner_id, commission_rate, event_rates, own.created_at_ms, own.ended_at_ms,
				clicks_ended_at_ms from coupon_codes code
				join partnerships own on own.id = partnership_id
				where code.programme_id = ? and folded = ? and own.ended_at_ms is null`,
		),
		findById: prepare(
			`select id, partner_id, commission_rate, event_rates, created_at_ms, ended_at_ms, clicks_ended_at_ms
				from partnerships where id = ?`,
		),
		find: prepare(`select ${Object.keys(CREDIT).join(", ")} from credits where conversion_id = ?`),
		findPartner: prepare(
			`select conversion_id, partner_id, sub_1, sub_2, sub_3 from credits join partnerships own on own.id = partnership_id
				where conversion_id = ?`,
		),
		put: prepare(`${insertText("credits", CREDIT)} ${REPLACING_CREDIT}`),
	};
}

function insertText(table: string, columns: Readonly<Record<string, string>>): string {
	const names = Object.keys(columns);
	return `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
}

/**
 * Finds conversions by order. The cross join makes SQLite look up each order of the list in the index
 * conversions_by_order.
 */
async function findByOrders(db: Db, orders: readonly OrderKey[]): Promise<Conversion[]> {
	const wanted = distinctOrders(orders).map(({ programme_id, order_id }) => [programme_id, order_id]);
	if (wanted.length === 0) return [];
	const { rows } = await sql<Conversion>`
		select conversions.* from json_each(${JSON.stringify(wanted)}) as wanted cross join conversions
		where conversions.programme_id = wanted.value ->> 0 and conversions.order_id = wanted.value ->> 1`.execute(
		db,
	);
	return rows;
}

function updateText(columns: object): string {
	const set = Object.keys(columns).map((column) => `${column} = ?`);
	return `update conversions set ${set.join(", ")} where id = ? and status = ? and confirmed_at_ms is ?
		and commission = ? and network_fee = ? and basket_value = ? and rates is ?`;
}

/**
 * Updates conversions that nobody else has changed. SQLite rewrites the index entries of every column that an update
 * names, even if its value stays the same. A decision therefore uses a statement that names no column by which lists
 * are sorted.
 */
function updateUnlessChanged(
	{ updateConversion, decideConversion }: Statements,
	changes: readonly Change[],
): Set<number> {
	const changed = new Set<number>();
	const [all, deciding] = [valuesOf(CHANGING), valuesOf(DECIDING)];
	for (const { before, after } of changes) {
		const asRead = [
			before.id,
			before.status,
			before.confirmed_at_ms,
			before.commission,
			before.network_fee,
			before.basket_value,
			before.rates,
		];
		const isSame =
			before.basket_value === after.basket_value && before.occurred_at_ms === after.occurred_at_ms;
		const { changes } = isSame
			? decideConversion.run(...deciding(after), ...asRead)
			: updateConversion.run(...all(after), ...asRead);
		if (changes !== 0) changed.add(before.id);
	}
	return changed;
}

function insertOwedEvents(
	{ insertEvent, insertQueued }: Statements,
	owed: readonly OwedEvent[],
	nowMs: number,
): Map<string, number> {
	const ids = new Map<string, number>();
	for (const { conversionId, receiverId, endpointEpoch, deliveryPublicId, name, body } of owed) {
		const event = [deliveryPublicId, receiverId, conversionId, name, body, nowMs] as const;
		const { lastInsertRowid: id } = insertEvent.run(...event);
		insertQueued.run(id, receiverId, nowMs, endpointEpoch);
		ids.set(deliveryPublicId, Number(id));
	}
	return ids;
}

type Cell = string | number | null;

/** Runs a statement once for each row. Returns the rows that were stored, with their ids. */
function runForEach<Column extends string, Row extends Partial<Readonly<Record<Column, Cell>>>>(
	statement: StatementSync,
	columns: Readonly<Record<Column, string>>,
	rows: readonly Row[],
): { row: Row; id: number }[] {
	const stored: { row: Row; id: number }[] = [];
	const values = valuesOf(columns);
	for (const row of rows) {
		const { changes, lastInsertRowid } = statement.run(...values(row));
		if (changes !== 0) stored.push({ row, id: Number(lastInsertRowid) });
	}
	return stored;
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
