// What a call or a decision writes, in sets. The two drivers write it in their own SQL (sqlite-writes, postgres-writes),
// because it runs for every sale; whoever has a transaction finds them by it. No set is empty: the files of the
// aggregates (conversion-moves, outbox, inbound-calls, keys) see to it, and say what each write means.

import type { DialectAdapter, Insertable } from "kysely";
import type { EventName } from "../domain/event-name.ts";
import type { Conversion, NewConversion } from "./queries/conversions.ts";
import { type CallbackTarget, TARGET_SELECT } from "./queries/queue.ts";
import type { Db } from "./schema/tables.ts";
import type { MovesTable } from "./tables/conversions.ts";
import type { InboundCallsTable } from "./tables/inbound.ts";
import type { NoncesTable } from "./tables/programmes.ts";

export type NewMove = Insertable<MovesTable>;
export type NewInboundCall = Insertable<InboundCallsTable>;
export type NewNonce = Insertable<NoncesTable>;

export interface Change {
	/** As it was read. */
	before: Conversion;
	after: Conversion;
}

/** A conversion that got a new number. */
export interface MoveLink {
	from_id: number;
	to_id: number;
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

/** Whose shop is owed events. Both databases read it; each adds which programmes. */
export const OWED_PROGRAMME_SELECT = `${TARGET_SELECT} where e.id is not null and s.id is not null`;

export interface OrderKey {
	programme_id: number;
	order_id: string;
}

export interface HotWrites {
	/** What is read before it is written. */
	findByOrders(db: Db, orders: readonly OrderKey[]): Promise<Conversion[]>;
	insertConversions(trx: Db, conversions: readonly NewConversion[]): Promise<Conversion[]>;
	updateUnlessChanged(trx: Db, changes: readonly Change[]): Promise<Set<number>>;
	removeUnlessChanged(trx: Db, conversions: readonly Conversion[]): Promise<Set<number>>;
	relinkMoves(trx: Db, links: readonly MoveLink[]): Promise<void>;
	insertMoves(trx: Db, moves: readonly NewMove[]): Promise<void>;
	keepAnnouncedBodies(trx: Db, bodies: readonly AnnouncedBody[]): Promise<void>;
	/** Here because no event is written without it. */
	readOwedProgrammes(trx: Db, programmeIds: readonly number[]): Promise<CallbackTarget[]>;
	/** Resolves to the number of each delivery, by its conversion. */
	insertOwedEvents(trx: Db, owed: readonly OwedEvent[], nowMs: number): Promise<Map<number, number>>;
	spendNonces(trx: Db, nonces: readonly NewNonce[]): Promise<Set<NewNonce>>;
	insertInboundCalls(trx: Db, calls: readonly NewInboundCall[]): Promise<void>;
}

/** A store's transactions are other objects each time, but all of them have its adapter. */
const WRITES = new WeakMap<DialectAdapter, HotWrites>();

export function setHotWrites(db: Db, writes: HotWrites): void {
	WRITES.set(db.getExecutor().adapter, writes);
}

export function hotWrites(db: Db): HotWrites {
	const writes = WRITES.get(db.getExecutor().adapter);
	if (writes === undefined) throw new Error("a database that no store has opened");
	return writes;
}
