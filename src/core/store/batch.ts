// Reads, locks and writes of a batch of changes. A batch is read by a few statements, judged in memory
// (conversions/change-orders.ts), and written by one call of `write`. SQLite and PostgreSQL have their own SQL for it
// (sqlite/batch.ts, postgres/batch.ts), and this file lists the columns for both. Statements name their columns
// instead of using `*`, because a later compatible schema may have more columns.

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

/** Keys that a batch looks up. */
export interface Asked {
	nonces: readonly NonceKey[];
	orders: readonly OrderKey[];
	/** Programmes whose shops may get an event. */
	programmeIds: readonly number[];
}

export interface Looked {
	/** Nonces that were used before, in the form of `keyOfNonce`. */
	usedNonces: ReadonlySet<string>;
	/** Every conversion of these orders, whatever its event type, in no particular order. */
	conversions: readonly Conversion[];
	shops: readonly ShopTarget[];
}

export interface Change {
	/** Conversion before the change, as it was when it was locked. */
	before: Conversion;
	after: Conversion;
}

export type AnnouncedBody = {
	conversion_id: number;
	body: string;
};

/** An event that must be sent to a receiver. It becomes due at `at_ms`. */
export type OwedEvent = {
	conversion_id: number | null;
	receiver_id: ReceiverId;
	endpoint_epoch: number;
	public_id: string;
	name: EventName;
	body: string;
	at_ms: number;
};

/**
 * Times at which a feature worked for a programme. A time is stored only if the programme has none for this feature
 * yet.
 */
export type FirstTimes = {
	programme_id: number;
	signed_at_ms: number | null;
	pixel_at_ms: number | null;
};

export type KeyUse = {
	key_id: number;
	at_ms: number;
	/** Condition for storing the key's use: the last stored use must not be later than this time. */
	not_after_ms: number;
};

/**
 * Rows of a batch, as one list for each table, in the order in which both databases write them. A conversion that the
 * batch starts has a provisional id: -1, -2 and so on, in the order of `started`. Rows of other tables refer to the
 * conversion by this id, and `write` replaces it.
 */
export interface BatchRows {
	nonces: readonly NewNonce[];
	/** Changed conversions. The transaction must have locked them. */
	changed: readonly Change[];
	started: readonly Conversion[];
	/**
	 * Bodies of events that were announced before, in the form of `composeEvent`. They are stored because the
	 * conversion changes now. Moves in `AMOUNT_MOVES` that announced no event get a body with the amounts of their
	 * time.
	 */
	keptBodies: readonly AnnouncedBody[];
	moves: readonly NewMove[];
	/** Rows of modules, each table at most once, in the order of the modules. */
	ofModules: readonly AddedRows[];
	/** Events, at most one per name, conversion and receiver. They are stored together with their deliveries. */
	events: readonly OwedEvent[];
	inboundCalls: readonly NewInboundCall[];
	firstTimes: readonly FirstTimes[];
	keyUses: readonly KeyUse[];
}

export interface Written {
	/** Ids of the new conversions, in the order in which the batch lists them. */
	conversionIds: readonly number[];
	/** Ids of the new events, in the order in which the batch lists them. */
	eventIds: readonly number[];
}

/**
 * Reads and writes of a batch. On PostgreSQL, each function runs one statement for the whole set, or none if the set
 * is empty.
 */
export interface BatchStore {
	look(db: Db, asked: Asked): Promise<Looked>;
	/**
	 * Locks conversions until the transaction ends, in the order of their ids, and returns their present rows. A
	 * conversion that was removed meanwhile is missing. Data that depends on the conversions must be read by later
	 * statements, because only those see what other transactions stored while this one waited for the lock.
	 */
	lock(trx: Db, conversionIds: readonly number[]): Promise<Conversion[]>;
	/** Returns the rows for all of these keys, which a module needs for its facts. */
	find<Wanted extends Key, Row>(
		db: Db,
		read: KeyedRead<Wanted, Row>,
		keys: readonly Wanted[],
	): Promise<Row[]>;
	/**
	 * Writes all the rows or none. `lock` must have been an earlier statement, because the place of a move in the order
	 * for listeners depends on what had been committed when the write began. Throws a ConflictError (conflict.ts) if
	 * another process has stored an order or a nonce of the batch since `look`.
	 */
	write(db: Db, rows: Partial<BatchRows>): Promise<Written>;
}

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
 * Compares two nonces by the order in which they are inserted. All processes use this order, so two processes that
 * insert the same nonces cannot deadlock.
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

/** Moves that a correction may follow. The amounts at the time of such a move must be kept. */
export const AMOUNT_MOVES: readonly Move[] = ["record", "approve", "confirm", "credit", "refund"];
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
