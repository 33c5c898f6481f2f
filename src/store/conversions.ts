// Conversions and the history of their moves.

import type { Insertable, Selectable, Updateable } from "kysely";
import type { EventType, Move, Status } from "../domain/conversion.ts";
import type { Db } from "./store.ts";
import type { ConversionsTable, MovesTable } from "./tables/conversions.ts";

export type Conversion = Selectable<ConversionsTable>;
export type NewConversion = Insertable<ConversionsTable>;
export type NewMove = Insertable<MovesTable>;

/** Undefined when the programme already has a conversion for this order and event type. */
export async function insertConversion(db: Db, conversion: NewConversion): Promise<Conversion | undefined> {
	return db
		.insertInto("conversions")
		.values(conversion)
		.onConflict((conflict) => conflict.columns(["programme_id", "order_id", "event_type"]).doNothing())
		.returningAll()
		.executeTakeFirst();
}

export async function findByOrder(
	db: Db,
	programmeId: number,
	orderId: string,
	eventType: EventType,
): Promise<Conversion | undefined> {
	return db
		.selectFrom("conversions")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("order_id", "=", orderId)
		.where("event_type", "=", eventType)
		.executeTakeFirst();
}

export async function findByPublicId(
	db: Db,
	programmeId: number,
	publicId: string,
): Promise<Conversion | undefined> {
	return db
		.selectFrom("conversions")
		.selectAll()
		.where("public_id", "=", publicId)
		.where("programme_id", "=", programmeId)
		.executeTakeFirst();
}

/** Undefined when somebody else moved it in the meantime: the caller looks again. */
export async function updateIfStill(
	db: Db,
	id: number,
	status: Status,
	change: Updateable<ConversionsTable>,
): Promise<Conversion | undefined> {
	return updateOne(db, id, status, change).executeTakeFirst();
}

/** Undefined when somebody else moved or confirmed it in the meantime. A confirmation may leave the status as it is. */
export async function updateIfUnconfirmed(
	db: Db,
	id: number,
	status: Status,
	change: Updateable<ConversionsTable>,
): Promise<Conversion | undefined> {
	return updateOne(db, id, status, change).where("confirmed_at_ms", "is", null).executeTakeFirst();
}

function updateOne(db: Db, id: number, status: Status, change: Updateable<ConversionsTable>) {
	return db
		.updateTable("conversions")
		.set(change)
		.where("id", "=", id)
		.where("status", "=", status)
		.returningAll();
}

/** Returns just those that were still in that status, and are changed now. */
export async function updateManyIfStill(
	db: Db,
	ids: readonly number[],
	status: Status,
	change: Updateable<ConversionsTable>,
): Promise<Conversion[]> {
	if (ids.length === 0) return [];
	return db
		.updateTable("conversions")
		.set(change)
		.where("id", "in", ids)
		.where("status", "=", status)
		.returningAll()
		.execute();
}

export async function findManyByOrder(
	db: Db,
	programmeId: number,
	orderIds: readonly string[],
): Promise<Conversion[]> {
	if (orderIds.length === 0) return [];
	return db
		.selectFrom("conversions")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("order_id", "in", orderIds)
		.execute();
}

/** In all programmes: the caller checks whose they are. */
export async function findManyByPublicId(db: Db, publicIds: readonly string[]): Promise<Conversion[]> {
	if (publicIds.length === 0) return [];
	return db.selectFrom("conversions").selectAll().where("public_id", "in", publicIds).execute();
}

export interface WindowMove {
	from: "RECORDED" | "PARKED";
	endedBeforeMs: number;
	limit: number;
	change: Updateable<ConversionsTable>;
}

/** Asked first, because it takes no lock: most of the time nothing has ended. */
export async function hasWindowEnded(db: Db, from: Status, byMs: number): Promise<boolean> {
	const found = await db
		.selectFrom("conversions")
		.select("id")
		.where("status", "=", from)
		.where("window_ends_at_ms", "<=", byMs)
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}

/** Moves those whose window has ended, the oldest first; returns just the ones that this call moved. */
export async function updateWindowEnded(db: Db, move: WindowMove): Promise<Conversion[]> {
	return (
		db
			.updateTable("conversions")
			.set(move.change)
			.where("id", "in", (eb) =>
				eb
					.selectFrom("conversions")
					.select("id")
					.where("status", "=", move.from)
					.where("window_ends_at_ms", "<=", move.endedBeforeMs)
					.orderBy("window_ends_at_ms")
					.limit(move.limit),
			)
			// Again, because a concurrent transaction may have moved it after the list was read.
			.where("status", "=", move.from)
			.returningAll()
			.execute()
	);
}

export async function insertMoves(db: Db, moves: readonly NewMove[]): Promise<void> {
	if (moves.length > 0) await db.insertInto("moves").values(moves).execute();
}

/** Whoever reads the events later must see what was announced then, not what the conversion has become since. */
export async function keepAnnouncedBody(
	db: Db,
	conversionId: number,
	move: Move,
	body: string,
): Promise<void> {
	await db
		.updateTable("moves")
		.set({ announced_body: body })
		.where("conversion_id", "=", conversionId)
		.where("move", "=", move)
		.execute();
}
