// What a batch of changes reads and writes on PostgreSQL. Each read is one statement for the whole set, and each column of
// a set is an array parameter. All rows of a batch are written by one statement, so that they take one round trip, and so
// that a batch without a lock needs no transaction around it.

import pg from "pg";
import {
	AMOUNT_MOVES_LIST,
	type BatchRows,
	type BatchStore,
	type CodeKey,
	CREDIT,
	type CreditablePartnership,
	compareNonces,
	distinctOrders,
	ENTRY,
	INBOUND_CALL,
	keyOfNonce,
	type Looked,
	MOVE,
	type NewRefund,
	NONCE,
	type NonceKey,
	OPEN_ENTRY,
	REFUND,
	REPLACING_CREDIT,
	type ToldEvent,
	type Written,
} from "../batch.ts";
import { ConflictError } from "../conflict.ts";
import {
	PARTNERSHIP_SELECT,
	type PartnershipRow,
	readPartnershipRow,
} from "../queries/creditable-partnerships.ts";
import { SHOP_TARGET_SELECT, type ShopTarget } from "../queries/queue.ts";
import type { Db, LockWaitMs } from "../store.ts";
import { byOrder, CHANGING, CONVERSION, type Conversion } from "../tables/conversions.ts";
import type { StoredCredit } from "../tables/partners.ts";
import {
	arrayLiteral,
	arraysOf,
	type Columns,
	type HotStatement,
	hotStatement,
	listText,
	type RowOf,
} from "./hot-statement.ts";

const NONCE_KEY = { programme_id: "bigint", nonce: "text" } as const;
const ORDER = { programme_id: "bigint", order_id: "text" } as const;
const CODE = { programme_id: "bigint", folded: "text" } as const;
const CONVERSION_COLUMNS = `id, ${Object.keys(CONVERSION).join(", ")}`;

/** A row of the first read, whose value is JSON, so that one statement can return rows of several kinds. */
type LookedRow =
	| { kind: "nonce"; row: NonceKey }
	| { kind: "conversion"; row: Conversion }
	| { kind: "shop"; row: ShopTarget };

/**
 * The first read of a batch. Here and below, lateral joins with `offset 0` make the planner look up each key in an index,
 * whatever its statistics say, and `order by` makes it the index of the key. A table without statistics would otherwise be read through
 * any index that begins with the programme.
 */
const LOOK = hotStatement<LookedRow>(`
	select 'nonce' as kind, row_to_json(found) as row from (
		select each.* from ${listText("wanted", NONCE_KEY)} cross join lateral (
			select programme_id, nonce from nonces
				where programme_id = wanted.programme_id and nonce = wanted.nonce order by nonce offset 0
		) as each
	) as found
	union all select 'conversion', row_to_json(found) from (
		select each.* from ${listText("wanted", ORDER, 2)} cross join lateral (
			select ${CONVERSION_COLUMNS} from conversions
				where programme_id = wanted.programme_id and order_id = wanted.order_id order by order_id, event_type offset 0
		) as each
	) as found
	union all select 'shop', row_to_json(found) from (
		${SHOP_TARGET_SELECT} where p.id = any($5::bigint[])
	) as found`);

const LOCK = hotStatement<Conversion>(
	`select ${CONVERSION_COLUMNS} from conversions where id = any($1::bigint[]) order by id for no key update`,
);
const FIND_CREDITS = hotStatement<StoredCredit>(
	`select ${Object.keys(CREDIT).join(", ")} from credits where conversion_id = any($1::bigint[])`,
);
const FIND_REFUNDS = hotStatement<NewRefund>(
	`select ${Object.keys(REFUND).join(", ")} from refunds where conversion_id = any($1::bigint[]) order by id`,
);
const FIND_BY_CODES = hotStatement<CodeKey & { partnership_id: number }>(`
	select asked.programme_id, asked.folded, found.partnership_id from ${listText("asked", CODE)} cross join lateral (
		select partnership_id from coupon_codes code where programme_id = asked.programme_id and folded = asked.folded
			and exists (select 1 from partnerships own where own.id = partnership_id and own.ended_at_ms is null)
			offset 0
	) as found`);
const FIND_PARTNERSHIPS = hotStatement<PartnershipRow>(
	`${PARTNERSHIP_SELECT} where own.id = any($1::bigint[])`,
);
const FIND_LINK_CODES = hotStatement<{ id: number; code: string }>(
	"select id, code from partner_links where id = any($1::bigint[])",
);
const FIND_TOLD_EVENTS = hotStatement<ToldEvent>(
	"select conversion_id, receiver_id, name from events where conversion_id = any($1::bigint[])",
);

