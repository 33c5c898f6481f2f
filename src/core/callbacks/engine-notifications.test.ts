// A notification is only a hint to read the queue. These tests prove that a lost, late or repeated notification
// neither loses a delivery nor sends it twice, that an outdated target cancels nothing, and that sales of the engine's
// own process are sent without reading the queue.

import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { removeUrl, setUrl } from "../../../test/support/change-rows.ts";
import { START_MS } from "../../../test/support/clock.ts";
import { addEngine } from "../../../test/support/queue-rows.ts";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { type AnswerExcerpt, excerptAnswer, readExcerpt } from "../domain/answer-excerpt.ts";
import { slotOf } from "../domain/slot.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { SILENT_MS } from "../store/queries/queue.ts";
import { ANSWER, startEngine } from "./test-engine.test-support.ts";

const OLD_URL = "https://shop.example/postback";
const NEW_URL = "https://shop.example/new";

describe("a sale of the engine's own process", () => {
	test("is sent after its commit without reading the queue, and its queue row is removed", async (t) => {
		const { sell, posted, reads, states, clock, store, engine } = await startEngine(t);
		await sell();
		deepEqual([posted, reads], [["1"], []]);
		await clock.moveBy(100);
		deepEqual([await states(), engine.counters.waitingOrInFlight], [["delivered"], 0]);
		deepEqual(await store.db.selectFrom("queue").selectAll().execute(), []);
		await clock.moveBy(2 * MINUTE_MS);
		deepEqual([posted.length, reads, engine.counters.missed], [1, [], 0]);
	});

	test("waits for its turn after older due deliveries, even if there is room", async (t) => {
		const { record, posted, reads, listener, programme, store, clock } = await startEngine(t);
		await record();
		const sale = await record();
		listener.onOwed({ receiverIds: [programme.receiver_id], dueAtMs: clock.nowMs() });
		store.announceDue(sale);
		await clock.moveBy(10);
		deepEqual(posted, ["1", "2"]);
		ok(reads.length > 0);
	});

	test("is read from the queue later if there is no room", async (t) => {
		const { sell, posted, reads, hold, letGo, clock } = await startEngine(t);
		hold();
		await sell(3);
		deepEqual(posted, ["1", "2"]);
		await letGo();
		await clock.moveBy(100);
		deepEqual(posted, ["1", "2", "3"]);
		ok(reads.length > 0);
	});

	test("is not sent twice if it was read and sent between its commit and its notification", async (t) => {
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

	for (const [title, isAnnounced, afterMs] of [
		["if the change was announced", true, 1],
		["after a second if the change was not announced", false, 1_000],
	] as const) {
		test(`goes to the URL that was saved between its commit and its notification, ${title}`, async (t) => {
			const { record, urls, reads, store, programme, clock } = await startEngine(t);
			const owed = await record();
			await clock.moveBy(afterMs);
			await setUrl(store.db, programme.id, NEW_URL, clock.nowMs());
			if (isAnnounced) store.announceTargetChange(programme.receiver_id);
			store.announceDue(owed);
			await clock.moveBy(10);
			deepEqual(urls, [NEW_URL]);
			ok(reads.length > 0);
		});
	}

	test("is not sent if another engine owns its slot, and is returned so that this engine is notified", async (t) => {
		const { record, programme, posted, listener, clock } = await startEngine(t, {
			async prepare(store, { receiver_id: id }) {
				const engine_id = await addEngine(store, START_MS + SILENT_MS);
				await store.db.updateTable("slots").set({ engine_id }).where("slot", "=", slotOf(id)).execute();
			},
		});
		const owed = await record();
		const [theirs, ours] = [programme.receiver_id, receiverId(programme.receiver_id + 1)];
		deepEqual(listener.onOwed({ ...owed, receiverIds: [theirs, ours] }), [theirs]);
		await clock.moveBy(6_000);
		deepEqual(posted, []);
	});
});

describe("a notification of another process", () => {
	test("makes the engine read the queue at the due time, and not before", async (t) => {
		const { record, sellElsewhere, programme, listener, store, clock, posted, reads } = await startEngine(t);
		await record();
		const dueAtMs = clock.nowMs() + 3_000;
		await store.db.updateTable("queue").set({ due_at_ms: dueAtMs }).execute();
		listener.onOwed({ receiverIds: [programme.receiver_id], dueAtMs });
		await sellElsewhere();
		deepEqual([posted, reads], [["2"], [[programme.receiver_id]]]);
		await clock.moveTo(dueAtMs - 1);
		equal(reads.length, 1);
		await clock.moveBy(1);
		deepEqual(posted, ["2", "1"]);
	});

	test("is not lost if it arrives during a pass", async (t) => {
		const { record, sellElsewhere, programme, listener, posted, world, clock } = await startEngine(t);
		world.afterCommit = async () => {
			await record();
			listener.onOwed({ receiverIds: [programme.receiver_id], dueAtMs: clock.nowMs() });
		};
		await sellElsewhere();
		await clock.moveBy(20);
		deepEqual(posted, ["1", "2"]);
	});

	test("of a late commit finds a row that sorts before rows that were already read", async (t) => {
		const { record, sellElsewhere, programme, listener, store, posted, clock } = await startEngine(t);
		const [dueAtMs, queued] = [clock.nowMs(), store.db.updateTable("queue")];
		await record();
		await queued.set({ due_at_ms: dueAtMs + MINUTE_MS }).execute();
		await clock.moveBy(1_000);
		await sellElsewhere();
		await clock.moveBy(100);
		await queued.set({ due_at_ms: dueAtMs }).execute();
		listener.onOwed({ receiverIds: [programme.receiver_id], dueAtMs });
		await clock.moveBy(10);
		deepEqual(posted, ["2", "1"]);
	});
});

test("an engine with an old lease returns the receiver, because another engine may own its slot by now", async (t) => {
	const { programme, listener, world, clock } = await startEngine(t);
	const owed = { receiverIds: [programme.receiver_id], dueAtMs: START_MS };
	deepEqual(listener.onOwed(owed), []);
	world.isAway = true;
	await clock.moveBy(10_000);
	deepEqual(listener.onOwed(owed), [programme.receiver_id]);
	world.isAway = false;
});

describe("a recheck", () => {
	test("reads the first due rows of all slots at once, and counts none as missed", async (t) => {
		const { record, posted, listener, engine, clock } = await startEngine(t);
		await record();
		await clock.moveBy(50_000);
		deepEqual(posted, [], "the engine was not notified of this sale");
		listener.onRecheck();
		await clock.moveBy(10);
		deepEqual([posted, engine.counters.missed], [["1"], 0]);
	});

	test("follows within five seconds if another process wrote to the SQLite file, and then within one second", async (t) => {
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

	test("is made every minute as a routine, which counts and logs missed rows", async (t) => {
		const { record, posted, engine, log, clock } = await startEngine(t);
		await clock.moveBy(10_000);
		await record();
		await clock.moveBy(MINUTE_MS);
		deepEqual([posted, engine.counters.missed], [["1"], 1]);
		const [line, ...more] = log.lines;
		deepEqual(
			[line?.level, line?.message, more],
			["error", "deliveries were due of which this engine was not notified", []],
		);
	});
});

describe("a change of the URL or the secret", () => {
	test("applies to waiting deliveries and to all that are sent later", async (t) => {
		const { sell, sellElsewhere, urls, store, programme, hold, letGo, clock } = await startEngine(t);
		await sell();
		await clock.moveBy(100);
		hold();
		// The shop is fast, so the engine reads all four deliveries, and two of them wait in the buffer.
		await sellElsewhere(4);
		await setUrl(store.db, programme.id, NEW_URL, clock.nowMs());
		store.announceTargetChange(programme.receiver_id);
		await clock.moveBy(10);
		await letGo();
		await clock.moveBy(100);
		deepEqual(urls, [OLD_URL, OLD_URL, OLD_URL, NEW_URL, NEW_URL]);
	});

	test("sends deliveries that waited for a secret that can be opened", async (t) => {
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
		store.announceTargetChange(programme.receiver_id);
		await clock.moveBy(10);
		deepEqual(posted, ["1"]);
	});

	test("that was not announced cancels no delivery for the URL that was saved since", async (t) => {
		const { sell, sellElsewhere, posted, store, programme, hold, letGo, states, clock } =
			await startEngine(t);
		hold();
		await sell();
		// Another process removes the URL, saves one again and records a sale.
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

test("an attempt ends with the headers, but it counts as in flight until the stored part of the body has arrived", async (t) => {
	const { engine, store, clock, world, sell } = await startEngine(t);
	const { promise, resolve } = Promise.withResolvers<AnswerExcerpt>();
	world.answer = { ...ANSWER, outcome: { kind: "answered", status: 500 }, excerpt: promise };
	const soldAtMs = clock.nowMs();
	await sell();
	await clock.moveBy(400);
	const read = () => store.db.selectFrom("attempts").selectAll().execute();
	deepEqual([await read(), engine.counters.inFlight], [[], 1]);
	const excerpt = excerptAnswer({}, Buffer.from("Fatal error"), true);
	resolve(excerpt);
	await clock.moveBy(200);
	const [attempt] = await read();
	deepEqual(readExcerpt(attempt?.answer ?? null), excerpt);
	deepEqual([attempt?.started_at_ms, attempt?.took_ms], [soldAtMs, 0]);
	const queued = await store.db.selectFrom("queue").select("due_at_ms").executeTakeFirst();
	deepEqual([queued?.due_at_ms, engine.counters.inFlight], [soldAtMs + MINUTE_MS, 0]);
});

test("a request that fails because this machine is out of a resource is no attempt, and is retried after five seconds", async (t) => {
	const { sell, posted, world, attempts, states, clock } = await startEngine(t);
	world.answer = { ...ANSWER, outcome: { kind: "network-error", stage: "connect", code: "EMFILE" } };
	await sell();
	world.answer = ANSWER;
	await clock.moveBy(4_999);
	deepEqual([posted.length, await attempts()], [1, 0]);
	await clock.moveBy(200);
	deepEqual([posted.length, await attempts(), await states()], [2, 1, ["delivered"]]);
});
