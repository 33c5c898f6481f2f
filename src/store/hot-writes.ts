// What every call and every decision reads and writes, in sets: the two drivers do it in their own SQL (sqlite/writes,
// postgres/writes). Here are also the columns of the tables that are written so, once for both. By name, because a
// later, compatible schema may have more columns.

import type { Insertable } from "kysely";
import type { EventName } from "../domain/event-name.ts";
import type { Db } from "./schema/tables.ts";
import type { Conversion, MovesTable, NewConversion } from "./tables/conversions.ts";
import type { InboundCallsTable } from "./tables/inbound.ts";
import type { CouponCodesTable, Partnership, StoredCredit } from "./tables/partners.ts";
import type { NoncesTable } from "./tables/programmes.ts";

export type NewMove = Insertable<MovesTable>;
export type NewInboundCall = Insertable<InboundCallsTable>;
export type NewNonce = Insertable<NoncesTable>;

export interface Change {
	/** As it was read. */
	before: Conversion;
	after: Conversion;
}

export interface AnnouncedBody {
	conversion_id: number;
	body: string;
}

/** An event that a programme's shop is owed, which is its own receiver. */
export interface OwedEvent {
	conversionId: number;
	programmeId: number;
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

export type FoundPartnership = Pick<Partnership, "id" | "commission_rate" | "created_at_ms">;

/** Each is one statement on PostgreSQL, however large the set is, and none for an empty set. */
export interface HotWrites {
	/** Every conversion of these orders, whatever its event type. In no order of its own. */
	findByOrders(db: Db, orders: readonly OrderKey[]): Promise<Conversion[]>;
	/** Returns those that were stored: not the ones whose order the programme already has. */
	insertConversions(trx: Db, conversions: readonly NewConversion[]): Promise<Conversion[]>;
	/**
	 * Returns the ids of those that were changed. Status, confirmation and amounts together tell whether another process was
	 * there in between: every move changes one of them, but for a credit that leaves the row as it is.
	 */
	updateUnlessChanged(trx: Db, changes: readonly Change[]): Promise<Set<number>>;
	/** Returns the ids of those that got this order id. */
	renameUnlessChanged(trx: Db, conversions: readonly Conversion[]): Promise<Set<number>>;
	/**
	 * A statement of its own, behind those that changed the conversions: on PostgreSQL it then sees all their earlier moves
	 * as ended, and listeners are told of a conversion's moves in their order. `credits` take the place of those that the
	 * conversions have.
	 */
	insertMoves(trx: Db, moves: readonly NewMove[], credits?: readonly StoredCredit[]): Promise<void>;
	/** A reader of the events must see later what was announced then, not what the conversion has become since. */
	keepAnnouncedBodies(trx: Db, bodies: readonly AnnouncedBody[]): Promise<void>;
	/** The active ones that have these codes. */
	findByCodes(db: Db, codes: readonly CodeKey[]): Promise<(FoundPartnership & CodeKey)[]>;
	findPartnerships(db: Db, ids: readonly number[]): Promise<FoundPartnership[]>;
	/** By conversion; locks the conversions, so that both stay as they are until the transaction ends. */
	lockCredits(trx: Db, conversionIds: readonly number[]): Promise<ReadonlyMap<number, StoredCredit>>;
	/**
	 * In the transaction of the status changes that they announce, so that neither exists without the other; at most one
	 * for each conversion. Resolves to the number of each delivery, by its conversion.
	 */
	insertOwedEvents(trx: Db, owed: readonly OwedEvent[], nowMs: number): Promise<Map<number, number>>;
	/** Returns those that were not used before; of one that comes twice in the set, the first. */
	spendNonces(trx: Db, nonces: readonly NewNonce[]): Promise<Set<NewNonce>>;
	insertInboundCalls(db: Db, calls: readonly NewInboundCall[]): Promise<void>;
}

export function distinctOrders(orders: readonly OrderKey[]): OrderKey[] {
	return [...new Map(orders.map((order) => [`${order.programme_id} ${order.order_id}`, order])).values()];
}

/** As on PostgreSQL. */
export type ColumnType = "text" | "integer" | "bigint";

type ColumnsOf<Row> = Readonly<Record<Exclude<keyof Row, "id">, ColumnType>>;

/** What every move may change, a decision too. */
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

/** Every column that a move may change. The rest is what a conversion is called and where it came from. */
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

/** What follows the insert. */
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
} as const satisfies ColumnsOf<NewInboundCall>;
