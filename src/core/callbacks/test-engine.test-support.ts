// An engine on a real SQLite database, with a clock that the test moves and a shop that answers when the test says so. Its
// reads of the queue are recorded, and its transactions can be made to fail.

import { equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import { createClock, START_MS, settle } from "../../../test/support/clock.ts";
import { createLog } from "../../../test/support/log.ts";
import { raiseReceiverIds } from "../../../test/support/receiver-ids.ts";
import { addProgramme } from "../../../test/support/rows.ts";
import { openStore } from "../../../test/support/test-database.ts";
import { CHANGES } from "../../modules.ts";
import { createRandom } from "../../outside/random.ts";
import { recordConversion } from "../conversions/record.ts";
import { createKeyRing } from "../domain/key-ring.ts";
import { SEALING_IV_BYTES, SEALING_KEY_BYTES, sealSecret } from "../domain/sealing.ts";
import type { PostbackAnswer } from "../ports.ts";
import { givenWire } from "../store/network-cache.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { DueListener, Store } from "../store/store.ts";
import { Engine } from "./engine.ts";

const SEALING_KEY = new Uint8Array(SEALING_KEY_BYTES).fill(7);

export const ANSWER: PostbackAnswer = {
	outcome: { kind: "answered", status: 204 },
	timings: { lookUpMs: null, connectMs: null, tlsMs: null, answerMs: 1 },
	excerpt: null,
};

export interface TestEngineOptions {
	sharesSlots?: boolean;
	prepare?: (store: Store, programme: Programme) => Promise<unknown>;
}

export type TestEngine = Awaited<ReturnType<typeof startEngine>>;

/** Starts an engine, and waits until it owns its slots. It may have two requests in flight to a shop. */
export async function startEngine(t: TestContext, options: TestEngineOptions = {}) {
	const store = openStore("SQLite", ":memory:");
	await store.migrate(START_MS);
	await raiseReceiverIds(store);
	const random = createRandom();
	const programme = await addProgramme(store);
	const sealed = sealSecret(SEALING_KEY, programme.receiver_id, "rbs_1", random.bytes(SEALING_IV_BYTES));
	await store.db.updateTable("signing_secrets").set({ sealed }).execute();
	await options.prepare?.(store, programme);
	const world = {
		isSure: true,
		/** Whether `pragma data_version` says that another process wrote to the file. */
		hasChangedElsewhere: false,
		/** Called once, after the engine's next transaction was committed and before the engine gets the answer. */
		afterCommit: null as (() => unknown) | null,
		isAway: false,
		/** Whether a read of the first due rows finds nothing, although there are due rows. */
		isBlind: false,
		/** Number of times that the engine tried to take slots. */
		takes: 0,
		/** Number of times that the engine asked the others for a recheck. */
		rechecks: 0,
		answer: ANSWER,
	};
	const clock = createClock(START_MS, { isSure: () => world.isSure });
	const log = createLog();
	const [posted, urls]: [string[], string[]] = [[], []];
	const [reads, ids]: [number[][], number[]] = [[], []];
	let held = Promise.resolve();
	let letGo: () => void = () => undefined;
	const listeners: DueListener[] = [];
	const engineStore: Store = {
		...store,
		sharesSlots: options.sharesSlots ?? false,
		announceRecheck() {
			world.rechecks++;
			store.announceRecheck();
		},
		async transact(work) {
			if (world.isAway) throw new Error("the database is away");
			const value = await store.transact(work);
			const act = world.afterCommit;
			world.afterCommit = null;
			await act?.();
			return value;
		},
		queue: {
			...store.queue,
			register(db, engineId, ...rest) {
				ids.push(engineId);
				return store.queue.register(db, engineId, ...rest);
			},
			takeSlots(...args) {
				world.takes++;
				return store.queue.takeSlots(...args);
			},
			readFirstDue: async (...args) => (world.isBlind ? [] : store.queue.readFirstDue(...args)),
			readDue(trx, requests, nowMs) {
				if (requests.length > 0) reads.push(requests.map(({ receiverId }) => receiverId));
				return store.queue.readDue(trx, requests, nowMs);
			},
			hasChangedElsewhere() {
				const { hasChangedElsewhere } = world;
				world.hasChangedElsewhere = false;
				return hasChangedElsewhere;
			},
		},
		onDue(listener) {
			listeners.push(listener);
			return store.onDue(listener);
		},
	};
	const engine = new Engine({
		store: engineStore,
		clock,
		random,
		transport: {
			async post({ url, body }) {
				posted.push(JSON.parse(body).orderId);
				urls.push(url);
				await held;
				return world.answer;
			},
		},
		keyRing: createKeyRing([SEALING_KEY]),
		log,
		wire: givenWire("Service"),
		caps: { perReceiver: 2, overall: 64 },
		load: { busyShare: () => 0, lateMs: () => 0 },
		onNotice: () => undefined,
	});
	t.after(async () => {
		world.isAway = false;
		letGo();
		await Promise.all([engine.stop(), clock.moveBy(5_000)]);
		equal(clock.waitingTimers, 0);
		await store.close();
	});
	await clock.moveBy(10);
	const [listener] = listeners;
	if (listener === undefined) throw new Error("the engine does not listen");
	let orders = 0;
	/** Commits a sale of this process without announcing it. Orders are numbered from 1. */
	const record = async (): Promise<Owed> => {
		const sale = { orderId: String(++orders), eventType: "SALE", basketValue: "100.00" } as const;
		const report = { ...sale, source: "postback", occurredAtMs: null, isTest: false } as const;
		const recorded = await store.transact((trx) =>
			recordConversion(trx, { store, clock, random, changes: CHANGES }, programme, report),
		);
		if (!recorded.ok) throw new Error(recorded.fault.code);
		return recorded.value.owed;
	};
	return {
		engine,
		store,
		clock,
		log,
		programme,
		world,
		posted,
		urls,
		/** Receivers of each read of the queue, in the order of the reads. */
		reads,
		/** Ids of the engine. It draws a new id each time that it registers. */
		ids,
		/** The engine's listener for notifications from other processes. */
		listener,
		record,
		/** Commits sales made by this process and announces them to the engine. */
		async sell(count = 1): Promise<void> {
			for (let sale = 0; sale < count; sale++) store.announceDue(await record());
			await settle();
		},
		/**
		 * Commits sales, and announces them as NOTIFY from another process does, without passing the deliveries themselves.
		 */
		async sellElsewhere(count = 1): Promise<void> {
			for (let sale = 0; sale < count; sale++) await record();
			listener.onOwed({ receiverIds: [programme.receiver_id], dueAtMs: clock.nowMs() });
			await clock.moveBy(10);
		},
		/** Makes the shop leave requests unanswered. */
		hold(): void {
			({ promise: held, resolve: letGo } = Promise.withResolvers<void>());
		},
		async letGo(): Promise<void> {
			letGo();
			await settle();
		},
		/** Returns the states of all deliveries in the order in which these were created. */
		async states() {
			const rows = await store.db.selectFrom("deliveries").select("state").orderBy("id").execute();
			return rows.map(({ state }) => state);
		},
		async attempts(): Promise<number> {
			return (await store.db.selectFrom("attempts").select("seq").execute()).length;
		},
		/** Returns whether the engine has its row, and which slots it owns. */
		async lease(): Promise<[hasRow: boolean, slots: number[]]> {
			const id = ids.at(-1) ?? 0;
			const row = await store.db.selectFrom("engines").select("id").where("id", "=", id).executeTakeFirst();
			const slots = await store.db.selectFrom("slots").select("slot").where("engine_id", "=", id).execute();
			return [row !== undefined, slots.map(({ slot }) => slot)];
		},
	};
}
