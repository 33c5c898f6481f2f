// HotWrites on PostgreSQL. Each set is stored or read by one statement, and each column of the set is an array
// parameter.

import {
	AMOUNT_MOVES,
	type CodeKey,
	CREDIT,
	type CreditedPartner,
	compareNonces,
	distinctOrders,
	ENTRY,
	type FoundPartnership,
	type HotWrites,
	INBOUND_CALL,
	MOVE,
	type NewNonce,
	type NewRefund,
	NONCE,
	OPEN_ENTRY,
	REFUND,
	REPLACING_CREDIT,
} from "../hot-writes.ts";
import type { Db } from "../schema/tables.ts";
import { CHANGING, CONVERSION, type ColumnType, type Conversion } from "../tables/conversions.ts";
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

type Numbered = { id: number };

const CHANGE = {
	id: "bigint",
	was_status: "text",
	was_confirmed_at_ms: "bigint",
	was_commission: "text",
	was_network_fee: "text",
	was_basket_value: "text",
	was_rates: "text",
	...CHANGING,
} as const;
const RENAMED = { id: "bigint", status: "text", order_id: "text" } as const;
const ORDER = { programme_id: "bigint", order_id: "text" } as const;
const CODE = { programme_id: "bigint", folded: "text" } as const;
const KEPT = { conversion_id: "bigint", body: "text" } as const;
const OWED = {
	conversionId: "bigint",
	receiverId: "bigint",
	endpointEpoch: "integer",
	deliveryPublicId: "text",
	name: "text",
	body: "text",
	nowMs: "bigint",
} as const;

/**
 * Finds conversions by order. The `offset 0` makes the planner use one index lookup for each order, whatever its
 * statistics say.
 */
const FIND_BY_ORDERS = forSet(
	ORDER,
	hotStatement<Conversion>(`select found.* from ${listText("wanted", ORDER)} cross join lateral (
		select id, ${Object.keys(CONVERSION).join(", ")} from conversions
		where programme_id = wanted.programme_id and order_id = wanted.order_id offset 0) as found`),
);
const INSERT_CONVERSIONS = forSet(
	CONVERSION,
	hotStatement<Numbered & { public_id: string }>(`${insertText("conversions", CONVERSION)}
		on conflict (programme_id, order_id, event_type) do nothing returning id, public_id`),
);
/**
 * Updates conversions that nobody has changed. It first locks the rows in the order of their ids, so that two processes
 * cannot deadlock. The update waits for the count of the locked rows instead of joining them. With a join the planner
 * compared every row with every locked row, which took 300 of 400 ms for 500 rows.
 */
const UPDATE_CONVERSIONS = forSet(
	CHANGE,
	hotStatement<Numbered>(`with locked as (select id from conversions where id = any($1::bigint[]) order by id for no key update)
	update conversions set ${Object.keys(CHANGING)
		.map((column) => `${column} = next.${column}`)
		.join(", ")}
		from ${listText("next", CHANGE)}
		where (select count(*) from locked) > 0 and conversions.id = next.id and conversions.status = next.was_status
			and conversions.confirmed_at_ms is not distinct from next.was_confirmed_at_ms
			and conversions.commission = next.was_commission and conversions.network_fee = next.was_network_fee
			and conversions.basket_value = next.was_basket_value
			and conversions.rates is not distinct from next.was_rates
		returning conversions.id`),
);
const RENAME_CONVERSIONS = forSet(
	RENAMED,
	hotStatement<Numbered>(`with locked as (select id from conversions where id = any($1::bigint[]) order by id for update)
	update conversions set order_id = next.order_id from ${listText("next", RENAMED)}
		where (select count(*) from locked) > 0 and conversions.id = next.id and conversions.status = next.status
		returning conversions.id`),
);
const INSERT_MOVES = hotStatement(insertText("moves", MOVE));
const INSERT_CREDITED_MOVES = hotStatement(`with credited as (
		${insertText("credits", CREDIT, Object.keys(MOVE).length)} ${REPLACING_CREDIT}
	) ${insertText("moves", MOVE)}`);
