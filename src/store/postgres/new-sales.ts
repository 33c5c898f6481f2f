// Stores a batch of calls that report new sales in ONE statement, which commits by itself. So a batch costs one round trip
// instead of one for each table, one to begin and one to commit. If a nonce was used before or an order exists, the unique
// index refuses the whole statement. Nothing is stored then, and the caller stores the calls in the transaction of
// api/store-calls.ts.

import pg from "pg";
import { TEST_MACRO } from "../../domain/receiver.ts";
import { INBOUND_CALL, NONCE } from "../hot-writes.ts";
import type { NewSale, NewSales, StoredEvent, StoredNewSales } from "../new-sales.ts";
import { type CallbackTarget, PARTNERSHIP_TARGET_SELECT, SHOP_TARGET_SELECT } from "../queries/queue.ts";
import type { Db, LockWaitMs } from "../store.ts";
import { CONVERSION, type ColumnType } from "../tables/conversions.ts";
import { arrayLiteral, arraysOf, hotStatement, listText } from "./hot-statement.ts";

const SALE = {
	...CONVERSION,
	move: "text",
	delivery_public_id: "text",
	event_name: "text",
	event_body: "text",
	partner_delivery_public_id: "text",
	partner_event_start: "text",
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

// The parameters are the lock timeout, the ids of the programmes, the columns of the nonces, the sales and the inbound
// calls, and the ids of the credited partnerships, if there are any. These are the numbers of parameters before each list.
const BEFORE_NONCES = 2;
const BEFORE_SALES = BEFORE_NONCES + Object.keys(NONCE).length;
const BEFORE_INBOUND = BEFORE_SALES + Object.keys(SALE).length;
const BEFORE_PARTNERSHIPS = BEFORE_INBOUND + Object.keys(INBOUND_CALL).length;

/**
 * A row of the answer, which is either an event that must be sent or a callback target. Both have a receiver and an
 * epoch. The columns of the other kind are null.
 */
type AnswerRow = { [Column in keyof EventColumns]: EventColumns[Column] | null } & CallbackTarget;

interface EventColumns {
	eventId: number;
	deliveryPublicId: string;
	/** The body of a partner's event. Null for a shop's event, too. */
	body: string | null;
}

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
function storingStatement(partners: { targets: string; owed: string; answer: string }) {
	return hotStatement<AnswerRow>(`
	with sale as materialized (
		select nextval('conversions_id_seq') as id, list.* from ${listText("list", SALE, BEFORE_SALES)}
	), target as materialized (
		${SHOP_TARGET_SELECT} where p.id = any($2::bigint[]) and e.url is not null and s.id is not null
	), ${partners.targets} owed as materialized (
		select nextval('events_id_seq') as event_id, id, "receiverId" as receiver_id, delivery_public_id, event_name,
				event_body, created_at_ms, "endpointEpoch" as endpoint_epoch, false as is_partner
			from sale join target on target."programmeId" = sale.programme_id where event_name is not null
		${partners.owed}
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
	select event_id as "eventId", delivery_public_id as "deliveryPublicId",
		case when is_partner then event_body end as body, receiver_id as "receiverId", null as kind,
		null::bigint as "endpointId", endpoint_epoch as "endpointEpoch", null as url, null as form,
		null::bigint as "secretId", null as "sealedSecret", null::boolean as "isFailing"
		from owed where (select count(*) from recorded) >= 0
	union all
	select null, null, null, ${TARGET_NAMES} from target
	${partners.answer}`);
}

/** Columns of CallbackTarget in the order of the answer. */
const TARGET_NAMES = `"receiverId", kind, "endpointId", "endpointEpoch", url, form, "secretId", "sealedSecret", "isFailing"`;

const STORE_NEW_SALES = storingStatement({ targets: "", owed: "", answer: "" });

/**
 * The same statement for a batch in which a sale credits a partner. The partner's event is stored if the partner has a
 * URL and chose the event. The conditions must equal those of `isChosen` in domain/receiver.ts. The statement appends the
 * partner's id and the link's code to the event, so that neither has to be read before.
 */
const STORE_CREDITED_SALES = storingStatement({
	targets: `partner_target as materialized (
		${PARTNERSHIP_TARGET_SELECT} and partnership.id = any($${BEFORE_PARTNERSHIPS + 1}::bigint[])
	),`,
	owed: `union all
		select nextval('events_id_seq'), sale.id, "receiverId", partner_delivery_public_id, event_name,
				partner_event_start || partner_public_id || chr(10) || coalesce(link.code, ''), sale.created_at_ms,
				"endpointEpoch", true
			from sale join partner_target on partner_target.partnership_id = credit_partnership_id
			left join partner_links link on link.id = credit_link_id
			where partner_delivery_public_id is not null and event_name = any(string_to_array(chosen_events, ' '))
				and (test = 0 or form <> 'get' or strpos(url, '${TEST_MACRO}') > 0)`,
	answer: `union all select null, null, null, ${TARGET_NAMES} from partner_target`,
});

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
	const partnershipIds = new Set(sales.flatMap(({ credit_partnership_id: id }) => id ?? []));
	const statement = partnershipIds.size === 0 ? STORE_NEW_SALES : STORE_CREDITED_SALES;
	try {
		const rows = await statement.run(db, [
			String(maxLockWaitMs),
			arrayLiteral([...programmeIds]),
			...arraysOf(NONCE, nonces),
			...arraysOf(SALE, sales),
			...arraysOf(INBOUND_CALL, inboundCalls),
			...(partnershipIds.size === 0 ? [] : [arrayLiteral([...partnershipIds])]),
		]);
		return readAnswer(rows);
	} catch (error) {
		if (!(error instanceof pg.DatabaseError)) return { kind: "failed", error, isUncertain: true };
		if (error.code === UNIQUE_VIOLATION) return { kind: "conflict" };
		return { kind: "failed", error, isUncertain: MAYBE_COMMITTED.test(error.code ?? "") };
	}
}

function readAnswer(rows: readonly AnswerRow[]): StoredNewSales {
	const events = new Map<string, StoredEvent>();
	const targets: CallbackTarget[] = [];
	for (const { eventId, deliveryPublicId, body, ...target } of rows) {
		if (eventId === null || deliveryPublicId === null) targets.push(target);
		else {
			const { receiverId, endpointEpoch } = target;
			events.set(deliveryPublicId, { id: eventId, receiverId, endpointEpoch, body });
		}
	}
	return { kind: "stored", events, targets };
}
