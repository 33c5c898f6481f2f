import { deepEqual, equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { KyselyPlugin } from "kysely";
import { START_MS } from "../../test/support/clock.ts";
import {
	addDeliveries,
	addProgramme,
	delivered,
	dueDelivery,
	failed,
	retried,
	SUBJECT,
} from "../../test/support/rows.ts";
import { openStore } from "../../test/support/test-database.ts";
import { failDeliveries } from "../../test/support/undelivered.ts";
import { composeEvent } from "../domain/event.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { createRandom } from "../outside/random.ts";
import { claimNoticeMail } from "../store/queries/notices.ts";
import type { Settlement } from "../store/queries/queue.ts";
import type { Store } from "../store/store.ts";
import { type Noted, noteFailures } from "./failure-notices.ts";

interface Setup {
	store: Store;
	programmeId: number;
	/** Calls noteFailures in a transaction. */
	note(settlements: readonly Settlement[], failing?: readonly number[], nowMs?: number): Promise<Noted>;
	/**
	 * Returns for each notice its kind, failed attempts and final failures, and when it was opened, published, ended and is
	 * to be mailed, in milliseconds after the start.
	 */
	notices(): Promise<unknown[][]>;
	/** Returns how many statements the last `note` made. */
	statements(): number;
}

async function setUp(t: TestContext): Promise<Setup> {
	const store = openStore("SQLite", ":memory:");
	t.after(() => store.close());
	await store.migrate(START_MS);
	const { id: programmeId } = await addProgramme(store);
	const sinceStart = (atMs: number | null) => (atMs === null ? null : atMs - START_MS);
	let statements = 0;
	const counter: KyselyPlugin = {
		transformQuery({ node }) {
			statements++;
			return node;
		},
		transformResult: async ({ result }) => result,
	};
	return {
		store,
		programmeId,
		note: (settlements, failing = [], nowMs = START_MS) =>
			store.transact((trx) => {
				statements = 0;
				return noteFailures(trx.withPlugin(counter), createRandom(), settlements, new Set(failing), nowMs);
			}),
		async notices() {
			const rows = await store.db.selectFrom("notices").selectAll().orderBy("id").execute();
			return rows.map((row) => [
				row.kind,
				row.failed_attempts,
				row.failures,
				sinceStart(row.opened_at_ms),
				sinceStart(row.told_at_ms),
				sinceStart(row.ended_at_ms),
				sinceStart(row.mail_due_at_ms),
			]);
		},
		statements: () => statements,
	};
}

const deliveryOf = (programmeId: number) => dueDelivery({ programmeId });

function retries(programmeId: number, count: number, endedAtMs = START_MS): Settlement[] {
	return Array.from({ length: count }, () => ({
		...retried(deliveryOf(programmeId), endedAtMs + MINUTE_MS),
		endedAtMs,
	}));
}

test("the first failed attempt opens a notice that is only watched, with its cause", async (t) => {
	const { store, programmeId, note, notices } = await setUp(t);
	const delivery = deliveryOf(programmeId);
	const lost = { ...retried(delivery, START_MS + MINUTE_MS), endedAtMs: START_MS - 30 };
	deepEqual(await note([lost]), { failing: [programmeId], recovered: [], hasNews: false });
	deepEqual(await notices(), [["callbacks_failing", 1, 0, -30, null, null, null]]);
	const row = await store.db.selectFrom("notices").selectAll().executeTakeFirstOrThrow();
	deepEqual(
		[row.last_failed_at_ms, row.last_delivery_id, row.last_result, row.last_verdict, row.last_http_status],
		[START_MS - 30, delivery.id, "answered", "retry", 503],
	);
});

test("a success ends a watched notice without publishing anything", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	await note(retries(programmeId, 4));
	deepEqual(await note([delivered(deliveryOf(programmeId))], [programmeId], START_MS + 900), {
		failing: [],
		recovered: [programmeId],
		hasNews: false,
	});
	deepEqual(await notices(), []);
});

