// Hot writes on PostgreSQL: a set is one statement, its columns travel as arrays.

import {
	CHANGING,
	CONVERSION,
	type ColumnType,
	INBOUND_CALL,
	MOVE,
	NONCE,
	storedConversion,
} from "../hot-columns.ts";
import { hotStatement } from "../hot-statement.ts";
import {
	type Change,
	type HotWrites,
	type NewNonce,
	OWED_PROGRAMME_SELECT,
	type OwedEvent,
} from "../hot-writes.ts";
import type { Conversion, NewConversion } from "../queries/conversions.ts";
import type { CallbackTarget } from "../queries/queue.ts";
import type { Db } from "../schema/tables.ts";
import { arrayLiteral, columnLiteral } from "./array.ts";

export function createPostgresWrites(): HotWrites {
	return {
		findByOrders: (db, orders) => FIND_BY_ORDERS.run(db, arraysOf(ORDER, orders)),
		insertConversions,
		updateUnlessChanged,
		removeUnlessChanged,
		relinkMoves: async (trx, links) => {
			await RELINK_MOVES.run(trx, arraysOf(LINK, links));
		},
		insertMoves: async (trx, moves) => {
			await INSERT_MOVES.run(trx, arraysOf(MOVE, moves));
		},
		keepAnnouncedBodies: async (trx, bodies) => {
			await KEEP_BODIES.run(trx, arraysOf(KEPT, bodies));
		},
		readOwedProgrammes: (trx, ids) => READ_OWED.run(trx, [arrayLiteral(ids)]),
		insertOwedEvents,
		spendNonces,
		insertInboundCalls: async (trx, calls) => {
			await INSERT_CALLS.run(trx, arraysOf(INBOUND_CALL, calls));
		},
	};
}

type Columns = Readonly<Record<string, ColumnType>>;

const CHANGE = { id: "bigint", was_status: "text", was_confirmed_at_ms: "bigint", ...CHANGING } as const;
const READ = { id: "bigint", status: "text" } as const;
const ORDER = { programme_id: "bigint", order_id: "text" } as const;
const LINK = { from_id: "bigint", to_id: "bigint" } as const;
const KEPT = { conversion_id: "bigint", body: "text" } as const;

/** `offset 0` keeps the planner to a look into the index for each order, whatever its statistics say. */
const FIND_BY_ORDERS = hotStatement<Conversion>(
	`select found.* from ${listText("wanted", ORDER)} cross join lateral (
		select id, ${Object.keys(CONVERSION).join(", ")} from conversions
		where programme_id = wanted.programme_id and order_id = wanted.order_id offset 0) as found`,
);
const INSERT_CONVERSIONS = hotStatement<{ id: number; public_id: string }>(
	`${insertText("conversions", CONVERSION)}
		on conflict (programme_id, order_id, event_type) do nothing returning id, public_id`,
);
/**
 * Locked in the order of their ids first, whatever way the update takes: so two processes never lock each other out.
 * Counted and not joined: the planner would compare each row with each lock (300 of 400 ms for 500 rows).
 */
const UPDATE_CONVERSIONS = hotStatement<{ id: number }>(
	`with locked as (select id from conversions where id = any($1::bigint[]) order by id for no key update)
	update conversions set ${Object.keys(CHANGING)
		.map((column) => `${column} = next.${column}`)
		.join(", ")}
		from ${listText("next", CHANGE)}
		where (select count(*) from locked) > 0 and conversions.id = next.id and conversions.status = next.was_status
			and conversions.confirmed_at_ms is not distinct from next.was_confirmed_at_ms
		returning conversions.id`,
);
const REMOVE_CONVERSIONS = hotStatement<{ id: number }>(
	`with locked as (select id from conversions where id = any($1::bigint[]) order by id for update)
	delete from conversions using ${listText("read", READ)}
		where (select count(*) from locked) > 0 and conversions.id = read.id and conversions.status = read.status returning conversions.id`,
);
const RELINK_MOVES = hotStatement(
	`update moves set conversion_id = link.to_id from ${listText("link", LINK)}
		where moves.conversion_id = link.from_id`,
);
const INSERT_MOVES = hotStatement(insertText("moves", MOVE));
const KEEP_BODIES = hotStatement(
	`update moves set announced_body = kept.body from ${listText("kept", KEPT)}
		where moves.conversion_id = kept.conversion_id and moves.move = 'record'`,
);
const READ_OWED = hotStatement<CallbackTarget>(`${OWED_PROGRAMME_SELECT} and p.id = any($1::bigint[])`);
const INSERT_OWED = hotStatement<{ id: number; conversionId: number }>(
	`with owed as materialized (
			select * from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::text[], $6::text[])
				as o(conversion_id, programme_id, endpoint_epoch, delivery_public_id, name, body)
		), event as (
			insert into events (programme_id, receiver_id, conversion_id, name, body)
				select programme_id, programme_id, conversion_id, name, body from owed
				returning id, conversion_id, receiver_id
		), delivery as (
			insert into deliveries (id, public_id, programme_id, receiver_id, state, run, attempts, created_at_ms)
				select event.id, delivery_public_id, programme_id, receiver_id, 'pending', 1, 0, $7::bigint
				from event join owed using (conversion_id)
		), queued as (
			insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
				select event.id, receiver_id, $7::bigint, endpoint_epoch, 1, 0, 0 from event join owed using (conversion_id)
		)
		select id, conversion_id as "conversionId" from event`,
);
const SPEND_NONCES = hotStatement<{ programme_id: number; nonce: string }>(
	`${insertText("nonces", NONCE)} on conflict do nothing returning programme_id, nonce`,
);
const INSERT_CALLS = hotStatement(insertText("inbound_calls", INBOUND_CALL));

