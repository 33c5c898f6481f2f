// Stores a batch of calls that report new sales in ONE statement, which commits by itself. So a batch costs one round trip
// instead of one for each table, one to begin and one to commit.
//
//   the call's nonce and all its orders are new ─▶ everything of the call is stored
//   its nonce was used, or one of its orders exists ─▶ nothing of the call is stored, and the caller takes the general path
//   another process stores one of them meanwhile ─▶ the unique index refuses the statement, and nothing is stored

import pg from "pg";
import { CONVERSION, type ColumnType, INBOUND_CALL, NONCE } from "../hot-writes.ts";
import type { NewSalesCalls, StoredNewSales } from "../new-sales.ts";
import { type CallbackTarget, TARGET_SELECT } from "../queries/queue.ts";
import type { Db, LockWaitMs } from "../store.ts";
import { arrayLiteral, arraysOf, hotStatement, listText } from "./hot-statement.ts";

const CALL = { call: "integer" } as const satisfies Record<string, ColumnType>;
const CALLED_NONCE = { ...CALL, ...NONCE } as const;
const CALLED_SALE = {
	...CALL,
	...CONVERSION,
	move: "text",
	delivery_public_id: "text",
	event_name: "text",
	event_body: "text",
} as const;
const CALLED_INBOUND = { ...CALL, ...INBOUND_CALL } as const;

const NONCE_COLUMNS = Object.keys(NONCE).join(", ");
const CONVERSION_COLUMNS = Object.keys(CONVERSION).join(", ");
const INBOUND_COLUMNS = Object.keys(INBOUND_CALL).join(", ");

// The parameters are the lock timeout, the ids of the programmes, and the columns of the nonces, the sales and the inbound
// calls. These are the numbers of parameters before each list.
const BEFORE_NONCES = 2;
const BEFORE_SALES = BEFORE_NONCES + Object.keys(CALLED_NONCE).length;
const BEFORE_INBOUND = BEFORE_SALES + Object.keys(CALLED_SALE).length;

/** A row of the answer: a call that is not new, an event that is owed, or a target. The other columns are null. */
type AnswerRow = { knownCall: number | null; eventId: number | null; deliveryPublicId: string | null } & {
	[Column in keyof CallbackTarget]: CallbackTarget[Column] | null;
};

/**
 * All parts of the statement see the database as it was when the statement began, so `known_call` finds everything that was
 * committed before. A nonce or an order that another process stores later violates the unique index.
 *
 * Two processes with the same calls must not deadlock, so both wait for the same rows in the same order, which is also that
 * of the general path: first all nonces, then all orders, each in the order of the index. The orders wait for the count of
 * the nonces, because the parts of a statement have no order of their own.
 *
 * The ids come from the sequences before the rows are inserted, so that the parts need not be joined by the ids that
 * earlier parts returned. `offset 0` makes the planner look up each row in the index, whatever its statistics say.
 *
 * Other moves are inserted by a statement of their own after the one that changes the conversion (see `insertMoves` in
 * hot-writes.ts), so that listeners receive them after earlier moves of the conversion. A new conversion has no earlier
 * moves, so its first one can be part of the statement that inserts it. A later move is made by a transaction that has seen
 * the new conversion, and therefore gets a number that is not lower.
 *
 * The lock timeout holds until the statement's own transaction ends.
 */
