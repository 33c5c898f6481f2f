// The reads and writes that every inbound call and every decision needs. Each works on a set of rows. SQLite and
// PostgreSQL have their own SQL for them (sqlite/writes.ts, postgres/writes.ts). The columns are listed here once for
// both. Statements name their columns instead of using `*`, because a later compatible schema may have more columns.

import type { Insertable } from "kysely";
import type { EventName } from "../domain/event-name.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import type { Db } from "./schema/tables.ts";
import type { ColumnType, Conversion, MovesTable, NewConversion } from "./tables/conversions.ts";
import type { InboundCallsTable } from "./tables/inbound.ts";
import type { Entry, Refund } from "./tables/money.ts";
import type { CouponCodesTable, Partnership, StoredCredit } from "./tables/partners.ts";
import type { NoncesTable } from "./tables/programmes.ts";

export type NewMove = Insertable<MovesTable>;
export type NewInboundCall = Insertable<InboundCallsTable>;
/** A refund without its row number. */
export type NewRefund = Omit<Refund, "id">;
/** Columns of an entry that describe its sale. An adjustment has none. */
type OfSale = "decided_at_ms" | "sub_1" | "sub_2" | "sub_3";
/** An entry that a move or an adjustment causes. */
export type NewEntry = Omit<Entry, "id" | "statement_id" | OfSale> & Partial<Pick<Entry, OfSale>>;
export type NewNonce = Insertable<NoncesTable>;

export interface Change {
	/** The conversion as it was read, before the change. */
	before: Conversion;
	after: Conversion;
}

export interface CreditedPartner {
	conversion_id: number;
	partner_id: number;
	sub_1: string;
	sub_2: string;
	sub_3: string;
}

export interface AnnouncedBody {
	conversion_id: number;
	body: string;
}

