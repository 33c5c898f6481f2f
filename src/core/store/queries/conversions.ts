// Finds conversions and their moves. The statements that change them are in batch.ts.

import { type Selectable, sql } from "kysely";
import { type KnownOrder, reportedOrderId, type Status } from "../../domain/conversion.ts";
import type { PersonKind } from "../../domain/roles.ts";
import type { OrderKey } from "../batch.ts";
import type { Db, Store } from "../store.ts";
import type { Conversion, MovesTable } from "../tables/conversions.ts";

export type { Conversion, NewConversion } from "../tables/conversions.ts";

/** Move of a conversion, with the person who made it. */
export interface HistoryMove extends Selectable<MovesTable> {
	person_email: string | null;
	person_kind: PersonKind | null;
}

export function knownOrderOf({
	status,
	source,
	confirmed_at_ms,
}: Pick<Conversion, "status" | "source" | "confirmed_at_ms">): KnownOrder {
	return { status, source, isConfirmed: confirmed_at_ms !== null };
}

/**
 * Returns the order ID that the shop reported. The stored order ID differs if a later conversion has taken over the
 * order ID.
 */
export function orderIdOf({ order_id, public_id }: Pick<Conversion, "order_id" | "public_id">): string {
	return reportedOrderId({ orderId: order_id, publicId: public_id });
}

export async function findByPublicId(
	db: Db,
	programmeId: number,
	publicId: string,
): Promise<Conversion | undefined> {
	const [found] = await findManyByPublicId(db, [publicId]);
	return found?.programme_id === programmeId ? found : undefined;
}

/** Finds conversions of any programme. The caller must check to which programme they belong. */
export async function findManyByPublicId(db: Db, publicIds: readonly string[]): Promise<Conversion[]> {
	if (publicIds.length === 0) return [];
	return db.selectFrom("conversions").selectAll().where("public_id", "in", publicIds).execute();
}

export async function findConversionsById(
	db: Db,
	ids: readonly number[],
): Promise<ReadonlyMap<number, Conversion>> {
	if (ids.length === 0) return new Map();
	const rows = await db.selectFrom("conversions").selectAll().where("id", "in", ids).execute();
	return new Map(rows.map((row) => [row.id, row]));
}

/** Finds conversions by order, whatever their event type, for jobs and pages. Batches of changes use BatchStore instead. */
export async function findByOrders(db: Db, orders: readonly OrderKey[]): Promise<Conversion[]> {
	const found: Conversion[] = [];
	for (const [programmeId, wanted] of Map.groupBy(orders, ({ programme_id }) => programme_id)) {
		const ids = new Set(wanted.map(({ order_id }) => order_id));
		const query = db.selectFrom("conversions").selectAll().where("programme_id", "=", programmeId);
		found.push(...(await query.where("order_id", "in", [...ids]).execute()));
	}
	return found;
}

/**
 * Returns the programme's newest test conversion. The condition must be written exactly as in the index
 * conversions_tests.
 */
export async function findNewestTest(db: Db, programmeId: number): Promise<Conversion | undefined> {
	return db
		.selectFrom("conversions")
		.selectAll()
		.where("programme_id", "=", programmeId)
		.where("source", "=", sql.lit("test"))
		.orderBy("id", "desc")
		.limit(1)
		.executeTakeFirst();
}

/**
 * Returns the end of the window that ended first, or null if no window has ended. Uses the index conversions_by_window.
 */
export async function findOldestEndedWindow(
	store: Pick<Store, "lookAlongIndexes">,
	status: Status,
	byMs: number,
): Promise<number | null> {
	const first = await store.lookAlongIndexes((db) =>
		windowEnded(db, status, byMs)
			.select("window_ends_at_ms")
			.orderBy("window_ends_at_ms")
			.limit(1)
			.executeTakeFirst(),
	);
	return first?.window_ends_at_ms ?? null;
}

/**
 * Locks conversions whose window ended from `fromMs` to `byMs`, and returns them, the oldest first. The select is not a
 * subquery of an update, because PostgreSQL may run a subquery inside `in (…)` again for every row.
 */
export async function takeWindowEnded(
	trx: Db,
	store: Pick<Store, "takeFreeRows" | "forceIndexes">,
	{ status, fromMs, byMs, limit }: { status: Status; fromMs: number; byMs: number; limit: number },
): Promise<Conversion[]> {
	await store.forceIndexes(trx);
	return windowEnded(trx, status, byMs)
		.selectAll()
		.where("window_ends_at_ms", ">=", fromMs)
		.orderBy("window_ends_at_ms")
		.limit(limit)
		.modifyEnd(store.takeFreeRows)
		.execute();
}

/** Selects conversions whose window has ended. A conversion that only a pixel has reported has no approval window. */
function windowEnded(db: Db, status: Status, byMs: number) {
	return db.selectFrom("conversions").where("status", "=", status).where("window_ends_at_ms", "<=", byMs);
}

export async function listMoves(db: Db, conversionId: number): Promise<HistoryMove[]> {
	return db
		.selectFrom("moves")
		.leftJoin("people", "people.id", "moves.person_id")
		.selectAll("moves")
		.select(["people.email as person_email", "people.kind as person_kind"])
		.where("moves.conversion_id", "=", conversionId)
		.orderBy("moves.id")
		.execute();
}
