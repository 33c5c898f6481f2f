// What a batch of changes reads, locks and writes. A batch is read by a few statements, judged in memory
// (conversions/change-orders.ts), and written by one call of `write`. SQLite and PostgreSQL have their own SQL for it
// (sqlite/batch.ts, postgres/batch.ts). The columns are listed here once for both. Statements name their columns instead of
// using `*`, because a later compatible schema may have more columns.

import type { Insertable } from "kysely";
import type { Move } from "../domain/conversion.ts";
import type { EventName } from "../domain/event-name.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import type { AddedRows, ColumnsOf, Key, KeyedRead } from "./module-parts.ts";
import type { ShopTarget } from "./queries/queue.ts";
import type { Db } from "./schema/tables.ts";
import type { Conversion, MovesTable } from "./tables/conversions.ts";
import type { InboundCallsTable } from "./tables/inbound.ts";
import type { NoncesTable } from "./tables/programmes.ts";

export type NewMove = Insertable<MovesTable>;
export type NewInboundCall = Insertable<InboundCallsTable>;
export type NewNonce = Insertable<NoncesTable>;

export interface OrderKey {
	programme_id: number;
	order_id: string;
}

export type NonceKey = Pick<NewNonce, "programme_id" | "nonce">;

/** What a batch is about. */
export interface Asked {
	nonces: readonly NonceKey[];
	orders: readonly OrderKey[];
	/** Programmes whose shops may have to be told. */
	programmeIds: readonly number[];
}

export interface Looked {
	/** The nonces that were used before, as `keyOfNonce` writes them. */
	usedNonces: ReadonlySet<string>;
	/** Every conversion of the orders, of any event type and in no particular order. */
	conversions: readonly Conversion[];
	shops: readonly ShopTarget[];
}

export interface Change {
	/** The conversion as it was locked, before the change. */
	before: Conversion;
	after: Conversion;
}

export type AnnouncedBody = {
	conversion_id: number;
	body: string;
};

/** An event that must be sent to a receiver. It becomes due at `at_ms`. */
export type OwedEvent = {
	/** The conversion that the event is about, or null for a test callback to a partner. */
	conversion_id: number | null;
	receiver_id: ReceiverId;
	endpoint_epoch: number;
	/** Public id of the delivery. */
	public_id: string;
	name: EventName;
	body: string;
	at_ms: number;
};

/** Times at which something worked for a programme. They are stored only if it is the first time. */
export type FirstTimes = {
	programme_id: number;
	signed_at_ms: number | null;
	pixel_at_ms: number | null;
};

export type KeyUse = {
	key_id: number;
	at_ms: number;
	/** The use is stored only if the last stored one is not later than this. */
	not_after_ms: number;
};

/**
 * The rows of a batch, as one list for each table, in the order in which both databases write them. A conversion that the
 * batch starts has a provisional id: -1, -2 and so on, in the order of `started`. The rows of other tables refer to it by
 * that id, and `write` replaces it.
 */
export interface BatchRows {
	nonces: readonly NewNonce[];
	/** Conversions that change. The transaction must have locked them. */
	changed: readonly Change[];
	started: readonly Conversion[];
	/**
	 * Bodies of events that were announced before, in the form of `composeEvent`. They are kept because the conversion
	 * changes now. Moves in `AMOUNT_MOVES` that announced no event get the amounts of their time in the same way.
	 */
	keptBodies: readonly AnnouncedBody[];
	moves: readonly NewMove[];
	/** Rows of modules, each table at most once, in the order of the modules. */
	ofModules: readonly AddedRows[];
	/** Events, at most one of a name for each conversion and receiver. They are stored with their deliveries. */
	events: readonly OwedEvent[];
	inboundCalls: readonly NewInboundCall[];
	firstTimes: readonly FirstTimes[];
	keyUses: readonly KeyUse[];
}

export interface Written {
	/** Ids of the started conversions, in their order. */
	conversionIds: readonly number[];
	/** Ids of the events, in their order. */
	eventIds: readonly number[];
}

/**
 * Reads and writes of a batch. On PostgreSQL each function runs one statement for the whole set, and none if the set is
 * empty.
 */
export interface BatchStore {
	look(db: Db, asked: Asked): Promise<Looked>;
	/**
	 * Locks conversions until the transaction ends, in the order of their ids, and returns them as they are then. One that
	 * was removed meanwhile is missing. What depends on them must be read by later statements, because only those see what
	 * others stored while this one waited.
	 */
	lock(trx: Db, conversionIds: readonly number[]): Promise<Conversion[]>;
	/** Returns the rows for all of these keys, which a module needs to know. */
	find<Wanted extends Key, Row>(
		db: Db,
		read: KeyedRead<Wanted, Row>,
		keys: readonly Wanted[],
	): Promise<Row[]>;
	/**
	 * Writes the rows, all of them or none. It must be a later statement than `lock`: the place of a move among those that
	 * listeners receive follows from what had been committed when the write began. Throws a ConflictError (conflict.ts) if
	 * an order or a nonce of the batch has been stored by another process since `look`.
	 */
	write(db: Db, rows: Partial<BatchRows>): Promise<Written>;
}

/** Returns the id of a conversion that the batch started, by its provisional id. */
export function idOfStarted(
	{ conversionIds }: Pick<Written, "conversionIds">,
	provisionalId: number,
): number {
	const id = conversionIds[-provisionalId - 1];
	if (id === undefined) throw new Error("a row refers to a conversion that the batch does not start");
	return id;
}

export function distinctOrders(orders: readonly OrderKey[]): OrderKey[] {
	return [...new Map(orders.map((order) => [`${order.programme_id} ${order.order_id}`, order])).values()];
}

export function keyOfNonce({ programme_id, nonce }: NonceKey): string {
	return `${programme_id} ${nonce}`;
}

/**
 * Compares two nonces by the order in which they are inserted. All processes use this order, so two of them with the
 * same nonces cannot deadlock.
 */
export function compareNonces(a: NonceKey, b: NonceKey): number {
	if (a.programme_id !== b.programme_id) return a.programme_id - b.programme_id;
	return a.nonce < b.nonce ? -1 : 1;
}

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

/** The moves after which a correction may follow, so that the amounts of their time must be kept. */
export const AMOUNT_MOVES: readonly Move[] = ["record", "approve", "confirm", "credit", "refund"];
/** The same moves as an SQL list. */
export const AMOUNT_MOVES_LIST: string = `(${AMOUNT_MOVES.map((move) => `'${move}'`).join(", ")})`;

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
