// Tests that conversions that pixels reported and nobody confirmed are removed with their history after some
// time. Nothing is removed that a listener, a list or a later sale report relies on.

import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { exportConversions } from "#core/conversions/export.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { hasReached } from "#core/store/queries/announced-moves.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { listInboundCalls } from "#core/store/queries/inbound-calls.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { pruneExpired } from "#core/store/queries/prune.ts";
import type { Db, Store } from "#core/store/store.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { startListening } from "../support/listener.ts";
import { makeSteps } from "../support/make-steps.ts";
import { addConversion, addProgramme, newConversion } from "../support/rows.ts";

const CUTOFF_MS = START_MS;
const OLD_MS = CUTOFF_MS - 1;
/** Number of rows in a batch. */
const BATCH_ROWS = 500;
const never = () => false;

type Added = "EXPIRED" | "PARKED" | "RECORDED";
const HISTORY = { RECORDED: ["RECORDED"], PARKED: ["PARKED"], EXPIRED: ["PARKED", "EXPIRED"] } as const;
const MOVE_TO = { RECORDED: "record", PARKED: "park", EXPIRED: "expire" } as const;

const clock = createClock();
const deps = { clock, random: createRandom(), changes: CHANGES };

/** Records the order again in place of the expired conversion, as the shop's sale report does. */
async function renew(store: Store, trx: Db, known: Conversion): Promise<void> {
	const { status: _, created_at_ms: __, updated_at_ms: ___, ...sale } = newConversion(known.programme_id);
	const named = { ...sale, order_id: known.order_id, event_type: known.event_type };
	await makeSteps(trx, { ...deps, store }, [{ move: "record", known: null, sale: named }]);
}

