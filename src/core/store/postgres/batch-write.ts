// Statement that writes a batch on PostgreSQL. It is composed of parts, one for each table. PostgreSQL may run the
// parts in any order, so each part that may wait for another transaction refers to the row count of the part before
// it. All transactions therefore take their locks in the same order. No part sees the rows of another part, so the
// batch must contain only the final row for each key. A single statement takes one round trip, and a batch that locks
// nothing needs no transaction around it.

import pg from "pg";
import {
	AMOUNT_MOVES_LIST,
	type BatchRows,
	compareNonces,
	INBOUND_CALL,
	MOVE,
	NONCE,
	type Written,
} from "../batch.ts";
import { ConflictError } from "../conflict.ts";
import { type BatchKind, type ModuleTable, replacing } from "../module-parts.ts";
import type { Db, LockWaitMs } from "../store.ts";
import { byOrder, CHANGING, CONVERSION } from "../tables/conversions.ts";
import {
	arraysOf,
	type Columns,
	type HotStatement,
	hotStatement,
	listText,
	type RowOf,
} from "./hot-statement.ts";

const CONVERSION_COLUMNS = `id, ${Object.keys(CONVERSION).join(", ")}`;
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

type CoreName = Exclude<keyof BatchRows, "ofModules">;

interface Part {
	columns: Columns;
	/**
	 * Returns the common table expressions of the part by name. One of them must have the part's own name. `list`
	 * returns the part's rows as a table, and `before` is a condition that is true once the previous parts have run.
	 */
	text(list: (name: string) => string, before: string): Readonly<Record<string, string>>;
}

/** Returns SQL for the values of rows, in which real ids replace the provisional ids of conversions. */
function valuesOf(columns: Columns): string {
	const values = Object.keys(columns).map((column) =>
		column === "conversion_id" ? `${CONVERSION_ID} as conversion_id` : `list.${column}`,
	);
	return values.join(", ");
}

const CONVERSION_ID =
	"case when list.conversion_id < 0 then (select of_started from ids)[-list.conversion_id] else list.conversion_id end";

function inserting(
	name: string,
	table: string,
	columns: Columns,
	{ clause = "", returning = "1" } = {},
): Part {
	return {
		columns,
		text: (list, before) => ({
			[name]: `insert into ${table} (${Object.keys(columns).join(", ")})
				select ${valuesOf(columns)} from ${list("list")} where ${before} ${clause} returning ${returning}`,
		}),
	};
}

function partOf({ name, columns, isOnePerConversion, repeatedIn }: ModuleTable): Part {
	const clause = isOnePerConversion ? replacing(columns) : "";
	if (repeatedIn === undefined) return inserting(name, name, columns, { clause });
	const repeated = repeatedIn.columns.join(", ");
	const { text } = inserting(name, name, columns, { clause, returning: `id, ${repeated}` });
	const repeat = `insert into ${repeatedIn.name} (${repeatedIn.idColumn}, ${repeated}) select * from ${name}`;
	return { columns, text: (list, before) => ({ ...text(list, before), [repeatedIn.name]: repeat }) };
}

