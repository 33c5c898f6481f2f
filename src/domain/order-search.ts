// What people type to find an order: any part of its id, in any case and however it was typed, or the id of a
// conversion. And the blocks in which order ids are kept for it.

import { foldText } from "./folded-text.ts";

export type OrderSearch =
	| { kind: "conversion"; publicId: string }
	/** Folded. */
	| { kind: "orders"; term: string };

const CONVERSION_ID = /^cnv_([0-9A-Z]{26})$/i;

export function readOrderSearch(text: string): OrderSearch {
	const id = CONVERSION_ID.exec(text.trim())?.[1];
	if (id !== undefined) return { kind: "conversion", publicId: `cnv_${id.toUpperCase()}` };
	return { kind: "orders", term: foldText(text) };
}

export function hasOrder(orderId: string, term: string): boolean {
	return foldText(orderId).includes(term);
}

/** A conversion and the order it is about. */
export interface IndexedOrder {
	id: number;
	orderId: string;
}

/** `ids` and `orders` as they are stored: see store/tables/order-blocks. */
export interface OrderBlock {
	firstId: number;
	lastId: number;
	ids: string;
	orders: string;
}

/** A row of 2 KB: PostgreSQL keeps such a one in one piece, and does not compress it. */
const MAX_BLOCK_BYTES = 1_900;
/** No order id has one. */
const LINE_BREAK = "\n";

/** All of them, in the order of their ids, the first ones joined to `open` where that has room. */
export function fillBlocks(open: OrderBlock | undefined, orders: readonly IndexedOrder[]): OrderBlock[] {
	const blocks: OrderBlock[] = open === undefined ? [] : [open];
	for (const { id, orderId } of orders) {
		const last = blocks.at(-1);
		const joined = last === undefined ? undefined : joinBlock(last, id, orderId);
		if (joined === undefined) blocks.push({ firstId: id, lastId: id, ids: "0", orders: foldText(orderId) });
		else blocks[blocks.length - 1] = joined;
	}
	return blocks;
}

/** Undefined where there is no room. */
function joinBlock(block: OrderBlock, id: number, orderId: string): OrderBlock | undefined {
	const ids = `${block.ids},${id - block.firstId}`;
	const orders = `${block.orders}${LINE_BREAK}${foldText(orderId)}`;
	if (ids.length + Buffer.byteLength(orders) > MAX_BLOCK_BYTES) return undefined;
	return { firstId: block.firstId, lastId: id, ids, orders };
}

export function idsOfBlock({ firstId, ids }: Pick<OrderBlock, "firstId" | "ids">): number[] {
	return ids.split(",").map((distance) => firstId + Number(distance));
}

/** The ids of those whose order has the term in it. `text` is the line of ids and then the orders. */
export function findInBlock(firstId: number, text: string, term: string): number[] {
	const [ids = "", ...orders] = text.split(LINE_BREAK);
	const numbers = idsOfBlock({ firstId, ids });
	return orders.flatMap((order, index) => {
		const id = numbers[index];
		return id !== undefined && order.includes(term) ? [id] : [];
	});
}