const READS: Omit<BatchStore, "write"> = {
	async look(db, { nonces, orders, programmeIds }): Promise<Looked> {
		if (nonces.length + orders.length + programmeIds.length === 0)
			return { usedNonces: new Set(), conversions: [], shops: [] };
		const rows = await LOOK.run(db, [
			...arraysOf(NONCE_KEY, nonces),
			...arraysOf(ORDER, distinctOrders(orders)),
			arrayLiteral(programmeIds),
		]);
		return {
			usedNonces: new Set(rows.flatMap((one) => (one.kind === "nonce" ? keyOfNonce(one.row) : []))),
			conversions: rows.flatMap((one) => (one.kind === "conversion" ? one.row : [])),
			shops: rows.flatMap((one) => (one.kind === "shop" ? one.row : [])),
		};
	},
	lock: byIds(LOCK),
	findCredits: byIds(FIND_CREDITS),
	findRefunds: byIds(FIND_REFUNDS),
	findByCodes: async (db, codes) => (codes.length === 0 ? [] : FIND_BY_CODES.run(db, arraysOf(CODE, codes))),
	async findPartnerships(db, ids): Promise<CreditablePartnership[]> {
		const rows = await byIds(FIND_PARTNERSHIPS)(db, ids);
		return rows.map(readPartnershipRow);
	},
	findLinkCodes: byIds(FIND_LINK_CODES),
	findToldEvents: byIds(FIND_TOLD_EVENTS),
};

/** Returns a function that runs the statement for these ids. */
function byIds<Row>(statement: HotStatement<Row>) {
	return async (db: Db, ids: readonly number[]): Promise<Row[]> =>
		ids.length === 0 ? [] : statement.run(db, [arrayLiteral(ids)]);
}

// The statement that writes. It is composed of parts, one for each table. PostgreSQL may run them in any order, so each
// part that may wait for another transaction refers to the row count of the part before it. All transactions therefore take
// their locks in one order. No part sees the rows of another, so there is one final row for each key.

const CHANGED = { id: "bigint", order_id: "text", ...CHANGING } as const;
const STARTED = { id: "bigint", ...CONVERSION } as const;
const KEPT = { conversion_id: "bigint", body: "text" } as const;
const OWED = {
	conversion_id: "bigint",
	receiver_id: "bigint",
	endpoint_epoch: "integer",
	public_id: "text",
	name: "text",
	body: "text",
	at_ms: "bigint",
} as const;
const FIRST_TIMES = { programme_id: "bigint", signed_at_ms: "bigint", pixel_at_ms: "bigint" } as const;
const KEY_USE = { key_id: "bigint", at_ms: "bigint", not_after_ms: "bigint" } as const;

type PartName = keyof BatchRows;

interface Part {
	columns: Columns;
	/**
	 * Returns the part as common table expressions by name. One of them has the part's name. `list` is the set as a table, and
	 * `before` a condition that is true once the parts before it have run.
	 */
	text(list: (name: string) => string, before: string): Readonly<Record<string, string>>;
}

/** Returns the values of rows, with the id of the conversion in place of a provisional one. */
function valuesOf(columns: Columns): string {
	const values = Object.keys(columns).map((column) =>
		column === "conversion_id" ? `${CONVERSION_ID} as conversion_id` : `list.${column}`,
	);
	return values.join(", ");
}

const CONVERSION_ID =
	"case when list.conversion_id < 0 then (select of_started from ids)[-list.conversion_id] else list.conversion_id end";

/** Returns a part that inserts its rows into the table of the same set. */
function inserting(name: PartName, table: string, columns: Columns, clause = ""): Part {
	return {
		columns,
		text: (list, before) => ({
			[name]: `insert into ${table} (${Object.keys(columns).join(", ")})
				select ${valuesOf(columns)} from ${list("list")} where ${before} ${clause} returning 1`,
		}),
	};
}

