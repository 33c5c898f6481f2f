// The reads and writes of every call and every decision, in sets. Both drivers have their own SQL for them
// (sqlite/writes.ts, postgres/writes.ts). The columns of the tables are listed here once for both. Statements name
// the columns, because a later, compatible schema may have more.

import type { Insertable } from "kysely";
import type { EventName } from "../domain/event-name.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import type { Db } from "./schema/tables.ts";
import type { Conversion, MovesTable, NewConversion } from "./tables/conversions.ts";
import type { InboundCallsTable } from "./tables/inbound.ts";
import type { CouponCodesTable, Partnership, StoredCredit } from "./tables/partners.ts";
import type { NoncesTable } from "./tables/programmes.ts";

export type NewMove = Insertable<MovesTable>;
export type NewInboundCall = Insertable<InboundCallsTable>;
export type NewNonce = Insertable<NoncesTable>;

export interface Change {
	/** The row as it was read. */
	before: Conversion;
	after: Conversion;
}

export interface AnnouncedBody {
	conversion_id: number;
	body: string;
}

/** An event that is announced to a receiver. */
export interface OwedEvent {
	conversionId: number;
	receiverId: ReceiverId;
	endpointEpoch: number;
	deliveryPublicId: string;
	name: EventName;
	body: string;
}

export interface OrderKey {
	programme_id: number;
	order_id: string;
}

export type CodeKey = Pick<CouponCodesTable, "programme_id" | "folded">;

export type FoundPartnership = Pick<
	Partnership,
	"id" | "commission_rate" | "created_at_ms" | "ended_at_ms" | "clicks_ended_at_ms"
>;

/** On PostgreSQL each function is one statement for the whole set, and none for an empty set. */
export interface HotWrites {
	/** Returns every conversion of these orders, of any event type and in no particular order. */
	findByOrders(db: Db, orders: readonly OrderKey[]): Promise<Conversion[]>;
	/** Returns the conversions that were stored, without those whose order the programme already has. */
	insertConversions(trx: Db, conversions: readonly NewConversion[]): Promise<Conversion[]>;
	/**
	 * Updates conversions that nobody else has changed, and returns their ids. Status, confirmation and amounts show
	 * whether another process was faster, because every move changes one of them. The exception is a credit that leaves
	 * the row as it is.
	 */
	updateUnlessChanged(trx: Db, changes: readonly Change[]): Promise<Set<number>>;
	/** Sets the order ids of conversions that nobody else has changed, and returns their ids. */
	renameUnlessChanged(trx: Db, conversions: readonly Conversion[]): Promise<Set<number>>;
	/**
	 * Inserts moves, and replaces the credits of their conversions by `credits`. It must be a separate statement after
	 * the one that changed the conversions. On PostgreSQL it then sees all earlier moves of these conversions as
	 * committed, so that listeners receive the moves of a conversion in order.
	 */
	insertMoves(trx: Db, moves: readonly NewMove[], credits?: readonly StoredCredit[]): Promise<void>;
	/**
	 * Stores the announced bodies before the conversions change, because later readers of the events must see what was
	 * announced.
	 */
	keepAnnouncedBodies(trx: Db, bodies: readonly AnnouncedBody[]): Promise<void>;
	/** Returns the active partnerships that have these codes. */
	findByCodes(db: Db, codes: readonly CodeKey[]): Promise<(FoundPartnership & CodeKey)[]>;
	findPartnerships(db: Db, ids: readonly number[]): Promise<FoundPartnership[]>;
	/** Returns the credits by conversion. It locks the conversions and the credits until the transaction ends. */
	lockCredits(trx: Db, conversionIds: readonly number[]): Promise<ReadonlyMap<number, StoredCredit>>;
	/**
	 * Stores events in the transaction of the status changes that they announce, so that neither exists without the
	 * other. There is at most one for each conversion. Resolves to the id of each delivery, by conversion.
	 */
	insertOwedEvents(trx: Db, owed: readonly OwedEvent[], nowMs: number): Promise<Map<number, number>>;
	/**
	 * Stores nonces, and returns those that were not used before. If a nonce occurs twice in the set, the first one
	 * counts.
	 */
	spendNonces(trx: Db, nonces: readonly NewNonce[]): Promise<Set<NewNonce>>;
	insertInboundCalls(db: Db, calls: readonly NewInboundCall[]): Promise<void>;
}

export function distinctOrders(orders: readonly OrderKey[]): OrderKey[] {
	return [...new Map(orders.map((order) => [`${order.programme_id} ${order.order_id}`, order])).values()];
}

/** Order in which nonces are inserted, so that two processes with the same nonces cannot deadlock. */
export function compareNonces(a: NewNonce, b: NewNonce): number {
	if (a.programme_id !== b.programme_id) return a.programme_id - b.programme_id;
	return a.nonce < b.nonce ? -1 : 1;
}

/** Name of a type on PostgreSQL. */
export type ColumnType = "text" | "integer" | "bigint";

type ColumnsOf<Row> = Readonly<Record<Exclude<keyof Row, "id">, ColumnType>>;

/** Columns that every move may change. */
export const DECIDING = {
	status: "text",
	commission: "text",
	network_fee: "text",
	currency: "text",
	reason: "text",
	test: "integer",
	pixel_basket_value: "text",
	confirmed_at_ms: "bigint",
	decided_by: "text",
	window_ends_at_ms: "bigint",
	updated_at_ms: "bigint",
} as const satisfies Partial<ColumnsOf<Conversion>>;

/** Columns that some move may change. The others identify a conversion and its origin. */
export const CHANGING = {
	...DECIDING,
	basket_value: "text",
	occurred_at_ms: "bigint",
} as const satisfies Partial<ColumnsOf<Conversion>>;

export const CONVERSION = {
	public_id: "text",
	programme_id: "bigint",
	order_id: "text",
	event_type: "text",
	source: "text",
	created_at_ms: "bigint",
	imported_decision_at_ms: "bigint",
	...CHANGING,
} as const satisfies ColumnsOf<Conversion>;

export const MOVE = {
	programme_id: "bigint",
	conversion_id: "bigint",
	move: "text",
	to_status: "text",
	decided_by: "text",
	person_id: "bigint",
	reason: "text",
	at_ms: "bigint",
	announced_body: "text",
} as const satisfies ColumnsOf<NewMove>;

export const CREDIT = {
	conversion_id: "bigint",
	programme_id: "bigint",
	partnership_id: "bigint",
	word: "text",
	sold_at_ms: "bigint",
	link_id: "bigint",
	clicked_at_ms: "bigint",
	sub_1: "text",
	sub_2: "text",
	sub_3: "text",
} as const satisfies ColumnsOf<StoredCredit>;

/** Clause after the insert of credits. */
export const REPLACING_CREDIT = `on conflict (conversion_id) do update set ${Object.keys(CREDIT)
	.map((column) => `${column} = excluded.${column}`)
	.join(", ")}`;

export const NONCE = {
	programme_id: "bigint",
	nonce: "text",
	expires_at_ms: "bigint",
} as const satisfies ColumnsOf<NewNonce>;

export const INBOUND_CALL = {
	programme_id: "bigint",
	kind: "text",
	method: "text",
	target: "text",
	outcome: "text",
	http_status: "integer",
	detail: "text",
	order_id: "text",
	conversion: "text",
	at_ms: "bigint",
	request_id: "text",
} as const satisfies ColumnsOf<NewInboundCall>;
