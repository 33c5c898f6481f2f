// These tests prove that an engine without its row, its slots or a reliable clock sends and stores nothing, and that
// each result is stored exactly once.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { START_MS } from "../../../test/support/clock.ts";
import { addEngine } from "../../../test/support/queue-rows.ts";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { addDelivery } from "../../../test/support/rows.ts";
import { SLOTS, slotOf } from "../domain/slot.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { beginPause, endPause } from "../store/queries/delivery-pause.ts";
import { lockProgramme } from "../store/queries/programmes.ts";
import { SILENT_MS } from "../store/queries/queue.ts";
import { setEndpoint } from "../store/queries/receivers.ts";
import type { Store } from "../store/store.ts";
import { FAILED_MESSAGE, LEFT_OUT_MESSAGE } from "./failure-log.ts";
import { PATIENT_FOR_MS } from "./slots.ts";
import { ANSWER, startEngine, type TestEngine, type TestEngineOptions } from "./test-engine.test-support.ts";

const FAILS = { ...ANSWER, outcome: { kind: "answered", status: 503 } } as const;

/** Removes the engine's row, as another engine would do if this one were silent. */
async function removeRow({ store, ids }: TestEngine): Promise<void> {
	await store.transact((trx) => store.queue.removeEngine(trx, ids.at(-1) ?? 0));
}

/** Adds rows of other engines that never count as silent. */
async function addEngines(store: Store, count: number): Promise<number[]> {
	const added: number[] = [];
	for (let engine = 0; engine < count; engine++) added.push(await addEngine(store, START_MS + SILENT_MS));
	return added;
}

const removeEngines = (store: Store, ids: readonly number[]) =>
	store.db.deleteFrom("engines").where("id", "in", ids).execute();

/**
 * Fills the send buffer. The shop is known to be fast, and two of three sales of another process get no answer, so the
 * third waits in the buffer.
 */
async function fillBuffer({ sell, sellElsewhere, hold, clock }: TestEngine): Promise<void> {
	await sell();
	await clock.moveBy(100);
	hold();
	await sellElsewhere(3);
}

describe("a single engine", () => {
	test("owns all slots from the start, and sends deliveries that were due before", async (t) => {
		const { engine, lease, posted } = await startEngine(t, { prepare: addDelivery });
		const [, slots] = await lease();
		deepEqual([slots.length, engine.counters.slots, posted.length], [SLOTS, SLOTS, 1]);
	});

	test("counts receivers with a due delivery that is not in flight, and knows the oldest due time", async (t) => {
		const { sellElsewhere, hold, letGo, engine, clock } = await startEngine(t);
		const oldestDueAtMs = clock.nowMs();
		hold();
		await sellElsewhere(3);
		await clock.moveBy(1_000);
		const { backlog } = engine.counters;
		deepEqual([backlog.receiversDue, backlog.oldestDueAtMs], [1, oldestDueAtMs]);
		await letGo();
		await clock.moveBy(100);
		deepEqual([engine.counters.backlog.receiversDue, engine.counters.backlog.oldestDueAtMs], [0, null]);
	});
});

describe("while the clock is not sure of the time", () => {
	test("the engine sends nothing and gives up its slots and its row, and comes back when the clock is sure", async (t) => {
		const { sell, posted, world, lease, ids, engine, clock } = await startEngine(t);
		world.isSure = false;
		await sell();
		deepEqual([posted, engine.counters.waitingOrInFlight], [[], 0], "from the first moment on");
		await clock.moveBy(MINUTE_MS);
		deepEqual([posted, await lease(), engine.counters.slots], [[], [false, []], 0]);
		world.isSure = true;
		await clock.moveBy(5_100);
		const [hasRow, slots] = await lease();
		deepEqual([posted, hasRow, slots.length, ids.length], [["1"], true, SLOTS, 2]);
		equal(engine.counters.missed, 0);
	});

	test("results of requests in flight are stored, only their slot stays owned, and waiting deliveries are released", async (t) => {
		const running = await startEngine(t);
		const { programme, posted, letGo, world, lease, states, clock } = running;
		await fillBuffer(running);
		world.isSure = false;
		// The engine renews its row in these six seconds, and takes no slots.
		await clock.moveBy(6_000);
		deepEqual([posted.length, await lease(), world.takes], [3, [true, [slotOf(programme.receiver_id)]], 1]);
		await letGo();
		await clock.moveBy(200);
		deepEqual(await states(), ["delivered", "delivered", "delivered", "pending"]);
		deepEqual([posted.length, await lease()], [3, [false, []]]);
	});
});