/** An event that must be sent to a receiver. */
export interface OwedEvent {
	/** The conversion that the event is about, or null for a test callback to a partner. */
	conversionId: number | null;
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
	| "id"
	| "partner_id"
	| "commission_rate"
	| "event_rates"
	| "created_at_ms"
	| "ended_at_ms"
	| "clicks_ended_at_ms"
>;

/**
 * Reads and writes of sets of rows. On PostgreSQL each function runs one statement for the whole set, and none if the
 * set is empty.
 */
export interface HotWrites {
	/** Returns every conversion of these orders, of any event type and in no particular order. */
	findByOrders(db: Db, orders: readonly OrderKey[]): Promise<Conversion[]>;
	/**
	 * Inserts conversions and returns the stored rows. Skips a conversion if its programme already has one for the same
	 * order and event type.
	 */
	insertConversions(trx: Db, conversions: readonly NewConversion[]): Promise<Conversion[]>;
	/**
	 * Updates each conversion that nobody else has changed since it was read, and returns the ids of the updated ones. A
	 * different status, confirmation, amount or rate shows that another process was faster, because every move changes one
	 * of them. The only exception is a move that changes the credit but not the conversion's row.
	 */
	updateUnlessChanged(trx: Db, changes: readonly Change[]): Promise<Set<number>>;
	/**
	 * Sets new order ids on conversions that nobody else has changed since they were read. Returns the ids of the changed
	 * ones.
	 */
	renameUnlessChanged(trx: Db, conversions: readonly Conversion[]): Promise<Set<number>>;
	/**
	 * Inserts moves, and replaces the credits of their conversions by `credits`. This must be a separate statement that
	 * runs after the one that changed the conversions. Only then does PostgreSQL see all earlier moves of these
	 * conversions as committed, so that listeners receive the moves of each conversion in order.
	 */
	insertMoves(trx: Db, moves: readonly NewMove[], credits?: readonly StoredCredit[]): Promise<void>;
	/**
	 * Stores the bodies of events that were already announced, before their conversions change. Later readers of these
	 * events must see the body as it was announced. Moves in `AMOUNT_MOVES` get the amounts of their time in the same way.
	 */
	keepAnnouncedBodies(trx: Db, bodies: readonly AnnouncedBody[]): Promise<void>;
	/** Returns the active partnerships to which these coupon codes belong. */
	findByCodes(db: Db, codes: readonly CodeKey[]): Promise<(FoundPartnership & CodeKey)[]>;
	findPartnerships(db: Db, ids: readonly number[]): Promise<FoundPartnership[]>;
	/** Returns the partners to whom these conversions are credited. Conversions that nobody is credited with are missing. */
	findCreditedPartners(trx: Db, conversionIds: readonly number[]): Promise<CreditedPartner[]>;
	/** Inserts entries into the accounts of partners. No statement contains them yet. */
	insertEntries(trx: Db, entries: readonly NewEntry[]): Promise<void>;
	insertRefunds(trx: Db, refunds: readonly NewRefund[]): Promise<void>;
	/** Returns the refunds of these conversions, the oldest first. */
	findRefunds(db: Db, conversionIds: readonly number[]): Promise<NewRefund[]>;
	/** Locks the conversions and their credits until the transaction ends. Returns the credits by conversion id. */
	lockCredits(trx: Db, conversionIds: readonly number[]): Promise<ReadonlyMap<number, StoredCredit>>;
	/**
	 * Stores events in the transaction of the status changes that they announce, so that neither exists without the
	 * other. `owed` has at most one event for each conversion and receiver. Resolves to the ids of the deliveries, by
	 * their public ids.
	 */
	insertOwedEvents(trx: Db, owed: readonly OwedEvent[], nowMs: number): Promise<Map<string, number>>;
	/**
	 * Stores nonces, and returns those that were not used before. If the set contains the same nonce twice, only the
	 * first one is returned.
	 */
	spendNonces(trx: Db, nonces: readonly NewNonce[]): Promise<Set<NewNonce>>;
	insertInboundCalls(db: Db, calls: readonly NewInboundCall[]): Promise<void>;
}

export function distinctOrders(orders: readonly OrderKey[]): OrderKey[] {
	return [...new Map(orders.map((order) => [`${order.programme_id} ${order.order_id}`, order])).values()];
}

/**
 * Compares two nonces by the order in which they are inserted. All processes use this order, so two of them with the
 * same nonces cannot deadlock.
 */
export function compareNonces(a: NewNonce, b: NewNonce): number {
	if (a.programme_id !== b.programme_id) return a.programme_id - b.programme_id;
	return a.nonce < b.nonce ? -1 : 1;
}

type ColumnsOf<Row> = Readonly<Record<Exclude<keyof Row, "id">, ColumnType>>;

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
	lost_partner_id: "bigint",
	lost_commission: "text",
	gained_partner_id: "bigint",
} as const satisfies ColumnsOf<NewMove>;

/** SQL list of the moves that announce an event with amounts, or change the amounts. */
export const AMOUNT_MOVES = "('record', 'approve', 'confirm', 'credit', 'refund')";

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

/** Clause that makes the insert of a credit replace the conversion's existing credit. */
export const REPLACING_CREDIT = `on conflict (conversion_id) do update set ${Object.keys(CREDIT)
	.map((column) => `${column} = excluded.${column}`)
	.join(", ")}`;

export const ENTRY = {
	partner_id: "bigint",
	programme_id: "bigint",
	conversion_id: "bigint",
	kind: "text",
	amount: "text",
	currency: "text",
	person_id: "bigint",
	reason: "text",
	at_ms: "bigint",
	decided_at_ms: "bigint",
	sub_1: "text",
	sub_2: "text",
	sub_3: "text",
} as const satisfies ColumnsOf<NewEntry>;

/** Columns of an entry that its row in `open_entries` repeats. */
export const OPEN_ENTRY = [
	"partner_id",
	"programme_id",
	"kind",
	"amount",
	"currency",
	"at_ms",
] as const satisfies readonly (keyof typeof ENTRY)[];

export const REFUND = {
	programme_id: "bigint",
	conversion_id: "bigint",
	refund_id: "text",
	amount: "text",
	basket_value: "text",
	reason: "text",
	person_id: "bigint",
	at_ms: "bigint",
} as const satisfies ColumnsOf<NewRefund>;

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
