// What the engine remembers is a hint, never the truth: what is announced while a pass is under way must not
// be lost, and what it knows from before must not end a delivery. Nor must what is kept of an answer move its end.

import { deepEqual, equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createClock, type MovableClock, START_MS, settle } from "../../test/support/clock.ts";
import { insertDueEvents } from "../../test/support/due-events.ts";
import { createLog } from "../../test/support/log.ts";
import { addConversion, addProgramme, newOwedEvent } from "../../test/support/rows.ts";
import { openStore } from "../../test/support/test-database.ts";
import { type KeptAnswer, readKeptAnswer } from "../domain/kept-answer.ts";
import { SEALING_IV_BYTES, SEALING_KEY_BYTES, sealSecret } from "../domain/sealing.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { createRandom } from "../outside/random.ts";
import type { PostbackAnswer } from "../ports.ts";
import { removeEndpoint } from "../store/endpoint-removal.ts";
import { givenWire } from "../store/known-wire.ts";
import { type Programme, setEndpoint } from "../store/programmes.ts";
import type { Store } from "../store/store.ts";
import { Engine } from "./engine.ts";
import { createPass } from "./pass.ts";

const SEALING_KEY = new Uint8Array(SEALING_KEY_BYTES).fill(7);
const ANSWER: PostbackAnswer = {
	outcome: { kind: "answered", status: 204 },
	timings: { lookUpMs: null, connectMs: null, tlsMs: null, answerMs: 1 },
	kept: null,
};

interface Setup {
	engine: Engine;
	store: Store;
	clock: MovableClock;
	programme: Programme;
	/** Bodies of the requests that went out. */
	posted: string[];
	/** The shop answers when this resolves. */
	gate: { opens: Promise<void>; answer: PostbackAnswer };
	/** Called once, after the next pass has committed and before the engine hears of it. */
	interrupt: { beforeAnswer: (() => Promise<void>) | null };
	/** An event in the queue, of which the engine has not been told. */
	owe(endpointEpoch?: number): Promise<void>;
}

async function startEngine(t: TestContext): Promise<Setup> {
	const store = openStore("SQLite", ":memory:");
	await store.migrate(START_MS);
	const programme = await addProgramme(store);
	const random = createRandom();
	const sealed = sealSecret(SEALING_KEY, programme.id, "rbs_1", random.bytes(SEALING_IV_BYTES));
	await store.db.updateTable("signing_secrets").set({ sealed }).execute();
	const clock = createClock();
	const posted: string[] = [];
	const gate: Setup["gate"] = { opens: Promise.resolve(), answer: ANSWER };
	const interrupt: Setup["interrupt"] = { beforeAnswer: null };
	const pass = createPass(store, random);
	const engine = new Engine({
		store,
		clock,
		random,
		transport: {
			async post({ body }) {
				posted.push(body);
				await gate.opens;
				return gate.answer;
			},
		},
		sealingKey: SEALING_KEY,
		log: createLog(),
		wire: givenWire("Service"),
		caps: { perProgramme: 8, overall: 64 },
		async runPass(input) {
			const output = await pass(input);
			const act = interrupt.beforeAnswer;
			interrupt.beforeAnswer = null;
			await act?.();
			return output;
		},
		load: { busyShare: () => 0, lateMs: () => 0 },
		onNotice: () => undefined,
	});
	t.after(async () => {
		await engine.stop();
		await store.close();
	});
	await settle();
	return {
		engine,
		store,
		clock,
		programme,
		posted,
		gate,
		interrupt,
		async owe(endpointEpoch = 0) {
			const conversion = await addConversion(store, programme.id);
			const owed = { ...newOwedEvent(programme, conversion.id), endpointEpoch };
			await store.transact((trx) => insertDueEvents(trx, [owed], clock.nowMs()));
		},
	};
}

test("an event announced while a pass is under way goes out at once, and not at the next poll", async (t) => {
	const { store, clock, programme, posted, interrupt, owe } = await startEngine(t);
	await owe();
	interrupt.beforeAnswer = async () => {
		await owe();
		store.announceDue([programme.id]);
	};
	await clock.moveBy(100);
	store.announceDue([programme.id]);
	await clock.moveBy(100);
	equal(posted.length, 2);
});

test("an event of a URL saved after the engine last looked is sent, and not cancelled as an old one", async (t) => {
	const { store, clock, programme, posted, gate, owe } = await startEngine(t);
	// One request on its way, so that the engine has a reason to remember where it goes.
	const { promise, resolve } = Promise.withResolvers<void>();
	gate.opens = promise;
	await owe();
	await clock.moveBy(100);
	store.announceDue([programme.id]);
	await clock.moveBy(100);
	equal(posted.length, 1);
	// Another process removes the URL, saves one again and records a sale, all in a moment. This engine is not
	// told which programme it was, and finds the sale by itself.
	await store.transact(async (trx) => {
		await removeEndpoint(trx, programme.id, clock.nowMs());
		await setEndpoint(trx, programme.id, "https://shop.example/postback", clock.nowMs());
	});
	await owe(1);
	store.announceDue([]);
	await clock.moveBy(100);
	resolve();
	await clock.moveBy(6_000);
	const states = await store.db.selectFrom("deliveries").select("state").orderBy("id").execute();
	deepEqual(
		states.map(({ state }) => state),
		["delivered", "delivered"],
	);
	equal(posted.length, 2);
});

test("what a pass hands out while the engine is being stopped is given back, and not sent", async (t) => {
	const { engine, store, clock, programme, posted, interrupt, owe } = await startEngine(t);
	await owe();
	let stopped: Promise<void> | undefined;
	interrupt.beforeAnswer = async () => {
		stopped = engine.stop();
	};
	await clock.moveBy(100);
	store.announceDue([programme.id]);
	await clock.moveBy(100);
	await clock.moveBy(100);
	await stopped;
	equal(posted.length, 0);
	equal((await store.db.selectFrom("queue").select("id").execute()).length, 1);
	deepEqual(await store.db.selectFrom("handouts").selectAll().execute(), []);
	deepEqual(await store.db.selectFrom("engines").selectAll().execute(), []);
	const lanes = await store.db.selectFrom("lanes").select("engine_id").execute();
	deepEqual(
		lanes.map((lane) => lane.engine_id),
		[null],
	);
});

test("an attempt ends with its headers; its settlement waits for what is kept, and holds the place meanwhile", async (t) => {
	const { engine, store, clock, programme, gate, owe } = await startEngine(t);
	const { promise, resolve } = Promise.withResolvers<KeptAnswer>();
	gate.answer = { ...ANSWER, outcome: { kind: "answered", status: 500 }, kept: promise };
	await owe();
	await clock.moveBy(100);
	store.announceDue([programme.id]);
	await clock.moveBy(400);
	const read = () => store.db.selectFrom("attempts").selectAll().execute();
	deepEqual([await read(), engine.counters.inFlight], [[], 1]);
	const kept = {
		location: null,
		contentType: null,
		server: null,
		retryAfter: null,
		body: "Fatal error",
		isCut: true,
	};
	resolve(kept);
	await clock.moveBy(200);
	const [attempt] = await read();
	deepEqual(readKeptAnswer(attempt?.answer ?? null), kept);
	deepEqual([attempt?.started_at_ms, attempt?.took_ms], [START_MS + 100, 0]);
	const queued = await store.db.selectFrom("queue").select("due_at_ms").executeTakeFirst();
	equal(queued?.due_at_ms, START_MS + 100 + MINUTE_MS);
	equal(engine.counters.inFlight, 0);
});
