// The blocks in which order ids are looked for: written behind the position of the index, looked through, and compared
// with the conversions that are there.

import { sql } from "kysely";
import type { IndexedOrder, OrderBlock } from "../../domain/order-search.ts";
import type { Db, Store } from "../store.ts";
import { valueList } from "./value-list.ts";

export interface ProgrammeBlock extends OrderBlock {
	programmeId: number;
}

export interface ProgrammeOrder extends IndexedOrder {
	programmeId: number;
	createdAtMs: number;
}

const BLOCK_COLUMNS = [
	"programme_id as programmeId",
	"first_id as firstId",
	"last_id as lastId",
	"ids",
	"orders",
] as const;

/** Every conversion up to it is in a block. */
export async function readPosition(db: Db): Promise<number> {
	const row = await db.selectFrom("order_position").select("conversion_id").executeTakeFirstOrThrow();
	return row.conversion_id;
}

/** For this transaction alone; undefined where another has it. */
export async function takePosition(
	trx: Db,
	{ takeFreeRows }: Pick<Store, "takeFreeRows">,
): Promise<number | undefined> {
	const row = await trx
		.selectFrom("order_position")
		.select("conversion_id")
		.modifyEnd(takeFreeRows)
		.executeTakeFirst();
	return row?.conversion_id;
}

export async function setPosition(trx: Db, conversionId: number): Promise<void> {
	await trx.updateTable("order_position").set({ conversion_id: conversionId }).execute();
}

/** Of all programmes, in the order of their ids. */
export async function listOrdersAfter(db: Db, afterId: number, limit: number): Promise<ProgrammeOrder[]> {
	return db
		.selectFrom("conversions")
		.select(["id", "programme_id as programmeId", "order_id as orderId", "created_at_ms as createdAtMs"])
		.where("id", ">", afterId)
		.orderBy("id")
		.limit(limit)
		.execute();
}

/** The last block of each programme that has one: there must be a programme. */
export async function findLastBlocks(db: Db, programmeIds: readonly number[]): Promise<ProgrammeBlock[]> {
	const asked = programmeIds.map((programme_id) => ({ programme_id }));
	const found = await sql<ProgrammeBlock>`with ${valueList("asked", { programme_id: "bigint" }, asked)},
		lasts as (select asked.programme_id, (select max(newest.first_id) from order_blocks as newest
			where newest.programme_id = asked.programme_id) as first_id from asked)
		select b.programme_id as "programmeId", b.first_id as "firstId", b.last_id as "lastId", b.ids, b.orders
		from lasts join order_blocks as b on b.programme_id = lasts.programme_id and b.first_id = lasts.first_id`.execute(
		db,
	);
	return found.rows;
}

/** Those that are there already grow. There must be one. */
export async function writeBlocks(trx: Db, blocks: readonly ProgrammeBlock[]): Promise<void> {
	await trx
		.insertInto("order_blocks")
		.values(
			blocks.map(({ programmeId, firstId, lastId, ids, orders }) => {
				return { programme_id: programmeId, first_id: firstId, last_id: lastId, ids, orders };
			}),
		)
		.onConflict((conflict) =>
			conflict.columns(["programme_id", "first_id"]).doUpdateSet((eb) => ({
				last_id: eb.ref("excluded.last_id"),
				ids: eb.ref("excluded.ids"),
				orders: eb.ref("excluded.orders"),
			})),
		)
		.execute();
}

export async function removeBlock(trx: Db, { programmeId, firstId }: ProgrammeBlock): Promise<void> {
	await trx
		.deleteFrom("order_blocks")
		.where("programme_id", "=", programmeId)
		.where("first_id", "=", firstId)
		.execute();
}

/** Where a block begins. */
export type BlockStart = Pick<ProgrammeBlock, "programmeId" | "firstId">;

/** Behind `after`, in the order of programmes and ids. */
export async function listBlocks(db: Db, after: BlockStart, limit: number): Promise<ProgrammeBlock[]> {
	return db
		.selectFrom("order_blocks")
		.select(BLOCK_COLUMNS)
		.where((eb) =>
			eb(eb.refTuple("programme_id", "first_id"), ">", eb.tuple(after.programmeId, after.firstId)),
		)
		.orderBy("programme_id")
		.orderBy("first_id")
		.limit(limit)
		.execute();
}

/** Of one programme: those from `firstId` up to, not including, `endId`. */
export async function listOrdersBetween(
	db: Db,
	{ programmeId, firstId, endId }: BlockStart & { endId: number },
): Promise<IndexedOrder[]> {
	return db
		.selectFrom("conversions")
		.select(["id", "order_id as orderId"])
		.where("programme_id", "=", programmeId)
		.where("id", ">=", firstId)
		.where("id", "<", endId)
		.orderBy("id")
		.execute();
}

/** A block that was looked through. */
export interface LookedBlock {
	firstId: number;
	lastId: number;
	/** Its ids and, from the next line on, its orders; null where none of them has the term. */
	found: string | null;
}

/**
 * The next blocks of a programme, the newest first: those that begin before `beforeId`. Each is told, whether the term
 * is in it or not, so that a look is as long as `limit` says and not as long as the term is rare.
 */
export async function lookThrough(
	db: Db,
	term: string,
	{ programmeId, beforeId, limit }: { programmeId: number; beforeId: number; limit: number },
): Promise<LookedBlock[]> {
	const { rows } = await sql<LookedBlock>`select ${told(term)} from order_blocks
		where programme_id = ${programmeId} and first_id < ${beforeId}
		order by programme_id desc, first_id desc limit ${limit}`.execute(db);
	return rows;
}

/** Of all programmes, by the last id of each: those that end before `beforeId`. Blocks of different programmes overlap. */
export async function lookThroughAll(
	db: Db,
	term: string,
	{ beforeId, limit }: { beforeId: number; limit: number },
): Promise<LookedBlock[]> {
	const { rows } = await sql<LookedBlock>`select ${told(term)} from order_blocks
		where last_id < ${beforeId} order by last_id desc limit ${limit}`.execute(db);
	return rows;
}

/** `replace` is how both databases can be asked whether one text is in another. */
function told(term: string) {
	return sql`first_id as "firstId", last_id as "lastId",
		case when replace(orders, ${term}, '') <> orders then ids || ${"\n"} || orders end as found`;
}
