// This room is the database: a file of queries for each aggregate.
// Here: moves in the order in which listeners get them: by transaction number, then by id. `Store.moveOrder` gives the
// number, and below which number all transactions have ended. Only those are read, so that nothing can later appear
// before a listener's cursor. Clocks are not used, since processes' clocks differ.

import { type RawBuilder, sql } from "kysely";
import type { Cursor } from "../../domain/cursor.ts";
import type { Store } from "../store.ts";
import type { MovesTable } from "../tables/conversions.ts";
import type { Conversion } from "./conversions.ts";

/** `db` may be a transaction's. */
export type MoveStore = Pick<Store, "db" | "moveOrder">;

/** `public_id` is null where its conversion is another programme's. */
export type PassedMove = Cursor &
	Pick<MovesTable, (typeof MOVE_COLUMNS)[number]> &
	({ public_id: null } | Pick<Conversion, EventColumn>);

const MOVE_COLUMNS = ["conversion_id", "move", "to_status", "reason", "announced_body"] as const;
/**
 * What an event tells of its conversion, besides the move's own status and reason: it does not change any more once it
 * was announced, or was kept with the move before it changed.
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
 * The next `limit` moves of all programmes. Moves have no programme column: picking one small shop's here would make
 * the database read through everybody's in one statement.
 */
export async function listMovesAfter(
	{ db, moveOrder: { transaction, endedBelow } }: MoveStore,
	programmeId: number,
	after: Cursor,
	limit: number,
): Promise<PassedMove[]> {
	const passed = db
		.selectFrom("moves")
		.select([...MOVE_COLUMNS, "id", transaction.as("at")])
		.where(transaction, "<", endedBelow)
		.where(isAfter(transaction, after))
		.orderBy(transaction)
		.orderBy("id")
		.limit(limit);
	return db
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

function isAfter(transaction: RawBuilder<number>, after: Cursor): RawBuilder<boolean> {
	return sql<boolean>`(${transaction}, moves.id) > (${after.at}, ${after.id})`;
}

/** Undefined while there is none. */
export async function findNewestMove(
	{ db, moveOrder: { transaction, endedBelow } }: MoveStore,
	which: "all" | "ended",
): Promise<(Cursor & { conversion_id: number }) | undefined> {
	return (
		db
			.selectFrom("moves")
			.select(["id", "conversion_id", transaction.as("at")])
			// Holds for every row: without a condition SQLite's plan says that it reads the whole table.
			.where(transaction, ">", 0)
			.$if(which === "ended", (query) => query.where(transaction, "<", endedBelow))
			.orderBy(transaction, "desc")
			.orderBy("id", "desc")
			.limit(1)
			.executeTakeFirst()
	);
}