/** Parts of the core in the order in which they take their locks. The parts of modules come after `moves`. */
const CORE_PARTS: Readonly<Record<CoreName, Part>> = {
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
const CORE_NAMES = Object.keys(CORE_PARTS) as CoreName[];

function partsWith(tables: readonly ModuleTable[]): ReadonlyMap<string, Part> {
	const core = CORE_NAMES.map((name) => [name, CORE_PARTS[name]] as const);
	const before = CORE_NAMES.indexOf("moves") + 1;
	const ofModules = tables.map((table) => [table.name, partOf(table)] as const);
	return new Map([...core.slice(0, before), ...ofModules, ...core.slice(before)]);
}

const LISTS_OF: Readonly<Record<BatchKind, readonly CoreName[]>> = {
	sales: ["nonces", "started", "moves", "events", "inboundCalls"],
	decisions: ["nonces", "changed", "moves", "events", "inboundCalls"],
	corrections: ["nonces", "changed", "started", "keptBodies", "moves", "events", "inboundCalls"],
};

/**
 * Returns the sets of parts for which a statement exists. A batch uses the first set that has all parts that it
 * needs. The last set has every part. A part with an empty list still costs some time, mostly for planning, behind a
 * pooler without prepared statements.
 */
export function shapesWith(tables: readonly ModuleTable[]): readonly (readonly string[])[] {
	return [
		["inboundCalls"],
		["nonces", "inboundCalls"],
		LISTS_OF.sales,
		...tables.map(({ name, writtenWith }) => [...LISTS_OF[writtenWith], name]),
		[...partsWith(tables).keys()],
	];
}

interface WriteRow {
	changed: number | null;
	/** Ids as text, because the driver returns the 64-bit integers of an array in this form. */
	conversionIds: readonly string[] | null;
	eventIds: readonly string[] | null;
}

/** Number of parameters before the parameters of the lists: the lock timeout and the number of started conversions. */
const BEFORE_LISTS = 2;

interface Write {
	parts: ReadonlyMap<string, Part>;
	statement: HotStatement<WriteRow>;
}

function composeWrite(parts: ReadonlyMap<string, Part>): Write {
	let parameters = BEFORE_LISTS;
	let before = "(select count(*) from settings) > 0";
	const expressions = [...parts].flatMap(([name, { columns, text }]) => {
		const first = parameters;
		parameters += Object.keys(columns).length;
		const composed = Object.entries(text((list) => listText(list, columns, first), before));
		before = `(select count(*) from "${name}") >= 0`;
		return composed.map(([expression, body]) => `"${expression}" as (${body})`);
	});
	const valueIf = (name: CoreName, value: string) => (parts.has(name) ? value : "null");
	const statement = hotStatement<WriteRow>(`with settings as (
			select case when $1::text is null then '' else set_config('lock_timeout', $1, true) end
		), ids as (
			select array_agg(nextval('conversions_id_seq')) as of_started from generate_series(1, $2::integer)
		), ${expressions.join(", ")}
		select ${valueIf("changed", "(select count(*) from changed)")} as changed,
			(select of_started from ids) as "conversionIds",
			${valueIf("events", "(select array_agg(id) from owed)")} as "eventIds"`);
	return { parts, statement };
}

/** Cached statements by the names of the modules' tables. A process uses one set of tables for nearly all batches. */
const WRITES = new Map<string, readonly Write[]>();

function writesWith(tables: readonly ModuleTable[]): readonly Write[] {
	const key = tables.map(({ name }) => name).join(" ");
	const cached = WRITES.get(key);
	if (cached !== undefined) return cached;
	const all = [...partsWith(tables)];
	const writes = shapesWith(tables).map((shape) =>
		composeWrite(new Map(all.filter(([name]) => shape.includes(name)))),
	);
	WRITES.set(key, writes);
	return writes;
}

/** Indexes whose violation means that another process has stored an order or a nonce of the batch first. */
const CONTESTED_INDEXES: readonly unknown[] = ["conversions_by_order", "nonces_pkey"];
const UNIQUE_VIOLATION = "23505";

export async function write(
	db: Db,
	rows: Partial<BatchRows>,
	maxLockWaitMs: LockWaitMs | null = null,
): Promise<Written> {
	const { ofModules = [] } = rows;
	const lists = new Map<string, readonly RowOf<string>[]>(
		Object.entries({
			nonces: (rows.nonces ?? []).toSorted(compareNonces),
			changed: (rows.changed ?? []).map(({ after }) => after),
			started: (rows.started ?? []).toSorted(byOrder),
			keptBodies: rows.keptBodies ?? [],
			moves: rows.moves ?? [],
			events: rows.events ?? [],
			inboundCalls: rows.inboundCalls ?? [],
			firstTimes: rows.firstTimes ?? [],
			keyUses: rows.keyUses ?? [],
		} satisfies Record<CoreName, readonly RowOf<string>[]>),
	);
	for (const { table, rows: added } of ofModules) lists.set(table.name, added);
	const needed = [...lists].flatMap(([name, list]) => (list.length > 0 ? name : []));
	if (needed.length === 0) return { conversionIds: [], eventIds: [] };
	const write = writesWith(ofModules.map(({ table }) => table)).find(({ parts }) =>
		needed.every((name) => parts.has(name)),
	);
	if (write === undefined) throw new Error("no statement has all parts");
	const { parts, statement } = write;
	try {
		const [row] = await statement.run(db, [
			maxLockWaitMs === null ? null : String(maxLockWaitMs),
			rows.started?.length ?? 0,
			...[...parts].flatMap(([name, { columns }]) => arraysOf(columns, lists.get(name) ?? [])),
		]);
		if (row === undefined) throw new Error("a select without a table always has a row");
		if ((row.changed ?? 0) !== (rows.changed?.length ?? 0))
			throw new Error("a locked conversion was not changed");
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
	// A replaced conversion may get an order id that a shop has already used. Repeating the batch would fail in the
	// same way, so this is no conflict.
	const renamed = changed.filter(({ before, after }) => before.order_id !== after.order_id);
	return !renamed.some(({ after }) => error.detail?.includes(`, ${after.order_id}, `) === true);
}

/**
 * SQLSTATEs after which a statement may have been committed. Class 08 is a broken connection, and 57P0x is a server that
 * shuts down, perhaps after the commit.
 */
const MAYBE_COMMITTED = /^(?:08|57P)/;

/** Returns whether a statement outside a transaction may have been committed although it failed. */
export function mayHaveCommitted(error: unknown): boolean {
	if (error instanceof ConflictError) return false;
	return !(error instanceof pg.DatabaseError) || MAYBE_COMMITTED.test(error.code ?? "");
}