describe("an engine whose row is gone", () => {
	test("discards its deliveries in progress, counts their results as late, and registers again", async (t) => {
		const running = await startEngine(t);
		const { sell, posted, hold, letGo, engine, log, ids, attempts, clock } = running;
		hold();
		await sell(2);
		await removeRow(running);
		await letGo();
		await clock.moveBy(100);
		match(log.text(), /silent for too long; another engine owns its slots now/);
		equal(engine.counters.lateResults, 2);
		await clock.moveBy(200);
		deepEqual([posted, ids.length, engine.counters.slots], [["1", "2", "1", "2"], 2, SLOTS]);
		equal(await attempts(), 2, "as their first attempts");
	});

	test("stores no result of a request that ends later, and counts that request against the shop's cap until then", async (t) => {
		const running = await startEngine(t);
		const { sell, posted, hold, letGo, engine, attempts, listener, clock } = running;
		hold();
		await sell(3);
		await removeRow(running);
		listener.onRecheck();
		await clock.moveBy(100);
		deepEqual([posted.length, engine.counters.inFlight, engine.counters.slots], [2, 2, SLOTS]);
		await letGo();
		await clock.moveBy(200);
		deepEqual(posted, ["1", "2", "1", "2", "3"]);
		deepEqual([engine.counters.lateResults, await attempts()], [2, 3]);
	});
});

describe("an engine whose machine was suspended", () => {
	/** Suspends the machine for longer than an engine may be silent, so that another engine takes over its slots. */
	async function replaceDuringSuspension(running: TestEngine): Promise<void> {
		await running.clock.moveBy(1_000);
		running.clock.suspend(SILENT_MS);
		await removeRow(running);
	}

	test("sends no sale of its own process before it has renewed its lease, and leaves the sale to the new owner", async (t) => {
		const running = await startEngine(t);
		const { record, posted, listener, programme, ids, clock } = running;
		await replaceDuringSuspension(running);
		deepEqual(listener.onOwed(await record()), [programme.receiver_id], "the new owner must be notified");
		deepEqual(posted, []);
		await clock.moveBy(200);
		deepEqual([posted, ids.length], [["1"], 2], "sent under the lease of a new row");
	});

	test("does not send what waited in its buffer when a request ends, and renews its lease first", async (t) => {
		const running = await startEngine(t);
		const { posted, letGo, engine, world, ids, clock } = running;
		await fillBuffer(running);
		deepEqual([posted.length, engine.counters.waitingOrInFlight], [3, 3]);
		clock.suspend(SILENT_MS);
		world.isAway = true;
		await letGo();
		await clock.moveBy(1_000);
		deepEqual(posted.length, 3, "while the database does not answer");
		world.isAway = false;
		await clock.moveBy(3_000);
		deepEqual([posted.slice(3), ids.length], [["4"], 1], "nobody took its slots, so it keeps its row");
	});

	test("uses no URL and obeys no permission that it read before", async (t) => {
		const running = await startEngine(t);
		const { programme, urls, posted, letGo, engine, store, record, listener, clock } = running;
		const saveUrl = (url: string) =>
			store.transact(async (trx) => {
				const receiver = await lockProgramme(trx, programme.id);
				ok(receiver);
				await setEndpoint(trx, receiver, { url, form: "json", events: "" }, clock.nowMs());
			});
		/** Suspends the machine for too short a time to lose the lease, just before the engine wakes by itself. */
		const sleepOver = async (change: () => Promise<unknown>) => {
			await clock.moveBy(490 - (clock.monotonicMs() % 500));
			clock.suspend(5_000);
			await change();
			await clock.moveBy(20);
		};
		await fillBuffer(running);
		await sleepOver(() => saveUrl("https://shop.example/second"));
		await letGo();
		await clock.moveBy(100);
		deepEqual(urls.slice(3), ["https://shop.example/second"], "a delivery that waited");
		const committed = await record();
		await sleepOver(() => saveUrl("https://shop.example/third"));
		listener.onOwed(committed);
		await clock.moveBy(100);
		deepEqual(urls.slice(4), ["https://shop.example/third"], "a sale whose transaction began before");
		clock.suspend(5_000);
		await beginPause(store.db, null, START_MS);
		listener.onOwed(await record());
		await clock.moveBy(100);
		deepEqual([posted.length, engine.counters.slots], [5, 0], "callbacks are held since then");
	});
});

