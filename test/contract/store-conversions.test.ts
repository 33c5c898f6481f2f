// Conversions on both databases: one per programme, order and event type; each move happens once.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import {
	findByOrder,
	findByPublicId,
	insertConversion,
	updateIfStill,
	updateWindowEnded,
	type WindowMove,
} from "../../src/store/conversions.ts";
import type { Store } from "../../src/store/store.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addConversion, addProgramme, newConversion } from "../support/rows.ts";

eachDatabase("conversions", (database) => {
	test("a second conversion of the same order and event type is not stored", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const first = await addConversion(store, id, { order_id: "A-1", basket_value: "10.00" });
		const again = newConversion(id, { order_id: "A-1", basket_value: "99.00" });
		equal(await insertConversion(store.db, again), undefined);
		const found = await findByOrder(store.db, id, "A-1", "SALE");
		equal(found?.public_id, first.public_id);
		equal(found?.basket_value, "10.00");
	});

	test("the same order is another conversion for another event type, programme or spelling", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const other = await addProgramme(store);
		await addConversion(store, id, { order_id: "a-2" });
		for (const change of [{ event_type: "LEAD" }, { programme_id: other.id }, { order_id: "A-2" }] as const) {
			const conversion = newConversion(id, { order_id: "a-2", ...change });
			equal((await insertConversion(store.db, conversion))?.public_id, conversion.public_id);
		}
	});

	test("of many reports of one order at once one is stored", async () => {
		const { store, rival } = database;
		const { id } = await addProgramme(store);
		const made = await Promise.all(
			Array.from({ length: 12 }, (_, n) =>
				(n % 2 === 0 ? store : rival).transact((trx) =>
					insertConversion(trx, newConversion(id, { order_id: "raced" })),
				),
			),
		);
		equal(made.filter((conversion) => conversion !== undefined).length, 1);
	});

	test("a conversion is not found under another programme", async () => {
		const { store } = database;
		const owner = await addProgramme(store);
		const stranger = await addProgramme(store);
		const { public_id } = await addConversion(store, owner.id);
		equal((await findByPublicId(store.db, owner.id, public_id))?.public_id, public_id);
		equal(await findByPublicId(store.db, stranger.id, public_id), undefined);
	});

	test("a move from a status that has passed changes nothing", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const conversion = await addConversion(store, id);
		const approved = await updateIfStill(store.db, conversion.id, "RECORDED", { status: "APPROVED" });
		equal(approved?.status, "APPROVED");
		equal(await updateIfStill(store.db, conversion.id, "RECORDED", { status: "REJECTED" }), undefined);
		equal((await findByPublicId(store.db, id, conversion.public_id))?.status, "APPROVED");
	});

	test("of an approval and a rejection at once one happens", async () => {
		const { store, rival } = database;
		const { id } = await addProgramme(store);
		const conversion = await addConversion(store, id);
		const moved = await Promise.all([
			store.transact((trx) => updateIfStill(trx, conversion.id, "RECORDED", { status: "APPROVED" })),
			rival.transact((trx) => updateIfStill(trx, conversion.id, "RECORDED", { status: "REJECTED" })),
		]);
		equal(moved.filter((one) => one !== undefined).length, 1);
	});
});

eachDatabase("windows that have ended", (database) => {
	test("they are moved a page at a time, the oldest first, and only those of the status asked for", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const ended = [];
		for (const agoMs of [1, 3, 2, 0]) {
			ended.push(await addConversion(store, id, { window_ends_at_ms: START_MS - agoMs }));
		}
		const [newer, oldest, older, newest] = ended.map((row) => row.id);
		await addConversion(store, id, { window_ends_at_ms: START_MS + 1 });
		await addConversion(store, id, { window_ends_at_ms: null });
		await addConversion(store, id, { status: "PARKED" });
		await addConversion(store, id, { status: "REJECTED" });
		deepEqual(await movedIds(store, 2), sorted([oldest, older]));
		deepEqual(await movedIds(store, 2), sorted([newer, newest]));
		deepEqual(await movedIds(store, 2), []);
		const parked = await updateWindowEnded(store.db, { ...approval(10), from: "PARKED" });
		equal(parked.length, 1);
	});

	test("each row is moved once when several processes move them at the same time", async () => {
		const { store, rival } = database;
		const { id } = await addProgramme(store);
		for (let n = 0; n < 60; n++) await addConversion(store, id, { window_ends_at_ms: START_MS - n });
		const moved: number[] = [];
		const moveAll = async ({ transact }: Store) => {
			// A page may come back short because somebody else moved its rows; an empty queue is asked for twice.
			for (let empty = 0; empty < 2; ) {
				const page = await transact((trx) => updateWindowEnded(trx, approval(7)));
				moved.push(...page.map((row) => row.id));
				empty = page.length === 0 ? empty + 1 : 0;
			}
		};
		await Promise.all([moveAll(store), moveAll(rival), moveAll(store), moveAll(rival)]);
		equal(moved.length, 60);
		equal(new Set(moved).size, 60);
	});
});

function approval(limit: number): WindowMove {
	const change = { status: "APPROVED", window_ends_at_ms: null } as const;
	return { from: "RECORDED", endedBeforeMs: START_MS, limit, change };
}

async function movedIds(store: Store, limit: number): Promise<number[]> {
	return sorted((await updateWindowEnded(store.db, approval(limit))).map((row) => row.id));
}

function sorted(ids: readonly (number | undefined)[]): number[] {
	return ids.filter((id) => id !== undefined).sort((a, b) => a - b);
}
