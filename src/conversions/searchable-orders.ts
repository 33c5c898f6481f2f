// Order ids are put into the blocks in which people look for them: a minute later and apart from the sale, which must
// not wait for it. What was removed leaves the blocks again, as they are compared with what is there, some at a time.

import { fillBlocks, type OrderBlock } from "../domain/order-search.ts";
import { MINUTE_MS } from "../domain/time.ts";
import {
	type BlockStart,
	findLastBlocks,
	listBlocks,
	listOrdersAfter,
	listOrdersBetween,
	type ProgrammeBlock,
	type ProgrammeOrder,
	readPosition,
	removeBlock,
	setPosition,
	takePosition,
	writeBlocks,
} from "../store/queries/order-blocks.ts";
import type { Db } from "../store/store.ts";
import { BATCH_ROWS, type ConversionsDeps } from "./deps.ts";

type IndexDeps = Pick<ConversionsDeps, "store" | "clock">;

/**
 * Numbers are given before their transactions end: a younger row may have one with a lower number behind it that cannot
 * be seen yet. No transaction that records takes nearly as long; one that did is found when its block is compared.
 */
const SETTLED_AFTER_MS = MINUTE_MS;
/** Of a million orders each block is compared every two hours. */
const COMPARED_BLOCKS = 100;

/** Each run goes on comparing where the one before ended. */
export function createOrderIndexing(deps: IndexDeps): (isStopping: () => boolean) => Promise<void> {
	const beginning: BlockStart = { programmeId: 0, firstId: 0 };
	let compared = beginning;
	return async (isStopping) => {
		while (!isStopping() && (await indexBatch(deps))) await deps.clock.yieldLoop();
		if (!isStopping()) compared = (await compareBlocks(deps, compared)) ?? beginning;
	};
}

/** False when there is nothing left to do, or another process is at it. */
export async function indexBatch({ store, clock }: IndexDeps): Promise<boolean> {
	const settledMs = clock.nowMs() - SETTLED_AFTER_MS;
	return store.transact(async (trx) => {
		const position = await takePosition(trx, store);
		if (position === undefined) return false;
		await store.keepToIndexes(trx);
		const rows = await listOrdersAfter(trx, position, BATCH_ROWS);
		const firstYoung = rows.findIndex((row) => row.createdAtMs > settledMs);
		const orders = firstYoung === -1 ? rows : rows.slice(0, firstYoung);
		const last = orders.at(-1);
		if (last === undefined) return false;
		await writeBlocks(trx, await blocksFor(trx, orders));
		await setPosition(trx, last.id);
		return orders.length === BATCH_ROWS;
	});
}

async function blocksFor(trx: Db, orders: readonly ProgrammeOrder[]): Promise<ProgrammeBlock[]> {
	const byProgramme = Map.groupBy(orders, ({ programmeId }) => programmeId);
	const lasts = await findLastBlocks(trx, [...byProgramme.keys()]);
	const open = new Map(lasts.map((block) => [block.programmeId, block]));
	return [...byProgramme].flatMap(([programmeId, own]) =>
		ownBlocks(programmeId, fillBlocks(open.get(programmeId), own)),
	);
}

function ownBlocks(programmeId: number, blocks: readonly OrderBlock[]): ProgrammeBlock[] {
	return blocks.map(({ firstId, lastId, ids, orders }) => ({ programmeId, firstId, lastId, ids, orders }));
}

/** Resolves to where the next run goes on; null at the end. */
async function compareBlocks({ store, clock }: IndexDeps, after: BlockStart): Promise<BlockStart | null> {
	// The last one only says where the one before it ends.
	const blocks = await listBlocks(store.db, after, COMPARED_BLOCKS + 1);
	const position = await readPosition(store.db);
	for (const [index, block] of blocks.slice(0, COMPARED_BLOCKS).entries()) {
		const next = blocks[index + 1];
		const endId = next?.programmeId === block.programmeId ? next.firstId : position + 1;
		const orders = await listOrdersBetween(store.db, { ...block, endId });
		const [present, ...others] = ownBlocks(block.programmeId, fillBlocks(undefined, orders));
		if (others.length === 0 && present?.ids === block.ids && present.firstId === block.firstId) continue;
		await store.transact(async (trx) => {
			// With the position the index is this transaction's: nobody is joining orders to the block meanwhile.
			if ((await takePosition(trx, store)) !== position) return;
			await removeBlock(trx, block);
			if (present !== undefined) await writeBlocks(trx, [present, ...others]);
		});
		await clock.yieldLoop();
	}
	const last = blocks[COMPARED_BLOCKS - 1];
	return blocks.length > COMPARED_BLOCKS && last !== undefined ? last : null;
}
