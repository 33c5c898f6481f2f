// Reads moves in the order in which listeners receive them, which is by transaction number and then by id.
// `Store.moveOrder` has SQL for that number, and for the number below which all transactions have ended. Only moves
// below the latter are read, so that no move can appear later before a listener's cursor. The order does not use times,
// because the clocks of processes differ.

import { sql } from "kysely";
import type { Cursor } from "../../domain/cursor.ts";
import type { EventName } from "../../domain/event-name.ts";
import type { ReceiverId } from "../../domain/receiver.ts";
import type { Db, Store } from "../store.ts";
import type { MovesTable } from "../tables/conversions.ts";
import type { Conversion } from "./conversions.ts";

/** The part of the store that these queries need. The `db` may belong to a transaction. */
export type MoveStore = Pick<Store, "db" | "moveOrder">;

/**
 * A move that a listener's cursor has passed. `public_id` is null if the conversion belongs to a programme other than
 * the listener's.
 */
export type PassedMove = Cursor &
	Pick<MovesTable, (typeof MOVE_COLUMNS)[number]> &
	({ public_id: null } | Pick<Conversion, EventColumn>);

const MOVE_COLUMNS = ["conversion_id", "move", "to_status", "reason", "announced_body"] as const;
/**
 * Columns of the conversion that an event contains, besides the status and reason of the move. Before one of them
 * changes after the announcement, the announced body is stored with the move.
 */
const EVENT_COLUMNS = [
	"public_id",
	"order_id",
	"event_type",
	"basket_value",
	"commission",
	"network_fee",
	"currency",
	"test",
	"occurred_at_ms",
] as const;
export type EventColumn = (typeof EVENT_COLUMNS)[number];

/**
 * Returns the next `limit` moves of all programmes. With a filter by programme, one statement could read through all
 * moves of the other programmes.
 */
export async function listMovesAfter(
	store: MoveStore,
	programmeId: number,
	after: Cursor,
	limit: number,
): Promise<PassedMove[]> {
	const passed = selectMovesAfter(store, after, limit).select(MOVE_COLUMNS);
	return store.db
		.selectFrom(passed.as("passed"))
		.leftJoin("conversions", (join) =>
			join
				.onRef("conversions.id", "=", "passed.conversion_id")
				.on("conversions.programme_id", "=", programmeId),
		)
		.selectAll("passed")
		.select(EVENT_COLUMNS)
		.orderBy("passed.at")
		.orderBy("passed.id")
		.$castTo<PassedMove>()
		.execute();
}

/** An event that was announced to a partner, with the move that announced it and the position of the move. */
export type PartnerMoveEvent = Cursor &
	Pick<MovesTable, "move" | "to_status" | "lost_partner_id"> &
	({ eventId: null } | { eventId: number; name: EventName; body: string });

/**
 * Returns the next `limit` moves of all programmes, with the events that they announced to a partner. A move has the time
 * of its events. `eventId` is null for a move that announced nothing to the partner. If the clock stood still, a move may
 * be returned with events of other moves, too, which the caller tells apart by their names.
 */
export async function listPartnerEventsAfter(
	store: MoveStore,
	receiverId: ReceiverId,
	after: Cursor,
	limit: number,
): Promise<PartnerMoveEvent[]> {
	const passed = selectMovesAfter(store, after, limit).select([
		"conversion_id",
		"move",
		"to_status",
		"lost_partner_id",
		"at_ms",
	]);
	return store.db
		.selectFrom(passed.as("passed"))
		.leftJoin("events", (join) =>
			join
				.onRef("events.conversion_id", "=", "passed.conversion_id")
				.on("events.receiver_id", "=", receiverId)
				.onRef("events.created_at_ms", "=", "passed.at_ms"),
		)
		.select(["passed.at", "passed.id", "passed.move", "passed.to_status", "passed.lost_partner_id"])
		.select(["events.id as eventId", "events.name", "events.body"])
		.orderBy("passed.at")
		.orderBy("passed.id")
		.orderBy("events.id")
		.$castTo<PartnerMoveEvent>()
		.execute();
}

