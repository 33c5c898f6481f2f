// Stores a batch of calls that report new sales in ONE statement, which commits by itself. So a batch costs one round trip
// instead of one for each table, one to begin and one to commit. If a nonce was used before or an order exists, the unique
// index refuses the whole statement. Nothing is stored then, and the caller stores
// the calls in the transaction of api/store-calls.ts.

import pg from "pg";
import { CONVERSION, type ColumnType, INBOUND_CALL, NONCE } from "../hot-writes.ts";
import type { NewSale, NewSales, StoredNewSales } from "../new-sales.ts";
import { SHOP_TARGET_SELECT, type ShopTarget } from "../queries/queue.ts";
import type { Db, LockWaitMs } from "../store.ts";
import { arrayLiteral, arraysOf, hotStatement, listText } from "./hot-statement.ts";

const SALE = {
	...CONVERSION,
	move: "text",
	delivery_public_id: "text",
	event_name: "text",
	event_body: "text",
	credit_partnership_id: "bigint",
	credit_word: "text",
	credit_link_id: "bigint",
	credit_clicked_at_ms: "bigint",
	credit_sub_1: "text",
	credit_sub_2: "text",
	credit_sub_3: "text",
} as const satisfies Readonly<Record<keyof NewSale, ColumnType>>;

const NONCE_COLUMNS = Object.keys(NONCE).join(", ");
const CONVERSION_COLUMNS = Object.keys(CONVERSION).join(", ");
const INBOUND_COLUMNS = Object.keys(INBOUND_CALL).join(", ");

// The parameters are the lock timeout, the ids of the programmes, and the columns of the nonces, the sales and the inbound
// calls. These are the numbers of parameters before each list.
const BEFORE_NONCES = 2;
const BEFORE_SALES = BEFORE_NONCES + Object.keys(NONCE).length;
const BEFORE_INBOUND = BEFORE_SALES + Object.keys(SALE).length;

/**
 * A row of the answer, which is either an event that must be sent or a callback target. The columns of the other kind
 * are null.
 */
type AnswerRow = { eventId: number | null; deliveryPublicId: string | null } & {
	[Column in keyof ShopTarget]: ShopTarget[Column] | null;
};

/**
 * Stores a batch of new sales. PostgreSQL may run the parts of such a statement in any order, so each part refers to
 * the row count of the part that must run before it. First come all nonces, then all orders, each in the order of its
 * index. The transaction in api/store-calls.ts uses the same order, so two processes with the same calls cannot
 * deadlock. The other inserts follow when both have succeeded, so that a conflict wastes little work.
 *
 * The ids come from the sequences before the rows are inserted. The parts then need no join by the ids that earlier
 * parts returned.
 *
 * All other moves are inserted by a separate statement after the one that changes the conversion (see `insertMoves` in
 * hot-writes.ts), so that listeners receive them after earlier moves of the conversion. A new conversion has no earlier
 * moves, so the statement that inserts it can also insert its first move. A later move is made by a transaction that
 * has seen the new conversion, and therefore never gets a lower number.
 *
 * The lock timeout is set for this statement's own transaction.
 */
const STORE_NEW_SALES = hotStatement<AnswerRow>(`
	with sale as materialized (
		select nextval('conversions_id_seq') as id, list.* from ${listText("list", SALE, BEFORE_SALES)}
	), target as materialized (
		${SHOP_TARGET_SELECT} where p.id = any($2::bigint[]) and e.url is not null and s.id is not null
	), owed as materialized (
		select nextval('events_id_seq') as event_id, id, "receiverId" as receiver_id, delivery_public_id, event_name,
				event_body, created_at_ms, "endpointEpoch" as endpoint_epoch
			from sale join target on target."programmeId" = sale.programme_id where event_name is not null
	), spent as (
		insert into nonces (${NONCE_COLUMNS}) select * from ${listText("list", NONCE, BEFORE_NONCES)}
			where (select set_config('lock_timeout', $1, true)) is not null
			returning 1
	), recorded as (
		insert into conversions (id, ${CONVERSION_COLUMNS}) select id, ${CONVERSION_COLUMNS} from sale
			where (select count(*) from spent) >= 0
			returning 1
	), moved as (
		insert into moves (programme_id, conversion_id, move, to_status, at_ms)
			select programme_id, id, move, status, created_at_ms from sale
	), credited as (
		insert into credits (conversion_id, programme_id, sold_at_ms, partnership_id, word, link_id, clicked_at_ms, sub_1,
				sub_2, sub_3)
			select id, programme_id, occurred_at_ms, credit_partnership_id, credit_word, credit_link_id,
				credit_clicked_at_ms, credit_sub_1, credit_sub_2, credit_sub_3
			from sale where credit_word is not null
	), announced as (
		insert into events (id, public_id, receiver_id, conversion_id, name, body, created_at_ms)
			select event_id, delivery_public_id, receiver_id, id, event_name, event_body, created_at_ms from owed
	), queued as (
		insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
			select event_id, receiver_id, created_at_ms, endpoint_epoch, 1, 0, 0 from owed
	), logged as (
		insert into inbound_calls (${INBOUND_COLUMNS}) select * from ${listText("list", INBOUND_CALL, BEFORE_INBOUND)}
	)
	select event_id as "eventId", delivery_public_id as "deliveryPublicId", null::bigint as "programmeId",
		null as "publicId", null::bigint as "receiverId", null::bigint as "endpointId",
		null::integer as "endpointEpoch", null as url, null::bigint as "secretId", null as "sealedSecret",
		null::boolean as "isFailing"
		from owed where (select count(*) from recorded) >= 0
	union all
	select null, null, target.* from target`);

/** SQLSTATE unique_violation. */
const UNIQUE_VIOLATION = "23505";

/**
 * SQLSTATEs after which the statement may have been committed. Class 08 is a broken connection, and 57P0x is a server that
 * shuts down, perhaps after the commit.
 */
const MAYBE_COMMITTED = /^(?:08|57P)/;

export async function storeNewSales(
	db: Db,
	{ nonces, sales, inboundCalls }: NewSales,
	maxLockWaitMs: LockWaitMs,
): Promise<StoredNewSales> {
	const programmeIds = new Set(sales.map(({ programme_id }) => programme_id));
	try {
		const rows = await STORE_NEW_SALES.run(db, [
			String(maxLockWaitMs),
			arrayLiteral([...programmeIds]),
			...arraysOf(NONCE, nonces),
			...arraysOf(SALE, sales),
			...arraysOf(INBOUND_CALL, inboundCalls),
		]);
		return readAnswer(rows);
	} catch (error) {
		if (!(error instanceof pg.DatabaseError)) return { kind: "failed", error, isUncertain: true };
		if (error.code === UNIQUE_VIOLATION) return { kind: "conflict" };
		return { kind: "failed", error, isUncertain: MAYBE_COMMITTED.test(error.code ?? "") };
	}
}

function readAnswer(rows: readonly AnswerRow[]): StoredNewSales {
	const eventIds = new Map<string, number>();
	const targets: ShopTarget[] = [];
	for (const { eventId, deliveryPublicId, ...target } of rows) {
		if (eventId !== null && deliveryPublicId !== null) eventIds.set(deliveryPublicId, eventId);
		else targets.push(target as ShopTarget);
	}
	return { kind: "stored", eventIds, targets };
}