const FIND_BY_CODES = forSet(
	CODE,
	hotStatement<FoundPartnership & CodeKey>(`
	select code.programme_id, code.folded, own.id, own.partner_id, own.commission_rate, own.event_rates,
		own.created_at_ms, own.ended_at_ms,
		own.clicks_ended_at_ms from ${listText("asked", CODE)}
		join coupon_codes code on code.programme_id = asked.programme_id and code.folded = asked.folded
		join partnerships own on own.id = code.partnership_id and own.ended_at_ms is null`),
);
const FIND_PARTNERSHIPS = hotStatement<FoundPartnership>(
	`select id, partner_id, commission_rate, event_rates, created_at_ms, ended_at_ms, clicks_ended_at_ms
		from partnerships
		where id = any($1::bigint[])`,
);
/**
 * Reads credits under a lock. The conversions are locked in the order of their ids, as every update does, so that two
 * processes cannot deadlock. The credits are locked too, because the statement would otherwise return them as they were
 * before it waited for the conversions.
 */
const LOCK_CREDITS = hotStatement<StoredCredit>(`with locked as materialized (
		select id from conversions where id = any($1::bigint[]) order by id for no key update
	) select ${Object.keys(CREDIT).join(", ")} from credits
		join locked on locked.id = credits.conversion_id for no key update of credits`);
const FIND_CREDITED_PARTNERS = hotStatement<CreditedPartner>(
	`select conversion_id, partner_id, sub_1, sub_2, sub_3 from credits join partnerships own on own.id = partnership_id
		where conversion_id = any($1::bigint[])`,
);
const INSERT_ENTRIES = forSet(
	ENTRY,
	hotStatement(`with entry as (
			${insertText("entries", ENTRY)} returning id, ${OPEN_ENTRY.join(", ")}
		)
		insert into open_entries (entry_id, ${OPEN_ENTRY.join(", ")}) select * from entry`),
);
const INSERT_REFUNDS = forSet(REFUND, hotStatement(insertText("refunds", REFUND)));
const FIND_REFUNDS = hotStatement<NewRefund>(
	`select ${Object.keys(REFUND).join(", ")} from refunds where conversion_id = any($1::bigint[]) order by id`,
);
const KEEP_BODIES = forSet(
	KEPT,
	hotStatement(`update moves set announced_body = kept.body from ${listText("kept", KEPT)}
		where moves.conversion_id = kept.conversion_id and moves.move in ${AMOUNT_MOVES}
			and moves.announced_body is null`),
);
const INSERT_OWED = forSet(
	OWED,
	hotStatement<
		Numbered & { publicId: string }
	>(`with owed (conversion_id, receiver_id, endpoint_epoch, delivery_public_id, name, body, now_ms) as materialized (
			select * from ${listText("list", OWED)}
		), event as (
			insert into events (public_id, receiver_id, conversion_id, name, body, created_at_ms)
				select delivery_public_id, receiver_id, conversion_id, name, body, now_ms from owed
				returning id, public_id
		), queued as (
			insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
				select event.id, receiver_id, now_ms, endpoint_epoch, 1, 0, 0
				from event join owed on delivery_public_id = public_id
		)
		select id, public_id as "publicId" from event`),
);
const SPEND_NONCES = forSet(
	NONCE,
	hotStatement<{ programme_id: number; nonce: string }>(
		`${insertText("nonces", NONCE)} on conflict do nothing returning programme_id, nonce`,
	),
);
const INSERT_CALLS = forSet(INBOUND_CALL, hotStatement(insertText("inbound_calls", INBOUND_CALL)));

