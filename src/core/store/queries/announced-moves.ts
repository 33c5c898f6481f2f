// Reads moves in the order in which listeners receive them: by transaction number, and then by id. `Store.moveOrder`
// has SQL for the transaction number, and for the number below which all transactions have ended. Only moves below
// that limit are read, so that no move can appear later before a listener's cursor. The order does not use times,
// because the clocks of processes differ.

import { sql } from "kysely";
import type { Cursor } from "../../domain/cursor.ts";
import type { Store } from "../store.ts";
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
 * Columns of the conversion that an event contains, in addition to the status and reason of the move. Before one of
 * them changes after the announcement, the announced body is stored with the move.
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
 * Returns the next `limit` moves of all programmes. The query has no filter by programme, because a single statement
 * could then read through all moves of the other programmes.
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

/**
 * Starts the query for the positions of the next `limit` moves of all programmes. The caller adds the columns that it
 * needs.
 */
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
			// This condition is always true. Without it, SQLite's query planner would scan the whole table.
			.where(transaction, ">", 0)
			.$if(which === "ended", (query) => query.where(transaction, "<", endedBelow))
			.orderBy(transaction, "desc")
			.orderBy("id", "desc")
			.limit(1)
			.executeTakeFirst()
	);
}

export const BEFORE_ALL: Cursor = { at: 0, id: 0 };

/** Returns the position after the newest move. Moves that are not committed yet come after this position. */
export async function startOfFeed(store: MoveStore): Promise<Cursor> {
	const { at, id } = (await findNewestMove(store, "ended")) ?? BEFORE_ALL;
	return { at, id };
}

/** Returns false if the position is ahead of the database, as after a restore of an older state. */
export async function hasReached(store: MoveStore, { at, id }: Cursor): Promise<boolean> {
	const newest = (await findNewestMove(store, "all")) ?? BEFORE_ALL;
	return newest.at > at || (newest.at === at && newest.id >= id);
}