test("the fifth failed attempt in a row publishes the notice, and later ones plan no second mail", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	await note(retries(programmeId, 2));
	await note(retries(programmeId, 2), [programmeId], START_MS + 10);
	deepEqual(await notices(), [["callbacks_failing", 4, 0, 0, null, null, null]]);
	equal((await note(retries(programmeId, 1), [programmeId], START_MS + 20)).hasNews, true);
	deepEqual(await notices(), [["callbacks_failing", 5, 0, 0, 20, null, 20]]);
	equal((await note(retries(programmeId, 9), [programmeId], START_MS + 30)).hasNews, false);
	deepEqual(await notices(), [["callbacks_failing", 14, 0, 0, 20, null, 20]]);
});

test("only failures in a row count, and a success between them restarts the count, even within one pass", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	const [fails, works] = [() => retries(programmeId, 4), () => [delivered(deliveryOf(programmeId))]];
	await note([...fails(), ...works(), ...fails()]);
	deepEqual(await notices(), [["callbacks_failing", 4, 0, 0, null, null, null]]);
	await note([...works(), ...fails()], [programmeId], START_MS + 5);
	deepEqual(await notices(), [["callbacks_failing", 4, 0, 0, null, null, null]]);
	deepEqual(await note([...fails(), ...works()], [programmeId]), {
		failing: [],
		recovered: [programmeId],
		hasNews: false,
	});
	deepEqual(await notices(), []);
});

test("a final failure stays the cause while later attempts are retried, until the next final failure", async (t) => {
	const { store, programmeId, note } = await setUp(t);
	const cause = async () => {
		const row = await store.db.selectFrom("notices").selectAll().executeTakeFirstOrThrow();
		return [row.last_delivery_id, row.last_verdict, row.last_failed_at_ms, row.failed_attempts];
	};
	const [first, second] = [deliveryOf(programmeId), deliveryOf(programmeId)];
	await note(retries(programmeId, 1));
	const lost = failed(first);
	await note([lost, ...retries(programmeId, 1, START_MS + 70)], [programmeId]);
	deepEqual(await cause(), [first.id, "refused", lost.endedAtMs, 3]);
	await note(retries(programmeId, 2, START_MS + 80), [programmeId]);
	deepEqual(await cause(), [first.id, "refused", lost.endedAtMs, 5]);
	const others = [
		failed(deliveryOf(programmeId)),
		failed(deliveryOf(programmeId)),
		...retries(programmeId, 1),
	];
	await note([...others, failed(second)], [programmeId]);
	deepEqual(await cause(), [second.id, "refused", lost.endedAtMs, 9]);
});

test("a final failure publishes the notice at once, however few attempts there were", async (t) => {
	const { store, programmeId, note, notices } = await setUp(t);
	const delivery = deliveryOf(programmeId);
	deepEqual(await note([failed(delivery)]), { failing: [programmeId], recovered: [], hasNews: true });
	deepEqual(await notices(), [["callbacks_failing", 1, 1, 50, 0, null, 0]]);
	const row = await store.db.selectFrom("notices").selectAll().executeTakeFirstOrThrow();
	deepEqual([row.last_delivery_id, row.last_verdict, row.last_http_status], [delivery.id, "refused", 404]);
});

test("five failures in a row publish nothing within fifteen minutes after a mail, so that a flapping shop causes no flood", async (t) => {
	const { store, programmeId, note, notices } = await setUp(t);
	await claimNoticeMail(store.db, programmeId, 0, START_MS - MINUTE_MS);
	equal((await note(retries(programmeId, 50))).hasNews, false);
	deepEqual(await notices(), [["callbacks_failing", 50, 0, 0, null, null, null]]);
	equal(
		(await note([failed(deliveryOf(programmeId))], [programmeId])).hasNews,
		true,
		"but a final failure is told",
	);
});

test("a success ends a published notice and publishes that callbacks work again", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	await note([failed(deliveryOf(programmeId))]);
	deepEqual(await note([delivered(deliveryOf(programmeId))], [programmeId], START_MS + 900), {
		failing: [],
		recovered: [programmeId],
		hasNews: true,
	});
	const published = [
		["callbacks_failing", 1, 1, 50, 0, 900, 0],
		["callbacks_working_again", 0, 0, 900, 900, null, 900],
	];
	deepEqual(await notices(), published);
	await note([delivered(deliveryOf(programmeId))], [programmeId], START_MS + 950);
	deepEqual(await notices(), published, "published once, even if the engine does not know of it yet");
});