describe("while the database is away", () => {
	test("the engine sends for ten seconds after its last renewal, and stores the results when the database is back", async (t) => {
		const { sell, posted, world, states, engine, clock } = await startEngine(t);
		world.isAway = true;
		await sell();
		await clock.moveTo(START_MS + 9_999);
		await sell();
		await clock.moveTo(START_MS + 10_000);
		await sell();
		await clock.moveBy(1_000);
		deepEqual(
			[posted, await states()],
			[
				["1", "2"],
				["pending", "pending", "pending"],
			],
		);
		world.isAway = false;
		await clock.moveBy(6_000);
		deepEqual([posted, new Set(await states())], [["1", "2", "3"], new Set(["delivered"])]);
		deepEqual([engine.counters.lateResults, engine.counters.finished.delivered], [0, 3]);
	});

	test("results of a pass that was committed without an answer are stored once, and no error is logged for them", async (t) => {
		const { sell, posted, world, attempts, engine, log, clock } = await startEngine(t);
		world.isBlind = true;
		for (const answer of [ANSWER, FAILS]) {
			world.answer = answer;
			world.afterCommit = () => Promise.reject(new Error("the connection broke"));
			await sell();
			await clock.moveBy(1_000);
		}
		deepEqual([posted, await attempts(), engine.counters.waitingOrInFlight], [["1", "2"], 2, 0]);
		const messages = new Set(log.lines.map(({ message }) => message));
		deepEqual(messages, new Set(["the engine could not reach the database; trying again"]));
		world.answer = ANSWER;
		await clock.moveBy(MINUTE_MS);
		deepEqual([posted, await attempts(), engine.counters.missed], [["1", "2", "2"], 3, 0]);
	});
});

describe("the log of failed attempts", () => {
	test("has a line for each failed attempt, with ids, cause and the next due time, and without URL, order and secret", async (t) => {
		const { sell, world, log, store, clock, urls, posted } = await startEngine(t);
		await sell();
		world.answer = FAILS;
		await sell();
		await clock.moveBy(100);
		world.answer = { ...ANSWER, outcome: { kind: "answered", status: 404 } };
		await clock.moveBy(2 * MINUTE_MS);
		const delivery = await store.db
			.selectFrom("deliveries")
			.innerJoin("conversions", "conversions.id", "deliveries.conversion_id")
			.innerJoin("programmes", "programmes.id", "conversions.programme_id")
			.select([
				"deliveries.public_id",
				"conversions.public_id as conversion",
				"programmes.public_id as programme",
			])
			.orderBy("deliveries.id", "desc")
			.executeTakeFirstOrThrow();
		const { public_id, ...ids } = delivery;
		const about = { delivery: public_id, event: "conversion.recorded", receiver: "shop", ...ids };
		const lines = log.lines.filter(({ message }) => message === FAILED_MESSAGE);
		const [first] = lines;
		const firstRetryAt = first !== undefined && "nextAt" in first.fields ? first.fields.nextAt : null;
		deepEqual(
			lines.map(({ level, fields }) => ({ level, ...fields })),
			[
				{ level: "info", ...about, attempt: 1, verdict: "retry", cause: "HTTP 503", nextAt: firstRetryAt },
				{ level: "info", ...about, attempt: 2, verdict: "refused", cause: "HTTP 404", nextAt: null },
			],
		);
		match(String(firstRetryAt), /^2026-01-15T12:01:00\.\d{3}Z$/);
		deepEqual(posted, ["1", "2", "2"]);
		for (const secret of [...urls, "rbs_1", `"2"`]) ok(!log.text().includes(secret), secret);
	});

	test("has at most twenty lines a minute about a receiver, and one line with the number of the others", async (t) => {
		const { sell, world, log, clock, attempts, engine } = await startEngine(t);
		world.answer = { ...ANSWER, outcome: { kind: "answered", status: 410 } };
		const count = (message: string) => log.lines.filter((line) => line.message === message).length;
		await sell(50);
		await clock.moveBy(30_000);
		deepEqual([await attempts(), count(FAILED_MESSAGE), count(LEFT_OUT_MESSAGE)], [50, 20, 0]);
		await clock.moveBy(MINUTE_MS);
		const [leftOut] = log.lines.filter((line) => line.message === LEFT_OUT_MESSAGE);
		deepEqual(leftOut?.fields, { attempts: 30, receivers: 1 });
		await sell(25);
		await clock.moveBy(10_000);
		deepEqual([count(FAILED_MESSAGE), count(LEFT_OUT_MESSAGE)], [40, 1]);
		await Promise.all([engine.stop(), clock.moveBy(5_000)]);
		deepEqual(log.lines.at(-1)?.fields, { attempts: 5, receivers: 1 }, "a stop says so too");
	});
});

