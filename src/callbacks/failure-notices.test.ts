import { deepEqual, equal, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { START_MS } from "../../test/support/clock.ts";
import { addProgramme, delivered, dueDelivery, failed, retried } from "../../test/support/rows.ts";
import { openStore } from "../../test/support/test-database.ts";
import { MAIL_INTERVAL_MS } from "../domain/notice.ts";
import { createRandom } from "../outside/random.ts";
import { changeLastMailed } from "../store/notices.ts";
import type { Settlement } from "../store/queue.ts";
import type { Store } from "../store/store.ts";
import { noteFailures, type Told } from "./failure-notices.ts";

interface Setup {
	store: Store;
	programmeId: number;
	/** In a transaction of its own. */
	note(settlements: readonly Settlement[], failing?: readonly number[], nowMs?: number): Promise<Told>;
	/** Kind, failures, and when each was opened, ended and is to be mailed, as milliseconds after the start. */
	notices(): Promise<unknown[][]>;
}

async function setUp(t: TestContext): Promise<Setup> {
	const store = openStore("SQLite", ":memory:");
	t.after(() => store.close());
	await store.migrate(START_MS);
	const { id: programmeId } = await addProgramme(store);
	const sinceStart = (atMs: number | null) => (atMs === null ? null : atMs - START_MS);
	return {
		store,
		programmeId,
		note: (settlements, failing = [], nowMs = START_MS) =>
			store.transact((trx) => noteFailures(trx, createRandom(), settlements, new Set(failing), nowMs)),
		async notices() {
			const rows = await store.db.selectFrom("notices").selectAll().orderBy("id").execute();
			return rows.map((row) => [
				row.kind,
				row.failures,
				sinceStart(row.opened_at_ms),
				sinceStart(row.ended_at_ms),
				sinceStart(row.mail_due_at_ms),
			]);
		},
	};
}

const inHand = (programmeId: number) => dueDelivery({ programmeId });

test("the first final failure opens a notice to be mailed at once, with its cause", async (t) => {
	const { store, programmeId, note, notices } = await setUp(t);
	const delivery = inHand(programmeId);
	deepEqual(await note([failed(delivery)]), { failing: [programmeId], recovered: [] });
	deepEqual(await notices(), [["callbacks_failing", 1, 0, null, 0]]);
	const row = await store.db.selectFrom("notices").selectAll().executeTakeFirstOrThrow();
	deepEqual([row.last_delivery_id, row.last_verdict, row.last_http_status], [delivery.id, "refused", 404]);
});

test("failures that follow add to the open notice and plan no second mail", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	await note([failed(inHand(programmeId)), failed(inHand(programmeId))]);
	await note([failed(inHand(programmeId))], [programmeId], START_MS + 500);
	deepEqual(await notices(), [["callbacks_failing", 3, 0, null, 0]]);
});

test("a programme that was mailed lately is mailed again when fifteen minutes are over", async (t) => {
	const { store, programmeId, note, notices } = await setUp(t);
	await changeLastMailed(store.db, programmeId, null, START_MS - 60_000);
	await note([failed(inHand(programmeId))]);
	deepEqual(await notices(), [["callbacks_failing", 1, 0, null, MAIL_INTERVAL_MS - 60_000]]);
});

test("a success of a failing programme ends its notice and tells that callbacks work again", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	await note([failed(inHand(programmeId))]);
	deepEqual(await note([delivered(inHand(programmeId))], [programmeId], START_MS + 900), {
		failing: [],
		recovered: [programmeId],
	});
	deepEqual(await notices(), [
		["callbacks_failing", 1, 0, 900, 0],
		["callbacks_working_again", 0, 900, null, 900],
	]);
	await note([delivered(inHand(programmeId))], [programmeId], START_MS + 950);
	equal((await notices()).length, 2, "told once, also when the engine has not heard of it yet");
});

test("a programme that failed and succeeded within one batch is failing", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	await note([delivered(inHand(programmeId)), failed(inHand(programmeId)), delivered(inHand(programmeId))]);
	deepEqual(await notices(), [["callbacks_failing", 1, 0, null, 0]]);
});

test("programmes in one batch do not mix", async (t) => {
	const { store, programmeId, note, notices } = await setUp(t);
	const other = await addProgramme(store);
	await note([failed(inHand(programmeId)), delivered(inHand(other.id))], [other.id]);
	deepEqual(await notices(), [["callbacks_failing", 1, 0, null, 0]]);
});

test("retries, releases, cancellations and the successes of a healthy shop are no news", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	const told = await note([
		retried(inHand(programmeId), START_MS + 60_000),
		{ kind: "released", delivery: inHand(programmeId), dueAtMs: START_MS },
		{ kind: "cancelled", delivery: inHand(programmeId), endedAtMs: START_MS },
		delivered(inHand(programmeId)),
	]);
	deepEqual(told, { failing: [], recovered: [] });
	deepEqual(await notices(), []);
});

test("a notice is written with its result or not at all", async (t) => {
	const { store, programmeId, notices } = await setUp(t);
	const crash = store.transact(async (trx) => {
		await noteFailures(trx, createRandom(), [failed(inHand(programmeId))], new Set(), START_MS);
		throw new Error("the machine caught fire");
	});
	await rejects(crash, /caught fire/);
	deepEqual(await notices(), []);
});