test("a shop with a final failure and a success within one pass counts as failing", async (t) => {
	const { programmeId, note, notices } = await setUp(t);
	await note([
		delivered(deliveryOf(programmeId)),
		failed(deliveryOf(programmeId)),
		delivered(deliveryOf(programmeId)),
	]);
	deepEqual(await notices(), [["callbacks_failing", 1, 1, 50, 0, null, 0]]);
	await note([delivered(deliveryOf(programmeId)), failed(deliveryOf(programmeId))], [programmeId]);
	deepEqual(
		await notices(),
		[["callbacks_failing", 2, 2, 50, 0, null, 0]],
		"and has one notice, not two a pass",
	);
});

test("results of different programmes in one pass are counted separately", async (t) => {
	const { store, programmeId, note, notices } = await setUp(t);
	const other = await addProgramme(store);
	await note(
		[failed(deliveryOf(programmeId)), ...retries(other.id, 3), delivered(deliveryOf(other.id))],
		[other.id],
	);
	deepEqual(await notices(), [["callbacks_failing", 1, 1, 50, 0, null, 0]]);
});

test("cancellations and successes of a healthy shop publish nothing, and cost no statement", async (t) => {
	const { programmeId, note, notices, statements } = await setUp(t);
	const noted = await note([
		{ kind: "cancelled", delivery: deliveryOf(programmeId), endedAtMs: START_MS },
		delivered(deliveryOf(programmeId)),
	]);
	deepEqual(noted, { failing: [], recovered: [], hasNews: false });
	deepEqual(await notices(), []);
	equal(statements(), 0);
});

test("a pass takes as many statements for six hundred failing shops as for two", async (t) => {
	const { store, note, statements } = await setUp(t);
	const ids: number[] = [];
	for (let added = 0; added < 600; added++) ids.push((await addProgramme(store)).id);
	const cost = async (programmeIds: readonly number[], results: (id: number) => Settlement[]) => {
		await note(programmeIds.flatMap(results), ids);
		return statements();
	};
	const few = ids.slice(0, 2);
	equal(await cost(few, (id) => retries(id, 1)), 1);
	ok((await cost(ids, (id) => retries(id, 1))) <= 2, "in two parts");
	const [toFew, toAll] = [await cost(few, (id) => retries(id, 9)), await cost(ids, (id) => retries(id, 9))];
	ok(toFew <= 3 && toAll <= 4, `${toFew} and ${toAll}`);
	const works = (id: number) => [delivered(deliveryOf(id))];
	const [endFew, endAll] = [await cost(few, works), await cost(ids, works)];
	ok(endFew <= 4 && endAll <= 4, `${endFew} and ${endAll}`);
});

test("failed callbacks of a test conversion cause no notice and are set aside, and a successful one ends a notice", async (t) => {
	const { store, programmeId, note, notices } = await setUp(t);
	const dueAtMs = Array<number>(3).fill(START_MS);
	const [id = 0, real = 0, resent = 0] = await addDeliveries(store, await programmeOf(store), ...dueAtMs);
	await failDeliveries(store.db, START_MS, [id, real]);
	const compose = (test: boolean) =>
		composeEvent("conversion.approved", { ...SUBJECT, orderId: "\ntrue\n", test });
	const eventBody = compose(true);
	const ofTest = dueDelivery({ programmeId, id, eventBody });
	const { failing, hasNews } = await note([failed(ofTest), ...Array(6).fill(retried(ofTest, START_MS + 1))]);
	deepEqual([failing, hasNews, await notices()], [[], false, []]);
	await note([failed(dueDelivery({ programmeId, id: resent, eventBody }))]);
	await note([failed(dueDelivery({ programmeId, id: real, eventBody: compose(false) }))]);
	equal((await notices()).length, 1);
	const rows = await store.db.selectFrom("deliveries").select(["id", "set_aside"]).orderBy("id").execute();
	deepEqual(
		rows.map((row) => [row.id, row.set_aside]),
		[
			[id, 1],
			[real, null],
			[resent, null],
		],
	);
	deepEqual((await note([delivered(ofTest)], [programmeId])).recovered, [programmeId]);
});

async function programmeOf(store: Store) {
	return store.db.selectFrom("programmes").selectAll().executeTakeFirstOrThrow();
}
