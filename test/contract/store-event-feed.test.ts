// Tests the feed of events that listeners read, on both databases. Every status change that announces an
// event comes once, and those of a conversion come in order, even if transactions commit in another order
// than they began.

import { deepEqual, equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import { approveDue } from "#core/conversions/end-windows.ts";
import type { NewMove } from "#core/store/batch.ts";
import { hasReached, startOfFeed } from "#core/store/queries/announced-moves.ts";
import type { Conversion } from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db, Store } from "#core/store/store.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { startListening } from "../support/listener.ts";
import { addConversion, addProgramme, newConversion } from "../support/rows.ts";

eachDatabase("the feed of events", (database) => {
	test("the feed has each announced event once, as it was at that moment, and nothing of parked conversions or other shops", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const stranger = await addProgramme(store);
		const listener = await startListening(store, programme);
		const reversed = await addConversion(store, programme.id, {
			order_id: "A",
			status: "REVERSED",
			reason: "RETURN",
		});
		await addMove(store.db, reversed, "record", "RECORDED");
		await addMove(store.db, reversed, "approve", "APPROVED");
		await addMove(store.db, reversed, "reverse", "REVERSED", "RETURN");
		const parked = await addConversion(store, programme.id, { order_id: "B", status: "RECORDED" });
		await addMove(store.db, parked, "park", "PARKED");
		await addMove(store.db, parked, "confirm", "RECORDED");
		const expired = await addConversion(store, programme.id, { order_id: "C", status: "EXPIRED" });
		await addMove(store.db, expired, "park", "PARKED");
		await addMove(store.db, expired, "expire", "EXPIRED");
		const foreign = await addConversion(store, stranger.id);
		await addMove(store.db, foreign, "record", "RECORDED");
		const all = ["recorded A RECORDED null", "approved A APPROVED null", "reversed A REVERSED RETURN"];
		await listener.catchUp();
		deepEqual(listener.told, all);
		for (const [index, { position }] of listener.events.entries()) {
			const late = await startListening(store, programme, { from: position });
			await late.catchUp();
			deepEqual(late.told, all.slice(index + 1), "each position continues after its event");
		}
	});

	test("a listener gets no event from before its start, and the start position counts as reached", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const conversion = await addConversion(store, programme.id);
		await addMove(store.db, conversion, "record", "RECORDED");
		await (await startListening(store, programme)).catchUp();
		const start = await startOfFeed(store);
		const listener = await startListening(store, programme, { from: start });
		await listener.catchUp();
		deepEqual(listener.told, []);
		equal(await hasReached(store, start), true);
		equal(await hasReached(store, { ...start, id: start.id + 1 }), false);
		equal(await hasReached(store, { id: 0, at: start.at + 1 }), false);
	});

	test("the feed holds events back while an earlier transaction is open, even if later transactions have committed", async (t) => {
		// SQLite has one writer at a time, so transactions commit in the order of their numbers.
		if (database.kind === "SQLite") return;
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const listener = await startListening(store, programme);
		const slow = await begin(t, store);
		const recorded = await record(slow.db, programme, "slow");
		const failed = await begin(t, rival);
		await record(failed.db, programme, "rolled back");
		await rival.transact((trx) => record(trx, programme, "fast"));
		await failed.rollBack();
		await listener.look();
		deepEqual(listener.told, []);
		// A listener that starts now also gets the event of the open transaction, because it is not committed
		// yet.
		const late = await startListening(store, programme);
		await slow.commit();
		await addMove(rival.db, recorded, "approve", "APPROVED");
		await listener.catchUp();
		await late.catchUp();
		const expected = ["recorded slow RECORDED null", "recorded fast RECORDED null"];
		deepEqual(listener.told, [...expected, "approved slow APPROVED null"]);
		deepEqual(late.told, listener.told);
	});

	test("the events of a conversion come in order, even if a transaction that began earlier stores the later one", async (t) => {
		if (database.kind === "SQLite") return;
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const listener = await startListening(store, programme);
		const early = await begin(t, store);
		await addMove(early.db, { id: 0, programme_id: 0 }, "park", "PARKED");
		const between = await begin(t, rival);
		await addMove(between.db, { id: 0, programme_id: 0 }, "park", "PARKED");
		const recorded = await record(rival.db, programme, "A");
		await addMove(early.db, recorded, "approve", "APPROVED");
		await early.commit();
		await listener.look();
		deepEqual(listener.told, []);
		await between.commit();
		await listener.catchUp();
		deepEqual(listener.told, ["recorded A RECORDED null", "approved A APPROVED null"]);
	});

	test("after a dump is restored into a cluster with lower transaction numbers, no event is missed or repeated", async () => {
		if (database.kind === "SQLite") return;
		const { store } = database;
		const programme = await addProgramme(store);
		const listener = await startListening(store, programme);
		await record(store.db, programme, "before");
		await record(store.db, programme, "before, too");
		// The offsets simulate a new cluster whose transaction numbers are lower by this much than those in the dump.
		for (const behind of [1_000_000_000_000, 5_000]) {
			await sql`update moves set transaction = transaction + ${behind}`.execute(store.db);
			listener.position.at += behind;
			await store.migrate(START_MS);
			await record(store.db, programme, `after ${behind}`);
			await listener.catchUp();
		}
		deepEqual(
			listener.told.map((line) => line.replace(/recorded (.*) RECORDED null/, "$1")),
			["before", "before, too", "after 1000000000000", "after 5000"],
		);
	});

	test("while many processes write, a listener gets every event once, and those of a conversion in order", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const listener = await startListening(store, programme);
		let isWriting = true;
		const listening = (async () => {
			while (isWriting) await listener.look();
		})();
		const orders = Array.from({ length: 60 }, (_, n) => `order ${n}`);
		await Promise.all(
			orders.map(async (order, n) => {
				const mine = n % 2 === 0 ? store : rival;
				const recorded = await mine.transact(async (trx) => {
					const made = await record(trx, programme, order);
					if (n % 3 === 0) await sql`select 1`.execute(trx);
					return made;
				});
				await mine.transact(async (trx) => {
					await trx
						.updateTable("conversions")
						.set({ status: "APPROVED" })
						.where("id", "=", recorded.id)
						.execute();
					await addMove(trx, recorded, "approve", "APPROVED");
				});
			}),
		);
		isWriting = false;
		await listening;
		await listener.catchUp();
		equal(listener.told.length, 120);
		for (const order of orders) {
			const mine = listener.told.filter((line) => line.includes(` ${order} `));
			deepEqual(mine, [`recorded ${order} RECORDED null`, `approved ${order} APPROVED null`]);
		}
	});

	test("a burst of events comes in batches of limited size, including approvals at the end of the window", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await sql
			.raw(
				`insert into conversions (public_id, programme_id, order_id, event_type, status, basket_value, commission,
					network_fee, currency, test, source, occurred_at_ms, created_at_ms, window_ends_at_ms, updated_at_ms)
				${countTo(1_200)} select 'burst ' || i, ${programme.id}, 'burst ' || i, 'SALE', 'RECORDED', '1.00', '0.10',
					'0.10', 'EUR', 0, 'postback', 0, 0, ${START_MS}, 0 from n`,
			)
			.execute(store.db);
		const listener = await startListening(store, programme);
		await approveDue({ store, clock: createClock(), random: createRandom(), changes: CHANGES }, () => false);
		await listener.catchUp();
		equal(listener.told.length, 1_200);
		ok(listener.told.every((line) => line.startsWith("approved burst ")));
		ok(Math.max(...listener.batches) <= 500, listener.batches.join(", "));
	});
});