function insertText(table: string, columns: Columns): string {
	return `insert into ${table} (${Object.keys(columns).join(", ")}) select * from ${listText("list", columns)}`;
}

/** The parameters as a table of their own, in the order of the rows. */
function listText(name: string, columns: Columns): string {
	const arrays = Object.values(columns).map((type, at) => `$${at + 1}::${type}[]`);
	return `unnest(${arrays.join(", ")}) as ${name}(${Object.keys(columns).join(", ")})`;
}

type Cell = string | number | null;

function arraysOf<Column extends string>(
	columns: Readonly<Record<Column, ColumnType>>,
	rows: readonly Partial<Readonly<Record<NoInfer<Column>, Cell>>>[],
): string[] {
	const names = Object.keys(columns) as Column[];
	return names.map((name) => columnLiteral(rows, (row) => row[name] ?? null));
}

async function insertConversions(trx: Db, conversions: readonly NewConversion[]): Promise<Conversion[]> {
	const rows = await INSERT_CONVERSIONS.run(trx, arraysOf(CONVERSION, conversions));
	const ids = new Map(rows.map(({ id, public_id }) => [public_id, id]));
	return conversions.flatMap((conversion) => {
		const id = ids.get(conversion.public_id);
		return id === undefined ? [] : [storedConversion(id, conversion)];
	});
}

async function updateUnlessChanged(trx: Db, changes: readonly Change[]): Promise<Set<number>> {
	const list = changes.map(({ before, after }) => ({
		...after,
		was_status: before.status,
		was_confirmed_at_ms: before.confirmed_at_ms,
	}));
	return idsOf(await UPDATE_CONVERSIONS.run(trx, arraysOf(CHANGE, list)));
}

async function removeUnlessChanged(trx: Db, conversions: readonly Conversion[]): Promise<Set<number>> {
	return idsOf(await REMOVE_CONVERSIONS.run(trx, arraysOf(READ, conversions)));
}

function idsOf(rows: readonly { id: number }[]): Set<number> {
	return new Set(rows.map(({ id }) => id));
}

async function insertOwedEvents(
	trx: Db,
	owed: readonly OwedEvent[],
	nowMs: number,
): Promise<Map<number, number>> {
	const rows = await INSERT_OWED.run(trx, [
		columnLiteral(owed, (event) => event.conversionId),
		columnLiteral(owed, (event) => event.programmeId),
		columnLiteral(owed, (event) => event.endpointEpoch),
		columnLiteral(owed, (event) => event.deliveryPublicId),
		columnLiteral(owed, (event) => event.name),
		columnLiteral(owed, (event) => event.body),
		nowMs,
	]);
	return new Map(rows.map(({ id, conversionId }) => [conversionId, id]));
}

/** In the order of the index, so that two processes with the same nonces do not wait for each other. */
async function spendNonces(trx: Db, nonces: readonly NewNonce[]): Promise<Set<NewNonce>> {
	// Of one that comes twice the first is spent: the last to be put in the map.
	const byKey = new Map(nonces.toReversed().map((nonce) => [keyOf(nonce), nonce]));
	const list = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, nonce]) => nonce);
	const spent = await SPEND_NONCES.run(trx, arraysOf(NONCE, list));
	return new Set(spent.flatMap((row) => byKey.get(keyOf(row)) ?? []));
}

function keyOf({ programme_id, nonce }: Pick<NewNonce, "programme_id" | "nonce">): string {
	return `${programme_id} ${nonce}`;
}
