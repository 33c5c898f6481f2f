// The conversions whose order id has a term in it, the newest first: those that are in no block yet are looked at one
// by one, then block after block. A page ends as soon as it is full, so a term that is everywhere costs as little as
// one that is rare: about a twentieth of a second for a million orders.

import { findInBlock, hasOrder } from "../../domain/order-search.ts";
import type { Db } from "../store.ts";
import { type LookedBlock, lookThrough, lookThroughAll, readPosition } from "./order-blocks.ts";

/** 2,000 orders, where a term that is in many is found often enough; then 50,000, in some milliseconds. */
const FIRST_BLOCKS = 20;
const LOOK_BLOCKS = 500;
const TAIL_ROWS = 1_000;

export interface SearchedOrders {
	/** Left out: of all programmes. */
	programmeId?: number | undefined;
	/** As domain/order-search folds it. */
	term: string;
	/** Only older ones. */
	beforeId: number;
}

/** Ids, some at a time. What was removed meanwhile may be among them. */
export async function* findOrders(db: Db, searched: SearchedOrders): AsyncGenerator<readonly number[]> {
	const position = await readPosition(db);
	yield* findInTail(db, searched, position);
	// What the chore puts into blocks from now on was found above.
	const inBlocks = { ...searched, beforeId: Math.min(searched.beforeId, position + 1) };
	if (searched.programmeId === undefined) yield* findInAll(db, inBlocks);
	else yield* findInProgramme(db, inBlocks, searched.programmeId);
}

/** Those that came after the last run of the chore. */
async function* findInTail(
	db: Db,
	{ programmeId, term, beforeId }: SearchedOrders,
	position: number,
): AsyncGenerator<readonly number[]> {
	for (let before = beforeId; ; ) {
		let query = db
			.selectFrom("conversions")
			.select(["id", "order_id"])
			.where("id", ">", position)
			.where("id", "<", before);
		if (programmeId !== undefined) query = query.where("programme_id", "=", programmeId);
		const rows = await query.orderBy("id", "desc").limit(TAIL_ROWS).execute();
		yield rows.filter((row) => hasOrder(row.order_id, term)).map(({ id }) => id);
		const last = rows.at(-1);
		if (last === undefined || rows.length < TAIL_ROWS) return;
		before = last.id;
	}
}

async function* findInProgramme(
	db: Db,
	{ term, beforeId }: SearchedOrders,
	programmeId: number,
): AsyncGenerator<readonly number[]> {
	for (let before = beforeId, limit = FIRST_BLOCKS; ; limit = LOOK_BLOCKS) {
		const blocks = await lookThrough(db, term, { programmeId, beforeId: before, limit });
		yield blocks.flatMap((block) => idsIn(block, term, beforeId));
		const last = blocks.at(-1);
		if (last === undefined || blocks.length < limit) return;
		before = last.firstId;
	}
}

/** What was found may be older than what another programme's next block has: it waits until that is known. */
async function* findInAll(db: Db, { term, beforeId }: SearchedOrders): AsyncGenerator<readonly number[]> {
	let waiting: number[] = [];
	for (let before = Number.MAX_SAFE_INTEGER, limit = FIRST_BLOCKS; ; limit = LOOK_BLOCKS) {
		const blocks = await lookThroughAll(db, term, { beforeId: before, limit });
		const found = blocks.flatMap((block) => idsIn(block, term, beforeId));
		waiting = [...waiting, ...found].toSorted((one, other) => other - one);
		const last = blocks.at(-1);
		if (last === undefined || blocks.length < limit) {
			yield waiting;
			return;
		}
		before = last.lastId;
		yield waiting.filter((id) => id >= last.lastId);
		waiting = waiting.filter((id) => id < last.lastId);
	}
}

/** The newest first. */
function idsIn({ firstId, found }: LookedBlock, term: string, beforeId: number): number[] {
	if (found === null) return [];
	return findInBlock(firstId, found, term)
		.filter((id) => id < beforeId)
		.reverse();
}