async function record(db: Db, programme: Programme, orderId: string): Promise<Conversion> {
	const sale = newConversion(programme.id, { order_id: orderId });
	const conversion = await db.insertInto("conversions").values(sale).returningAll().executeTakeFirstOrThrow();
	await addMove(db, conversion, "record", "RECORDED");
	return conversion;
}

async function addMove(
	db: Db,
	conversion: Pick<Conversion, "id" | "programme_id">,
	move: NewMove["move"],
	toStatus: NewMove["to_status"],
	reason: NonNullable<NewMove["reason"]> | null = null,
): Promise<void> {
	const { id: conversion_id, programme_id } = conversion;
	const row = { programme_id, conversion_id, move, to_status: toStatus, reason, at_ms: START_MS };
	await db.insertInto("moves").values(row).execute();
}

interface OpenTransaction {
	db: Db;
	commit(): Promise<void>;
	rollBack(): Promise<void>;
}

async function begin(t: TestContext, store: Store): Promise<OpenTransaction> {
	const begun = Promise.withResolvers<Db>();
	const held = Promise.withResolvers<void>();
	const ended = store
		.transact(async (trx) => {
			begun.resolve(trx);
			await held.promise;
		})
		.catch((error: Error) => equal(error.message, "rolled back"));
	const commit = async () => {
		held.resolve();
		await ended;
	};
	t.after(commit);
	const rollBack = async () => {
		held.reject(new Error("rolled back"));
		await ended;
	};
	return { db: await begun.promise, commit, rollBack };
}

function countTo(count: number): string {
	return `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`;
}
