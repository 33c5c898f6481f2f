// What the engine hears of is a hint, never the truth: nothing of it may be lost or sent twice, and what it knows from
// before must not end a delivery. A sale of its own process it sends without reading anything.

import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { removeUrl, setUrl } from "../../test/support/change-rows.ts";
import { START_MS } from "../../test/support/clock.ts";
import { addEngine } from "../../test/support/queue-rows.ts";
import { type KeptAnswer, keepAnswer, readKeptAnswer } from "../domain/kept-answer.ts";
import { slotOf } from "../domain/slot.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { SILENT_MS } from "../store/queries/queue.ts";
import { ANSWER, startEngine } from "./test-engine.test-support.ts";

const OLD_URL = "https://shop.example/postback";
const NEW_URL = "https://shop.example/new";

describe("a sale of the engine's own process", () => {
	test("goes out from its commit without a read of the queue, and leaves nothing behind", async (t) => {
		const { sell, posted, reads, states, clock, store, engine } = await startEngine(t);
		await sell();
		deepEqual([posted, reads], [["1"], []]);
		await clock.moveBy(100);
		deepEqual([await states(), engine.counters.waitingOrInFlight], [["delivered"], 0]);
		deepEqual(await store.db.selectFrom("queue").selectAll().execute(), []);
		await clock.moveBy(2 * MINUTE_MS);
		deepEqual([posted.length, reads, engine.counters.missed], [1, [], 0]);
	});

	test("waits for its turn behind a backlog, though there is room", async (t) => {
		const { record, posted, reads, hears, programme, store, clock } = await startEngine(t);
		await record();
		const sale = await record();
		hears.onOwed({ programmeIds: [programme.id], dueAtMs: clock.nowMs() });
		store.announceDue(sale);
		await clock.moveBy(10);
		deepEqual(posted, ["1", "2"]);
		ok(reads.length > 0);
	});

	test("finds no room and is read from the queue when there is some", async (t) => {
		const { sell, posted, reads, hold, letGo, clock } = await startEngine(t);
		hold();
		await sell(3);
		deepEqual(posted, ["1", "2"]);
		await letGo();
		await clock.moveBy(100);
		deepEqual(posted, ["1", "2", "3"]);
		ok(reads.length > 0);
	});

	test("is not sent a second time where it was read and sent between its commit and its word", async (t) => {
		const { record, sellElsewhere, posted, states, store, clock } = await startEngine(t);
		const owed = await record();
		await clock.moveBy(10);
		await sellElsewhere();
		await clock.moveBy(100);
		deepEqual(
			[posted, await states()],
			[
				["1", "2"],
				["delivered", "delivered"],
			],
		);
		store.announceDue(owed);
		await clock.moveBy(6_000);
		deepEqual(posted, ["1", "2"]);
	});

	for (const [title, isTold, afterMs] of [
		["heard of", true, 1],
		["not heard of for a second", false, 1_000],
	] as const) {
		test(`goes to the URL that was saved between its commit and its word, ${title}`, async (t) => {
			const { record, urls, reads, store, programme, clock } = await startEngine(t);
			const owed = await record();
			await clock.moveBy(afterMs);
			await setUrl(store.db, programme.id, NEW_URL, clock.nowMs());
			if (isTold) store.announceChange(programme.id);
			store.announceDue(owed);
			await clock.moveBy(10);
			deepEqual(urls, [NEW_URL]);
			ok(reads.length > 0);
		});
	}

	test("of a slot that is another's is not sent, and is named for that engine to hear of", async (t) => {
		const { record, programme, posted, hears, clock } = await startEngine(t, {
			async prepare(store, { id }) {
				const engine_id = await addEngine(store, START_MS + SILENT_MS);
				await store.db.updateTable("slots").set({ engine_id }).where("slot", "=", slotOf(id)).execute();
			},
		});
		const owed = await record();
		const [theirs, ours] = [programme.id, programme.id + 1];
		deepEqual(hears.onOwed({ ...owed, programmeIds: [theirs, ours] }), [theirs]);
		await clock.moveBy(6_000);
		deepEqual(posted, []);
	});
});

describe("a hint of another process", () => {
	test("has the queue read, and one with a time to come then and not before", async (t) => {
		const { record, sellElsewhere, programme, hears, store, clock, posted, reads } = await startEngine(t);
		await record();
		const dueAtMs = clock.nowMs() + 3_000;
		await store.db.updateTable("queue").set({ due_at_ms: dueAtMs }).execute();
		hears.onOwed({ programmeIds: [programme.id], dueAtMs });
		await sellElsewhere();
		deepEqual([posted, reads], [["2"], [[programme.id]]]);
		await clock.moveTo(dueAtMs - 1);
		equal(reads.length, 1);
		await clock.moveBy(1);
		deepEqual(posted, ["2", "1"]);
	});

	test("that comes while a pass is under way is not lost", async (t) => {
		const { record, sellElsewhere, programme, hears, posted, world, clock } = await startEngine(t);
		world.afterCommit = async () => {
			await record();
			hears.onOwed({ programmeIds: [programme.id], dueAtMs: clock.nowMs() });
		};
		await sellElsewhere();
		await clock.moveBy(20);
		deepEqual(posted, ["1", "2"]);
	});

	test("of a commit that came late has it found before what was read already", async (t) => {
		const { record, sellElsewhere, programme, hears, store, posted, clock } = await startEngine(t);
		const [dueAtMs, queued] = [clock.nowMs(), store.db.updateTable("queue")];
		await record();
		await queued.set({ due_at_ms: dueAtMs + MINUTE_MS }).execute();
		await clock.moveBy(1_000);
		await sellElsewhere();
		await queued.set({ due_at_ms: dueAtMs }).execute();
		hears.onOwed({ programmeIds: [programme.id], dueAtMs });
		await clock.moveBy(10);
		deepEqual(posted, ["2", "1"]);
	});
});