/** The parts in the order in which they take their locks. */
const PARTS: Readonly<Record<PartName, Part>> = {
	nonces: inserting("nonces", "nonces", NONCE),
	changed: {
		columns: CHANGED,
		text: (list, before) => ({
			changed: `update conversions set ${["order_id", ...Object.keys(CHANGING)]
				.map((column) => `${column} = next.${column}`)
				.join(", ")} from ${list("next")} where ${before} and conversions.id = next.id returning 1`,
		}),
	},
	started: {
		columns: STARTED,
		text: (list, before) => ({
			started: `insert into conversions (${CONVERSION_COLUMNS})
				select (select of_started from ids)[-list.id], ${Object.keys(CONVERSION)
					.map((column) => `list.${column}`)
					.join(", ")} from ${list("list")} where ${before} returning 1`,
		}),
	},
	keptBodies: {
		columns: KEPT,
		text: (list, before) => ({
			keptBodies: `update moves set announced_body = kept.body from ${list("kept")}
				where ${before} and moves.conversion_id = kept.conversion_id and moves.move in ${AMOUNT_MOVES_LIST}
					and moves.announced_body is null
				returning 1`,
		}),
	},
	moves: inserting("moves", "moves", MOVE),
	credits: inserting("credits", "credits", CREDIT, REPLACING_CREDIT),
	refunds: inserting("refunds", "refunds", REFUND),
	entries: {
		columns: ENTRY,
		text: (list, before) => ({
			entries: `insert into entries (${Object.keys(ENTRY).join(", ")}) select ${valuesOf(ENTRY)} from ${list("list")}
				where ${before} returning id, ${OPEN_ENTRY.join(", ")}`,
			open_entries: `insert into open_entries (entry_id, ${OPEN_ENTRY.join(", ")}) select * from entries`,
		}),
	},
	events: {
		columns: OWED,
		text: (list, before) => ({
			owed: `select nextval('events_id_seq') as id, ${valuesOf(OWED)} from ${list("list")}`,
			events: `insert into events (id, public_id, receiver_id, conversion_id, name, body, created_at_ms)
				select id, public_id, receiver_id, conversion_id, name, body, at_ms from owed where ${before} returning 1`,
			queue: `insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
				select id, receiver_id, at_ms, endpoint_epoch, 1, 0, 0 from owed where ${before}`,
		}),
	},
	inboundCalls: inserting("inboundCalls", "inbound_calls", INBOUND_CALL),
	firstTimes: {
		columns: FIRST_TIMES,
		text: (list, before) => ({
			programmes_locked: `select programmes.id from programmes join ${list("list")}
				on programmes.id = list.programme_id where ${before} order by programmes.id for no key update of programmes`,
			firstTimes: `update programmes set first_signed_at_ms = coalesce(first_signed_at_ms, list.signed_at_ms),
					first_pixel_at_ms = coalesce(first_pixel_at_ms, list.pixel_at_ms)
				from ${list("list")} where (select count(*) from programmes_locked) > 0 and programmes.id = list.programme_id
				returning 1`,
		}),
	},
	keyUses: {
		columns: KEY_USE,
		text: (list, before) => ({
			keys_locked: `select api_keys.id from api_keys join ${list("list")}
				on api_keys.id = list.key_id where ${before} order by api_keys.id for no key update of api_keys`,
			keyUses: `update api_keys set last_used_at_ms = list.at_ms from ${list("list")}
				where (select count(*) from keys_locked) > 0 and api_keys.id = list.key_id
					and (last_used_at_ms is null or last_used_at_ms <= list.not_after_ms)
				returning 1`,
		}),
	},
};
const PART_NAMES = Object.keys(PARTS) as PartName[];

/**
 * The sets of parts for which there is a statement. A batch uses the first one that has all parts that it needs. The last
 * one has every part. A part with an empty list costs some time too, most of it for planning, behind a pooler that keeps
 * no prepared statements.
 */
export const SHAPES: readonly (readonly PartName[])[] = [
	["inboundCalls"],
	["nonces", "inboundCalls"],
	["nonces", "started", "moves", "events", "inboundCalls"],
	["nonces", "changed", "moves", "entries", "events", "inboundCalls"],
	["nonces", "started", "moves", "credits", "events", "inboundCalls"],
	["nonces", "changed", "started", "keptBodies", "moves", "refunds", "events", "inboundCalls"],
	PART_NAMES,
];

interface WriteRow {
	changed: number | null;
	/** Ids in the form in which the driver returns an array of them. */
	conversionIds: readonly string[] | null;
	eventIds: readonly string[] | null;
}

/** Number of parameters before those of the lists: the lock timeout and the number of started conversions. */
const BEFORE_LISTS = 2;