/** Returns the next test callbacks of a partner. They are written under the receiver's lock, so their ids rise. */
export async function listTestEventsAfter(
	db: Db,
	receiverId: ReceiverId,
	afterId: number,
	limit: number,
): Promise<{ id: number; name: EventName; body: string }[]> {
	return selectTestEvents(db, receiverId).where("id", ">", afterId).orderBy("id").limit(limit).execute();
}

/** Returns the newest test callbacks of a partner, the newest first. */
export async function listNewestTestEvents(
	db: Db,
	receiverId: ReceiverId,
	limit: number,
): Promise<{ id: number; name: EventName; body: string }[]> {
	return selectTestEvents(db, receiverId).orderBy("id", "desc").limit(limit).execute();
}

/** Returns the id of the newest event of all receivers, or 0 if there is none. */
export async function findNewestEventId(db: Db): Promise<number> {
	const newest = await db.selectFrom("events").select("id").orderBy("id", "desc").limit(1).executeTakeFirst();
	return newest?.id ?? 0;
}

function selectTestEvents(db: Db, receiverId: ReceiverId) {
	return db
		.selectFrom("events")
		.select(["id", "name", "body"])
		.where("receiver_id", "=", receiverId)
		.where("conversion_id", "is", null);
}

/** A move of any programme, with its position. */
export type NetworkMove = Cursor & Pick<MovesTable, (typeof NETWORK_COLUMNS)[number]>;

const NETWORK_COLUMNS = [
	"programme_id",
	"conversion_id",
	"move",
	"to_status",
	"reason",
	"decided_by",
	"at_ms",
] as const;

/** Returns the next `limit` moves of all programmes, for a listener that follows the whole network. */
export function listNetworkMoves(store: MoveStore, after: Cursor, limit: number): Promise<NetworkMove[]> {
	return selectMovesAfter(store, after, limit).select(NETWORK_COLUMNS).execute();
}

/** Starts the query for the positions of the next `limit` moves of all programmes. Callers add the columns they need. */
export function selectMovesAfter(
	{ db, moveOrder: { transaction, endedBelow } }: MoveStore,
	after: Cursor,
	limit: number,
) {
	return db
		.selectFrom("moves")
		.select(["id", transaction.as("at")])
		.where(transaction, "<", endedBelow)
		.where(sql<boolean>`(${transaction}, moves.id) > (${after.at}, ${after.id})`)
		.orderBy(transaction)
		.orderBy("id")
		.limit(limit);
}

/** Returns the position of the newest move and its conversion, or undefined if there are no moves. */
export async function findNewestMove(
	{ db, moveOrder: { transaction, endedBelow } }: MoveStore,
	which: "all" | "ended",
): Promise<(Cursor & { conversion_id: number }) | undefined> {
	return (
		db
			.selectFrom("moves")
			.select(["id", "conversion_id", transaction.as("at")])
			// This condition is always true. Without it, SQLite's query plan shows a scan of the whole table.
			.where(transaction, ">", 0)
			.$if(which === "ended", (query) => query.where(transaction, "<", endedBelow))
			.orderBy(transaction, "desc")
			.orderBy("id", "desc")
			.limit(1)
			.executeTakeFirst()
	);
}

/** Position before the first move. */
export const BEFORE_ALL: Cursor = { at: 0, id: 0 };

/** Returns the position after the newest move. Moves that have an id but are not committed yet come after it. */
export async function startOfFeed(store: MoveStore): Promise<Cursor> {
	const { at, id } = (await findNewestMove(store, "ended")) ?? BEFORE_ALL;
	return { at, id };
}

/** Returns false if the position is ahead of the database, as after a restore of an older state. */
export async function hasReached(store: MoveStore, { at, id }: Cursor): Promise<boolean> {
	const newest = (await findNewestMove(store, "all")) ?? BEFORE_ALL;
	return newest.at > at || (newest.at === at && newest.id >= id);
}