describe("a stop", () => {
	test("gives up idle slots at once, and a slot with requests in flight after their results are stored", async (t) => {
		const running = await startEngine(t);
		const { programme, posted, letGo, engine, lease, states, clock } = running;
		await fillBuffer(running);
		const stopped = engine.stop();
		await clock.moveBy(4_000);
		deepEqual(await lease(), [true, [slotOf(programme.receiver_id)]]);
		await letGo();
		await clock.moveBy(200);
		await stopped;
		deepEqual(await states(), ["delivered", "delivered", "delivered", "pending"]);
		deepEqual([posted.length, await lease(), clock.waitingTimers], [3, [false, []], 0]);
	});

	test("sends neither deliveries that a pass is just reading nor later sales", async (t) => {
		const { sell, sellElsewhere, engine, posted, world, lease, states, clock } = await startEngine(t);
		let stopped: Promise<void> | undefined;
		world.afterCommit = () => {
			stopped = engine.stop();
		};
		await sellElsewhere();
		await sell();
		await clock.moveBy(100);
		await stopped;
		deepEqual([posted, await lease(), await states()], [[], [false, []], ["pending", "pending"]]);
	});

	test("waits for requests in flight while the database is away, and stores their results when it is back", async (t) => {
		const running = await startEngine(t);
		const { world, letGo, engine, lease, states, clock } = running;
		await fillBuffer(running);
		world.isAway = true;
		let hasEnded = false;
		const stopped = engine.stop().then(() => {
			hasEnded = true;
		});
		await clock.moveBy(3_000);
		equal(hasEnded, false);
		world.isAway = false;
		await letGo();
		await clock.moveBy(6_000);
		await stopped;
		deepEqual(await states(), ["delivered", "delivered", "delivered", "pending"]);
		deepEqual(await lease(), [false, []]);
	});

	test("ends after three tries if the database is away, and logs that callbacks will be sent again", async (t) => {
		const { sell, engine, world, log, clock } = await startEngine(t);
		world.isAway = true;
		await sell();
		const stopped = engine.stop();
		await clock.moveBy(3_000);
		await stopped;
		match(log.text(), /stopping without storing the last results; those callbacks will be sent again/);
	});
});