function composeWrite(names: readonly PartName[]): string {
	let parameters = BEFORE_LISTS;
	let before = "(select count(*) from settings) > 0";
	const expressions = names.flatMap((name) => {
		const { columns, text } = PARTS[name];
		const first = parameters;
		parameters += Object.keys(columns).length;
		const composed = Object.entries(text((list) => listText(list, columns, first), before));
		before = `(select count(*) from "${name}") >= 0`;
		return composed.map(([expression, body]) => `"${expression}" as (${body})`);
	});
	const valueIf = (name: PartName, value: string) => (names.includes(name) ? value : "null");
	return `with settings as (
			select case when $1::text is null then '' else set_config('lock_timeout', $1, true) end
		), ids as (
			select array_agg(nextval('conversions_id_seq')) as of_started from generate_series(1, $2::integer)
		), ${expressions.join(", ")}
		select ${valueIf("changed", "(select count(*) from changed)")} as changed,
			(select of_started from ids) as "conversionIds",
			${valueIf("events", "(select array_agg(id) from owed)")} as "eventIds"`;
}

const WRITES = SHAPES.map((names) => ({ names, statement: hotStatement<WriteRow>(composeWrite(names)) }));

/** Indexes whose violation means that another process has stored an order or a nonce of the batch first. */
const CONTESTED_INDEXES: readonly unknown[] = ["conversions_by_order", "nonces_pkey"];
/** SQLSTATE unique_violation. */
const UNIQUE_VIOLATION = "23505";

export async function write(
	db: Db,
	rows: Partial<BatchRows>,
	maxLockWaitMs: LockWaitMs | null = null,
): Promise<Written> {
	const lists: Readonly<Record<PartName, readonly RowOf<string>[]>> = {
		nonces: (rows.nonces ?? []).toSorted(compareNonces),
		changed: (rows.changed ?? []).map(({ after }) => after),
		started: (rows.started ?? []).toSorted(byOrder),
		keptBodies: rows.keptBodies ?? [],
		moves: rows.moves ?? [],
		credits: rows.credits ?? [],
		refunds: rows.refunds ?? [],
		entries: rows.entries ?? [],
		events: rows.events ?? [],
		inboundCalls: rows.inboundCalls ?? [],
		firstTimes: rows.firstTimes ?? [],
		keyUses: rows.keyUses ?? [],
	};
	const needed = PART_NAMES.filter((name) => lists[name].length > 0);
	if (needed.length === 0) return { conversionIds: [], eventIds: [] };
	const shape = WRITES.find(({ names }) => needed.every((name) => names.includes(name)));
	if (shape === undefined) throw new Error("no statement has all parts");
	const { names, statement } = shape;
	try {
		const [row] = await statement.run(db, [
			maxLockWaitMs === null ? null : String(maxLockWaitMs),
			lists.started.length,
			...names.flatMap((name) => arraysOf(PARTS[name].columns, lists[name])),
		]);
		if (row === undefined) throw new Error("a select without a table always has a row");
		if ((row.changed ?? 0) !== lists.changed.length) throw new Error("a locked conversion was not changed");
		return {
			conversionIds: (row.conversionIds ?? []).map(Number),
			eventIds: (row.eventIds ?? []).map(Number),
		};
	} catch (error) {
		throw isConflict(error, rows) ? new ConflictError(error) : error;
	}
}

function isConflict(error: unknown, { changed = [] }: Partial<BatchRows>): boolean {
	if (!(error instanceof pg.DatabaseError) || error.code !== UNIQUE_VIOLATION) return false;
	if (!CONTESTED_INDEXES.includes(error.constraint)) return false;
	// A conversion that is replaced may get an order id that a shop has used. The same would happen in the next turn.
	const renamed = changed.filter(({ before, after }) => before.order_id !== after.order_id);
	return !renamed.some(({ after }) => error.detail?.includes(`, ${after.order_id}, `) === true);
}

export const POSTGRES_BATCH: BatchStore = {
	...READS,
	write: (db, rows) => write(db, rows),
};

/**
 * SQLSTATEs after which a statement may have been committed. Class 08 is a broken connection, and 57P0x is a server that
 * shuts down, perhaps after the commit.
 */
const MAYBE_COMMITTED = /^(?:08|57P)/;

/** Returns whether a statement that commits by itself may have done so although it failed. */
export function mayHaveCommitted(error: unknown): boolean {
	if (error instanceof ConflictError) return false;
	return !(error instanceof pg.DatabaseError) || MAYBE_COMMITTED.test(error.code ?? "");
}
