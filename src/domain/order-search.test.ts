import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { fillBlocks, findInBlock, idsOfBlock, type OrderBlock, readOrderSearch } from "./order-search.ts";

const PUBLIC_ID = `cnv_${"01KZ".padEnd(26, "A")}`;

for (const [typed, search] of [
	["10005", { kind: "orders", term: "10005" }],
	["g-10005", { kind: "orders", term: "G-10005" }],
	["Müller", { kind: "orders", term: "MULLER" }],
	["straße", { kind: "orders", term: "STRASSE" }],
	[PUBLIC_ID, { kind: "conversion", publicId: PUBLIC_ID }],
	[` ${PUBLIC_ID.toLowerCase()} `, { kind: "conversion", publicId: PUBLIC_ID }],
	["cnv_01KZ", { kind: "orders", term: "CNV_01KZ" }],
] as const) {
	test(`"${typed}" looks for ${search.kind === "orders" ? search.term : "that conversion"}`, () => {
		deepEqual(readOrderSearch(typed), search);
	});
}

const found = (block: OrderBlock | undefined, term: string) =>
	block === undefined ? [] : findInBlock(block.firstId, `${block.ids}\n${block.orders}`, term);

test("every order is in a block, in its order, and found there; blocks stay below 2 KB", () => {
	const orders = Array.from({ length: 1_000 }, (_, index) => ({ id: 7 + index * 3, orderId: `g-${index}` }));
	const blocks = fillBlocks(undefined, orders);
	ok(blocks.length > 5 && blocks.length < 15, `${blocks.length} blocks`);
	deepEqual(
		blocks.flatMap(idsOfBlock),
		orders.map(({ id }) => id),
	);
	for (const { firstId, lastId, ids, orders: lines } of blocks) {
		ok(ids.length + Buffer.byteLength(lines) <= 1_900);
		deepEqual([idsOfBlock({ firstId, ids })[0], idsOfBlock({ firstId, ids }).at(-1)], [firstId, lastId]);
	}
	deepEqual(
		blocks.flatMap((block) => found(block, "G-77")),
		orders.filter(({ orderId }) => orderId.includes("g-77")).map(({ id }) => id),
	);
	deepEqual(found(blocks[0], "1\nG"), [], "never across two of them");
});

test("an open block takes what has room, and the longest order still has a block", () => {
	const [open] = fillBlocks(undefined, [{ id: 5, orderId: "a" }]);
	const [grown, ...none] = fillBlocks(open, [{ id: 9, orderId: "B" }]);
	deepEqual([grown, none], [{ firstId: 5, lastId: 9, ids: "0,4", orders: "A\nB" }, []]);
	const long = "\u{1F4B6}".repeat(128);
	const blocks = fillBlocks(
		grown,
		Array.from({ length: 9 }, (_, index) => ({ id: 10 + index, orderId: long })),
	);
	equal(blocks.flatMap(idsOfBlock).length, 11);
	ok(blocks.every(({ orders }) => Buffer.byteLength(orders) <= 1_900));
});