eachDatabase("retention of expired conversions", (database) => {
	let programme: Programme;

	beforeEach(async () => {
		for (const table of ["conversions", "moves", "inbound_calls"] as const) {
			await database.store.db.deleteFrom(table).execute();
		}
		programme = await addProgramme(database.store);
	});

	/**
	 * Adds conversions with their history. RECORDED ones come from the shop's server, and the others from
	 * pixels.
	 */
	async function addAll(added: readonly [orderId: string, status: Added, endedAtMs?: number][]) {
		return database.store.transact(async (trx) => {
			const rows: Conversion[] = [];
			for (const [orderId, status, endedAtMs = OLD_MS] of added) {
				const source = status === "RECORDED" ? "postback" : "pixel";
				const change = { order_id: orderId, status, source, window_ends_at_ms: endedAtMs } as const;
				const row = await addConversion({ ...database.store, db: trx }, programme.id, change);
				rows.push(row);
				const moves = HISTORY[status].map((to_status) => ({ to_status, move: MOVE_TO[to_status] }));
				await database.store.batch.write(trx, {
					moves: moves.map((move) => ({
						programme_id: programme.id,
						conversion_id: row.id,
						at_ms: endedAtMs,
						...move,
					})),
				});
			}
			return rows;
		});
	}

	async function add(orderId: string, status: Added, endedAtMs = OLD_MS): Promise<Conversion> {
		const [row] = await addAll([[orderId, status, endedAtMs]]);
		ok(row !== undefined);
		return row;
	}

	const prune = (isStopping = never, store: Store = database.store) =>
		pruneExpired(store, clock, CUTOFF_MS, isStopping);

	async function remaining(): Promise<{ orders: string[]; moves: number }> {
		const { db } = database.store;
		const rows = await db.selectFrom("conversions").select("order_id").orderBy("id").execute();
		const moves = await db.selectFrom("moves").select("id").execute();
		return { orders: rows.map((row) => row.order_id), moves: moves.length };
	}

	test("expired conversions are removed with their moves after the retention time, and nothing else is", async () => {
		await add("old", "EXPIRED", CUTOFF_MS - 1);
		await add("at the limit", "EXPIRED", CUTOFF_MS);
		await add("parked", "PARKED");
		await add("older", "EXPIRED", CUTOFF_MS - DAY_MS);
		await add("sale", "RECORDED");
		equal(await prune(), 2);
		deepEqual(await remaining(), { orders: ["at the limit", "parked", "sale"], moves: 4 });
		equal(await prune(), 0);
	});

	test("many conversions are removed in batches, and a stop takes effect between them", async () => {
		await addAll(Array.from({ length: BATCH_ROWS + 20 }, (_, n) => [`order ${n}`, "EXPIRED"]));
		await add("sale", "RECORDED");
		let asked = 0;
		equal(await prune(() => asked++ > 0), BATCH_ROWS);
		equal(await prune(), 20);
		deepEqual(await remaining(), { orders: ["sale"], moves: 1 });
	});

	test("a sale that is recorded during the removal of the expired conversion stays", async () => {
		const row = await add("raced", "EXPIRED");
		await add("old", "EXPIRED");
		await add("sale", "RECORDED");
		const { store } = database;
		const interrupted: Store = {
			...store,
			async transact(work) {
				await store.transact((trx) => renew(store, trx, row));
				return store.transact(work);
			},
		};
		equal(await prune(never, interrupted), 2);
		deepEqual(await remaining(), { orders: ["sale", "raced"], moves: 2 });
	});

	test("the newest conversion and the newest move stay until there is a newer one, so that no id is used twice", async () => {
		const { store } = database;
		await add("sale", "RECORDED");
		const newest = await add("newest", "EXPIRED");
		const listener = await startListening(store, programme);
		await listener.catchUp();
		listener.told = [];
		equal(await prune(), 0);
		const next = await add("next", "RECORDED");
		notEqual(next.id, newest.id);
		await listener.catchUp();
		deepEqual(listener.told, ["recorded next RECORDED null"], "a listener misses nothing");
		equal(await prune(), 1);
		deepEqual(await remaining(), { orders: ["sale", "next"], moves: 2 });
	});

	test("a listener's cursor at the newest move stays valid if the move belongs to an old conversion", async () => {
		const { store } = database;
		const slow = await add("slow", "PARKED");
		await add("sale", "RECORDED");
		const expiry = { move: "expire", known: slow, change: { window_ends_at_ms: OLD_MS } } as const;
		await store.transact((trx) => makeSteps(trx, { ...deps, store }, [expiry]));
		const listener = await startListening(store, programme);
		await listener.catchUp();
		const { position } = listener;
		equal(await prune(), 0);
		equal(await hasReached(store, position), true);
		await add("next", "RECORDED");
		equal(await prune(), 1);
		equal(await hasReached(store, position), true);
	});

	test("a listener whose cursor is older than the removed rows receives every event once", async () => {
		const { store } = database;
		await add("first", "RECORDED");
		const listener = await startListening(store, programme);
		await listener.catchUp();
		listener.told = [];
		const sales = Array.from({ length: 260 }, (_, n) => `sale ${n}`);
		await addAll(
			sales.flatMap((sale) => [
				[`pixel before ${sale}`, "EXPIRED"],
				[sale, "RECORDED"],
			]),
		);
		equal(await prune(), 260);
		await listener.catchUp();
		deepEqual(
			listener.told,
			sales.map((sale) => `recorded ${sale} RECORDED null`),
		);
	});

	test("a logged call names its order without a link to the removed conversion", async () => {
		const { db } = database.store;
		const { public_id: conversion } = await add("forgotten", "EXPIRED");
		await add("sale", "RECORDED");
		const call = {
			kind: "pixel",
			method: "GET",
			target: "/",
			outcome: "DUPLICATE",
			http_status: 200,
		} as const;
		const names = { programme_id: programme.id, order_id: "forgotten", conversion, at_ms: START_MS };
		await database.store.batch.write(db, { inboundCalls: [{ ...call, ...names }] });
		await prune();
		const { rows } = await listInboundCalls(db, { programmeId: programme.id, limit: 5 });
		deepEqual(
			rows.map(({ orderId, conversionId }) => [orderId, conversionId]),
			[["forgotten", null]],
		);
	});

	test("an export continues after a row that was removed meanwhile, and writes no line twice", async () => {
		const { store } = database;
		// A page of the export has a thousand rows. The removed conversion is the last row of the first page.
		await addAll(Array.from({ length: 5 }, (_, n) => [`oldest ${n}`, "RECORDED"]));
		await add("removed", "EXPIRED");
		await addAll(Array.from({ length: 999 }, (_, n) => [`sale ${n}`, "RECORDED"]));
		const lines: string[] = [];
		let chunks = 0;
		for await (const chunk of exportConversions(store.db, { programmeId: programme.id })) {
			lines.push(...chunk.trim().split("\r\n"));
			if (++chunks === 2) equal(await prune(), 1);
		}
		equal(lines.length, 1 + 1_005);
		equal(new Set(lines.map((line) => line.split(",")[0])).size, lines.length);
	});
});