describe("engines that share the slots", () => {
	/** The engine owns the slot of the programme's receiver and one more. Another engine owns the rest. */
	const twoSlots: TestEngineOptions = {
		sharesSlots: true,
		async prepare(store, { receiver_id: id }) {
			const [engine_id = 0] = await addEngines(store, 1);
			const rest = store.db
				.updateTable("slots")
				.where("slot", "not in", [slotOf(id), slotOf(receiverId(id + 2))]);
			await rest.set({ engine_id }).execute();
		},
	};

	test("give up slots beyond their share when another engine comes, and take them back when it has ended", async (t) => {
		const { store, lease, engine, clock } = await startEngine(t, { sharesSlots: true });
		const others = await addEngines(store, 1);
		for (const slots of [SLOTS / 2, SLOTS]) {
			await clock.moveBy(6_000);
			deepEqual([(await lease())[1].length, engine.counters.slots], [slots, slots]);
			await removeEngines(store, others);
		}
	});

	test("send nothing new for a leaving slot, and give it up when its last request has ended", async (t) => {
		const running = await startEngine(t, twoSlots);
		const { sell, record, posted, reads, hold, letGo, store, lease, programme, listener, clock } = running;
		hold();
		await sell();
		await addEngines(store, SLOTS);
		await clock.moveBy(5_000);
		deepEqual(listener.onOwed(await record()), [programme.receiver_id], "the next owner must be notified");
		await clock.moveBy(100);
		deepEqual([posted, (await lease())[1].length], [["1"], 2]);
		await letGo();
		await clock.moveBy(200);
		deepEqual(
			[posted, reads, (await lease())[1]],
			[["1"], [], [slotOf(receiverId(programme.receiver_id + 2))]],
		);
	});

	test("send the waiting and the new deliveries of a leaving slot if it stays after all", async (t) => {
		const running = await startEngine(t, twoSlots);
		const { record, posted, letGo, store, listener, engine, clock } = running;
		await fillBuffer(running);
		const others = await addEngines(store, SLOTS);
		await clock.moveBy(6_100);
		deepEqual(
			[posted, engine.counters.waitingOrInFlight],
			[["1", "2", "3"], 2],
			"the waiting delivery is released",
		);
		listener.onOwed(await record());
		// The test removes these rows as another engine would do, so this engine only sees that its share has grown.
		await removeEngines(store, others);
		await clock.moveBy(5_000);
		await letGo();
		await clock.moveBy(200);
		deepEqual([posted, engine.counters.missed], [["1", "2", "3", "4", "5"], 0]);
	});

	test("remove a silent engine as soon as they may, log it, and read the sales that its process did not announce", async (t) => {
		const { record, posted, log, engine, world, clock } = await startEngine(t, {
			prepare: (store) => addEngine(store, START_MS - 8_000),
		});
		await record();
		await clock.moveTo(START_MS + 7_000);
		deepEqual([posted, engine.counters.endedEngines, world.rechecks], [[], 0, 0]);
		await clock.moveBy(20);
		deepEqual([posted, engine.counters.endedEngines, world.rechecks], [["1"], 1, 1]);
		const [line] = log.lines;
		equal(line?.message, "an engine fell silent; its requests in flight are sent again");
		ok(line && "mostInFlight" in line.fields && line.fields.mostInFlight === 512);
	});

	test("give each other time to renew after an outage, and then remove those that stay silent", async (t) => {
		const { store, engine, world, clock } = await startEngine(t);
		await clock.moveBy(1_000);
		const [lateId] = [await addEngine(store, clock.nowMs()), await addEngine(store, clock.nowMs())];
		world.isAway = true;
		await clock.moveBy(2 * SILENT_MS);
		world.isAway = false;
		await clock.moveBy(6_000);
		equal(engine.counters.endedEngines, 0);
		const late = store.db.updateTable("engines").set({ renewed_at_ms: clock.nowMs() });
		await late.where("id", "=", lateId).execute();
		await clock.moveBy(PATIENT_FOR_MS);
		equal(engine.counters.endedEngines, 1, "only the engine that never came back");
	});
});

describe("while callbacks are held", () => {
	const hold = (store: Store) => beginPause(store.db, null, START_MS);

	test("an engine stores results of requests in flight, gives up its slots and sends nothing, not even retries", async (t) => {
		const { engine, sell, record, states, lease, attempts, store, world, posted, clock, ...shop } =
			await startEngine(t);
		world.answer = FAILS;
		shop.hold();
		await sell(3);
		deepEqual(posted, ["1", "2"]);
		await hold(store);
		await clock.moveBy(500);
		await shop.letGo();
		await clock.moveBy(500);
		deepEqual([await lease(), await attempts()], [[false, []], 2], "their results are stored");
		await sell();
		await clock.moveBy(2 * MINUTE_MS);
		deepEqual([posted.length, await attempts(), engine.counters.backlog.oldestDueAtMs], [2, 2, null]);
		world.answer = ANSWER;
		await endPause(store.db, clock.nowMs());
		await clock.moveBy(600);
		deepEqual([...posted].sort(), ["1", "1", "2", "2", "3", "4"]);
		await clock.moveBy(200);
		deepEqual([await states(), engine.counters.missed], [Array(4).fill("delivered"), 0]);
	});

	test("an engine that starts sends nothing, and can be stopped", async (t) => {
		const { sell, posted, ids, clock } = await startEngine(t, { prepare: hold });
		await sell();
		await clock.moveBy(MINUTE_MS);
		deepEqual([posted, ids], [[], []]);
	});
});