test("what is heard while the lease is old is named for others, who may own the slot by now", async (t) => {
	const { programme, hears, world, clock } = await startEngine(t);
	const owed = { programmeIds: [programme.id], dueAtMs: START_MS };
	deepEqual(hears.onOwed(owed), []);
	world.isAway = true;
	await clock.moveBy(10_000);
	deepEqual(hears.onOwed(owed), [programme.id]);
	world.isAway = false;
});

describe("doubt", () => {
	test("has all slots read again at once, and what it finds is not counted as missed", async (t) => {
		const { record, posted, hears, engine, clock } = await startEngine(t);
		await record();
		await clock.moveBy(50_000);
		deepEqual(posted, [], "of this sale it was not told");
		hears.onRecheck();
		await clock.moveBy(10);
		deepEqual([posted, engine.counters.missed], [["1"], 0]);
	});

	test("comes with a renewal where another process has written to the file, and then within a second", async (t) => {
		const { record, posted, world, clock } = await startEngine(t);
		await record();
		world.hasChangedElsewhere = true;
		await clock.moveBy(5_000);
		deepEqual(posted, ["1"]);
		await record();
		world.hasChangedElsewhere = true;
		await clock.moveBy(1_000);
		deepEqual(posted, ["1", "2"]);
	});

	test("is settled by a check every minute, which alone counts what was missed, and complains", async (t) => {
		const { record, posted, engine, log, clock } = await startEngine(t);
		await clock.moveBy(10_000);
		await record();
		await clock.moveBy(MINUTE_MS);
		deepEqual([posted, engine.counters.missed], [["1"], 1]);
		const [line, ...more] = log.lines;
		deepEqual(
			[line?.level, line?.message, more],
			["error", "deliveries were due that this engine had not heard of", []],
		);
	});
});

describe("a change of the URL or the secret", () => {
	test("is known to what waits, and to what is sent from then on", async (t) => {
		const { sell, sellElsewhere, urls, store, programme, hold, letGo, clock } = await startEngine(t);
		await sell();
		await clock.moveBy(100);
		hold();
		// A fast shop: two of them wait in hand.
		await sellElsewhere(4);
		await setUrl(store.db, programme.id, NEW_URL, clock.nowMs());
		store.announceChange(programme.id);
		await clock.moveBy(10);
		await letGo();
		await clock.moveBy(100);
		deepEqual(urls, [OLD_URL, OLD_URL, OLD_URL, NEW_URL, NEW_URL]);
	});

	test("ends a wait: what had no secret that opens goes out when it has one", async (t) => {
		const { sellElsewhere, posted, store, programme, engine, clock } = await startEngine(t);
		const secrets = store.db.updateTable("signing_secrets");
		const { sealed } = await store.db
			.selectFrom("signing_secrets")
			.select("sealed")
			.executeTakeFirstOrThrow();
		await secrets.set({ sealed: "x" }).execute();
		await sellElsewhere();
		await clock.moveBy(2 * MINUTE_MS);
		deepEqual([posted, engine.counters.missed], [[], 0]);
		await secrets.set({ sealed }).execute();
		store.announceChange(programme.id);
		await clock.moveBy(10);
		deepEqual(posted, ["1"]);
	});

	test("that was not told cancels nothing: an event of a URL saved since is sent", async (t) => {
		const { sell, sellElsewhere, posted, store, programme, hold, letGo, states, clock } =
			await startEngine(t);
		hold();
		await sell();
		// In a moment another process removes the URL, saves one again and records a sale.
		await store.transact(async (trx) => {
			await removeUrl(trx, programme.id, clock.nowMs());
			await setUrl(trx, programme.id, OLD_URL, clock.nowMs());
		});
		await sellElsewhere();
		await letGo();
		await clock.moveBy(6_000);
		deepEqual(
			[posted, await states()],
			[
				["1", "2"],
				["delivered", "delivered"],
			],
		);
	});
});

test("an attempt ends with its headers; its settlement waits for what is kept, and holds the place meanwhile", async (t) => {
	const { engine, store, clock, world, sell } = await startEngine(t);
	const { promise, resolve } = Promise.withResolvers<KeptAnswer>();
	world.answer = { ...ANSWER, outcome: { kind: "answered", status: 500 }, kept: promise };
	const soldAtMs = clock.nowMs();
	await sell();
	await clock.moveBy(400);
	const read = () => store.db.selectFrom("attempts").selectAll().execute();
	deepEqual([await read(), engine.counters.inFlight], [[], 1]);
	const kept = keepAnswer({}, Buffer.from("Fatal error"), true);
	resolve(kept);
	await clock.moveBy(200);
	const [attempt] = await read();
	deepEqual(readKeptAnswer(attempt?.answer ?? null), kept);
	deepEqual([attempt?.started_at_ms, attempt?.took_ms], [soldAtMs, 0]);
	const queued = await store.db.selectFrom("queue").select("due_at_ms").executeTakeFirst();
	deepEqual([queued?.due_at_ms, engine.counters.inFlight], [soldAtMs + MINUTE_MS, 0]);
});

test("what this machine was too short of to send is no attempt, and is tried again after five seconds", async (t) => {
	const { sell, posted, world, attempts, states, clock } = await startEngine(t);
	world.answer = { ...ANSWER, outcome: { kind: "network-error", stage: "connect", code: "EMFILE" } };
	await sell();
	world.answer = ANSWER;
	await clock.moveBy(4_999);
	deepEqual([posted.length, await attempts()], [1, 0]);
	await clock.moveBy(200);
	deepEqual([posted.length, await attempts(), await states()], [2, 1, ["delivered"]]);
});