export const POSTGRES_WRITES: HotWrites = {
	findByOrders: (db, orders) => FIND_BY_ORDERS(db, distinctOrders(orders)),
	async insertConversions(trx, conversions) {
		const rows = await INSERT_CONVERSIONS(trx, conversions);
		const ids = new Map(rows.map(({ id, public_id }) => [public_id, id]));
		return conversions.flatMap((conversion) => {
			const id = ids.get(conversion.public_id);
			return id === undefined ? [] : [{ ...conversion, id }];
		});
	},
	async updateUnlessChanged(trx, changes) {
		const list = changes.map(({ before, after }) => ({
			...after,
			was_status: before.status,
			was_confirmed_at_ms: before.confirmed_at_ms,
			was_commission: before.commission,
			was_network_fee: before.network_fee,
			was_basket_value: before.basket_value,
			was_rates: before.rates,
		}));
		return idsOf(await UPDATE_CONVERSIONS(trx, list));
	},
	renameUnlessChanged: async (trx, conversions) => idsOf(await RENAME_CONVERSIONS(trx, conversions)),
	async insertMoves(trx, moves, credits = []) {
		if (credits.length > 0)
			await INSERT_CREDITED_MOVES.run(trx, [...arraysOf(MOVE, moves), ...arraysOf(CREDIT, credits)]);
		else if (moves.length > 0) await INSERT_MOVES.run(trx, arraysOf(MOVE, moves));
	},
	findByCodes: FIND_BY_CODES,
	findPartnerships: async (db, ids) =>
		ids.length === 0 ? [] : FIND_PARTNERSHIPS.run(db, [arrayLiteral(ids)]),
	findCreditedPartners: async (trx, ids) =>
		ids.length === 0 ? [] : FIND_CREDITED_PARTNERS.run(trx, [arrayLiteral(ids)]),
	insertEntries: async (trx, entries) => void (await INSERT_ENTRIES(trx, entries)),
	insertRefunds: async (trx, refunds) => void (await INSERT_REFUNDS(trx, refunds)),
	findRefunds: async (db, ids) => (ids.length === 0 ? [] : FIND_REFUNDS.run(db, [arrayLiteral(ids)])),
	async lockCredits(trx, ids) {
		const rows = ids.length === 0 ? [] : await LOCK_CREDITS.run(trx, [arrayLiteral(ids)]);
		return new Map(rows.map((row) => [row.conversion_id, row]));
	},
	keepAnnouncedBodies: async (trx, bodies) => void (await KEEP_BODIES(trx, bodies)),
	async insertOwedEvents(trx, owed, nowMs) {
		const rows = await INSERT_OWED(
			trx,
			owed.map((event) => ({ ...event, nowMs })),
		);
		return new Map(rows.map(({ id, publicId }) => [publicId, id]));
	},
	async spendNonces(trx, nonces) {
		// If a nonce occurs twice in the set, the first one wins. The map is built in reverse, so that the first one
		// overwrites the others.
		const byKey = new Map(nonces.toReversed().map((nonce) => [keyOf(nonce), nonce]));
		const list = [...byKey.values()].sort(compareNonces);
		return new Set((await SPEND_NONCES(trx, list)).flatMap((row) => byKey.get(keyOf(row)) ?? []));
	},
	insertInboundCalls: async (db, calls) => void (await INSERT_CALLS(db, calls)),
};

/** Returns a function that runs the statement with one array parameter for each column. */
function forSet<Column extends string, Row>(
	columns: Readonly<Record<Column, ColumnType>>,
	statement: HotStatement<Row>,
) {
	return async (trx: Db, rows: readonly RowOf<Column>[]): Promise<Row[]> =>
		rows.length === 0 ? [] : statement.run(trx, arraysOf(columns, rows));
}

function insertText(table: string, columns: Columns, before = 0): string {
	const list = listText("list", columns, before);
	return `insert into ${table} (${Object.keys(columns).join(", ")}) select * from ${list}`;
}

function idsOf(rows: readonly Numbered[]): Set<number> {
	return new Set(rows.map(({ id }) => id));
}

function keyOf({ programme_id, nonce }: Pick<NewNonce, "programme_id" | "nonce">): string {
	return `${programme_id} ${nonce}`;
}