const STORE_NEW_SALES = hotStatement<AnswerRow>(`
	with nonce as materialized (
		select * from ${listText("list", CALLED_NONCE, BEFORE_NONCES)}
	), sale as materialized (
		select * from ${listText("list", CALLED_SALE, BEFORE_SALES)}
	), known_call as materialized (
		select call from nonce where exists (
			select 1 from nonces n where n.programme_id = nonce.programme_id and n.nonce = nonce.nonce offset 0)
		union
		select call from sale where exists (
			select 1 from conversions c where c.programme_id = sale.programme_id and c.order_id = sale.order_id
				and c.event_type = sale.event_type offset 0)
	), new_sale as materialized (
		select nextval('conversions_id_seq') as id, sale.* from sale where call not in (select call from known_call)
	), target as materialized (
		${TARGET_SELECT} where p.id = any($2::bigint[]) and e.url is not null and s.id is not null
	), owed as materialized (
		select nextval('events_id_seq') as event_id, new_sale.*, target."endpointEpoch" as endpoint_epoch
			from new_sale join target on target."programmeId" = new_sale.programme_id
			where new_sale.event_name is not null
	), spent as (
		insert into nonces (${NONCE_COLUMNS}) select ${NONCE_COLUMNS} from nonce
			where (select set_config('lock_timeout', $1, true)) is not null
				and call not in (select call from known_call)
			returning 1
	), recorded as (
		insert into conversions (id, ${CONVERSION_COLUMNS}) select id, ${CONVERSION_COLUMNS} from new_sale
			where (select count(*) from spent) >= 0
	), moved as (
		insert into moves (programme_id, conversion_id, move, to_status, at_ms)
			select programme_id, id, move, status, created_at_ms from new_sale
	), announced as (
		insert into events (id, public_id, programme_id, receiver_id, conversion_id, name, body, created_at_ms)
			select event_id, delivery_public_id, programme_id, programme_id, id, event_name, event_body, created_at_ms
			from owed
	), queued as (
		insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
			select event_id, programme_id, created_at_ms, endpoint_epoch, 1, 0, 0 from owed
	), logged as (
		insert into inbound_calls (${INBOUND_COLUMNS})
			select ${INBOUND_COLUMNS} from ${listText("list", CALLED_INBOUND, BEFORE_INBOUND)}
			where call not in (select call from known_call)
	)
	select call as "knownCall", null::bigint as "eventId", null as "deliveryPublicId", null::bigint as "programmeId",
		null as "publicId", null::bigint as "endpointId", null::integer as "endpointEpoch", null as url,
		null::bigint as "secretId", null as "sealedSecret", null::boolean as "isFailing" from known_call
	union all
	select null, event_id, delivery_public_id, null, null, null, null, null, null, null, null from owed
	union all
	select null, null, null, target.* from target`);

/** SQLSTATE unique_violation. */
const UNIQUE_VIOLATION = "23505";

/**
 * SQLSTATEs after which the statement may have been committed. Class 08 is a broken connection, and 57P0x is a server that
 * shuts down, perhaps after the commit.
 */
const MAYBE_COMMITTED = /^(?:08|57P)/;

export async function storeNewSales(
	db: Db,
	calls: NewSalesCalls,
	maxLockWaitMs: LockWaitMs,
): Promise<StoredNewSales> {
	try {
		const rows = await STORE_NEW_SALES.run(db, parametersOf(calls, maxLockWaitMs));
		return readAnswer(rows);
	} catch (error) {
		if (!(error instanceof pg.DatabaseError)) return { kind: "failed", error, isUncertain: true };
		if (error.code === UNIQUE_VIOLATION) return { kind: "conflict" };
		return { kind: "failed", error, isUncertain: MAYBE_COMMITTED.test(error.code ?? "") };
	}
}

function parametersOf({ nonces, sales, inboundCalls }: NewSalesCalls, maxLockWaitMs: LockWaitMs): string[] {
	const programmeIds = new Set(sales.map(({ programme_id }) => programme_id));
	return [
		String(maxLockWaitMs),
		arrayLiteral([...programmeIds]),
		...arraysOf(CALLED_NONCE, nonces),
		...arraysOf(CALLED_SALE, sales),
		...arraysOf(CALLED_INBOUND, inboundCalls),
	];
}

function readAnswer(rows: readonly AnswerRow[]): StoredNewSales {
	const knownCalls = new Set<number>();
	const eventIds = new Map<string, number>();
	const targets: CallbackTarget[] = [];
	for (const { knownCall, eventId, deliveryPublicId, ...target } of rows) {
		if (knownCall !== null) knownCalls.add(knownCall);
		else if (eventId !== null && deliveryPublicId !== null) eventIds.set(deliveryPublicId, eventId);
		else targets.push(target as CallbackTarget);
	}
	return { kind: "stored", knownCalls, eventIds, targets };
}
