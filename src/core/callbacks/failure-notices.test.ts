import { deepEqual, equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { KyselyPlugin } from "kysely";
import { START_MS } from "../../../test/support/clock.ts";
import { raiseReceiverIds } from "../../../test/support/receiver-ids.ts";
import {
	addDeliveries,
	addProgramme,
	delivered,
	dueDelivery,
	failed,
	retried,
	SUBJECT,
} from "../../../test/support/rows.ts";
import { openStore } from "../../../test/support/test-database.ts";
import { failDeliveries } from "../../../test/support/undelivered.ts";
import { createRandom } from "../../outside/random.ts";
import { composeEvent } from "../domain/event.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { claimNoticeMail } from "../store/queries/notices.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Settlement } from "../store/queries/queue.ts";
import type { Store } from "../store/store.ts";
import { type Noted, noteFailures } from "./failure-notices.ts";

interface Setup {
	store: Store;
	programme: Programme;
	receiverId: ReceiverId;
	note(settlements: readonly Settlement[], failing?: readonly ReceiverId[], nowMs?: number): Promise<Noted>;
	/**
	 * Returns, for each notice, its kind, failed attempts, final failures, and the times at which it was opened,
	 * published and ended and is to be mailed. Times count in milliseconds from the start of the test.
	 */
	notices(): Promise<unknown[][]>;
	/** Returns how many SQL statements the last `note` ran. */
	statements(): number;
}

async function setUp(t: TestContext): Promise<Setup> {
	const store = openStore("SQLite", ":memory:");
	t.after(() => store.close());
	await store.migrate(START_MS);
	await raiseReceiverIds(store);
	const programme = await addProgramme(store);
	const { receiver_id: receiverId } = programme;
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
		programme,
		receiverId,
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

const deliveryOf = (receiverId: ReceiverId) => dueDelivery({ receiverId });

function retries(receiverId: ReceiverId, count: number, endedAtMs = START_MS): Settlement[] {
	return Array.from({ length: count }, () => ({
		...retried(deliveryOf(receiverId), endedAtMs + MINUTE_MS),
		endedAtMs,
	}));
}

test("the first failed attempt opens a notice that is only watched, with its cause", async (t) => {
	const { store, receiverId, note, notices } = await setUp(t);
	const delivery = deliveryOf(receiverId);
	const lost = { ...retried(delivery, START_MS + MINUTE_MS), endedAtMs: START_MS - 30 };
	deepEqual(await note([lost]), { failing: [receiverId], recovered: [], hasNews: false });
	deepEqual(await notices(), [["callbacks_failing", 1, 0, -30, null, null, null]]);
	const row = await store.db.selectFrom("notices").selectAll().executeTakeFirstOrThrow();
	deepEqual(
		[row.last_failed_at_ms, row.last_delivery_id, row.last_result, row.last_verdict, row.last_http_status],
		[START_MS - 30, delivery.id, "answered", "retry", 503],
	);
});

test("a success ends a watched notice without publishing anything", async (t) => {
	const { receiverId, note, notices } = await setUp(t);
	await note(retries(receiverId, 4));
	deepEqual(await note([delivered(deliveryOf(receiverId))], [receiverId], START_MS + 900), {
		failing: [],
		recovered: [receiverId],
		hasNews: false,
	});
	deepEqual(await notices(), []);
});

test("the fifth failed attempt in a row publishes the notice, and later ones plan no second mail", async (t) => {
	const { receiverId, note, notices } = await setUp(t);
	await note(retries(receiverId, 2));
	await note(retries(receiverId, 2), [receiverId], START_MS + 10);
	deepEqual(await notices(), [["callbacks_failing", 4, 0, 0, null, null, null]]);
	equal((await note(retries(receiverId, 1), [receiverId], START_MS + 20)).hasNews, true);
	deepEqual(await notices(), [["callbacks_failing", 5, 0, 0, 20, null, 20]]);
	equal((await note(retries(receiverId, 9), [receiverId], START_MS + 30)).hasNews, false);
	deepEqual(await notices(), [["callbacks_failing", 14, 0, 0, 20, null, 20]]);
});

test("only failures in a row count, and a success between them restarts the count, even within one pass", async (t) => {
	const { receiverId, note, notices } = await setUp(t);
	const [fails, works] = [() => retries(receiverId, 4), () => [delivered(deliveryOf(receiverId))]];
	await note([...fails(), ...works(), ...fails()]);
	deepEqual(await notices(), [["callbacks_failing", 4, 0, 0, null, null, null]]);
	await note([...works(), ...fails()], [receiverId], START_MS + 5);
	deepEqual(await notices(), [["callbacks_failing", 4, 0, 0, null, null, null]]);
	deepEqual(await note([...fails(), ...works()], [receiverId]), {
		failing: [],
		recovered: [receiverId],
		hasNews: false,
	});
	deepEqual(await notices(), []);
});

test("a final failure stays the cause while later attempts are retried, until the next final failure", async (t) => {
	const { store, receiverId, note } = await setUp(t);
	const cause = async () => {
		const row = await store.db.selectFrom("notices").selectAll().executeTakeFirstOrThrow();
		return [row.last_delivery_id, row.last_verdict, row.last_failed_at_ms, row.failed_attempts];
	};
	const [first, second] = [deliveryOf(receiverId), deliveryOf(receiverId)];
	await note(retries(receiverId, 1));
	const lost = failed(first);
	await note([lost, ...retries(receiverId, 1, START_MS + 70)], [receiverId]);
	deepEqual(await cause(), [first.id, "refused", lost.endedAtMs, 3]);
	await note(retries(receiverId, 2, START_MS + 80), [receiverId]);
	deepEqual(await cause(), [first.id, "refused", lost.endedAtMs, 5]);
	const others = [failed(deliveryOf(receiverId)), failed(deliveryOf(receiverId)), ...retries(receiverId, 1)];
	await note([...others, failed(second)], [receiverId]);
	deepEqual(await cause(), [second.id, "refused", lost.endedAtMs, 9]);
});

test("a final failure publishes the notice at once, however few attempts there were", async (t) => {
	const { store, receiverId, note, notices } = await setUp(t);
	const delivery = deliveryOf(receiverId);
	deepEqual(await note([failed(delivery)]), { failing: [receiverId], recovered: [], hasNews: true });
	deepEqual(await notices(), [["callbacks_failing", 1, 1, 50, 0, null, 0]]);
	const row = await store.db.selectFrom("notices").selectAll().executeTakeFirstOrThrow();
	deepEqual([row.last_delivery_id, row.last_verdict, row.last_http_status], [delivery.id, "refused", 404]);
});

test("five failures in a row publish nothing within fifteen minutes after a mail, so that a flapping shop causes no flood", async (t) => {
	const { store, receiverId, note, notices } = await setUp(t);
	await claimNoticeMail(store.db, receiverId, 0, START_MS - MINUTE_MS);
	equal((await note(retries(receiverId, 50))).hasNews, false);
	deepEqual(await notices(), [["callbacks_failing", 50, 0, 0, null, null, null]]);
	equal(
		(await note([failed(deliveryOf(receiverId))], [receiverId])).hasNews,
		true,
		"but a final failure is told",
	);
});

test("a success ends a published notice and publishes that callbacks work again", async (t) => {
	const { receiverId, note, notices } = await setUp(t);
	await note([failed(deliveryOf(receiverId))]);
	deepEqual(await note([delivered(deliveryOf(receiverId))], [receiverId], START_MS + 900), {
		failing: [],
		recovered: [receiverId],
		hasNews: true,
	});
	const published = [
		["callbacks_failing", 1, 1, 50, 0, 900, 0],
		["callbacks_working_again", 0, 0, 900, 900, null, 900],
	];
	deepEqual(await notices(), published);
	await note([delivered(deliveryOf(receiverId))], [receiverId], START_MS + 950);
	deepEqual(await notices(), published, "published once, even if the engine does not know of it yet");
});

test("a shop with a final failure and a success within one pass counts as failing", async (t) => {
	const { receiverId, note, notices } = await setUp(t);
	await note([
		delivered(deliveryOf(receiverId)),
		failed(deliveryOf(receiverId)),
		delivered(deliveryOf(receiverId)),
	]);
	deepEqual(await notices(), [["callbacks_failing", 1, 1, 50, 0, null, 0]]);
	await note([delivered(deliveryOf(receiverId)), failed(deliveryOf(receiverId))], [receiverId]);
	deepEqual(
		await notices(),
		[["callbacks_failing", 2, 2, 50, 0, null, 0]],
		"and has one notice, not two a pass",
	);
});

test("results of different receivers in one pass are counted separately", async (t) => {
	const { store, receiverId, note, notices } = await setUp(t);
	const other = await addProgramme(store);
	await note(
		[
			failed(deliveryOf(receiverId)),
			...retries(other.receiver_id, 3),
			delivered(deliveryOf(other.receiver_id)),
		],
		[other.receiver_id],
	);
	deepEqual(await notices(), [["callbacks_failing", 1, 1, 50, 0, null, 0]]);
});

test("cancellations and successes of a healthy shop publish nothing, and cost no statement", async (t) => {
	const { receiverId, note, notices, statements } = await setUp(t);
	const noted = await note([
		{ kind: "cancelled", delivery: deliveryOf(receiverId), endedAtMs: START_MS },
		delivered(deliveryOf(receiverId)),
	]);
	deepEqual(noted, { failing: [], recovered: [], hasNews: false });
	deepEqual(await notices(), []);
	equal(statements(), 0);
});

test("a pass takes as many statements for six hundred failing shops as for two", async (t) => {
	const { store, note, statements } = await setUp(t);
	const ids: ReceiverId[] = [];
	for (let added = 0; added < 600; added++) ids.push((await addProgramme(store)).receiver_id);
	const cost = async (receiverIds: readonly ReceiverId[], results: (id: ReceiverId) => Settlement[]) => {
		await note(receiverIds.flatMap(results), ids);
		return statements();
	};
	const few = ids.slice(0, 2);
	equal(await cost(few, (id) => retries(id, 1)), 1);
	ok((await cost(ids, (id) => retries(id, 1))) <= 2, "in two parts");
	const [toFew, toAll] = [await cost(few, (id) => retries(id, 9)), await cost(ids, (id) => retries(id, 9))];
	ok(toFew <= 3 && toAll <= 4, `${toFew} and ${toAll}`);
	const works = (id: ReceiverId) => [delivered(deliveryOf(id))];
	const [endFew, endAll] = [await cost(few, works), await cost(ids, works)];
	ok(endFew <= 4 && endAll <= 4, `${endFew} and ${endAll}`);
});

test("failed callbacks of a test conversion cause no notice and are set aside, and a successful one ends a notice", async (t) => {
	const { store, programme, receiverId, note, notices } = await setUp(t);
	const dueAtMs = Array<number>(3).fill(START_MS);
	const [id = 0, real = 0, resent = 0] = await addDeliveries(store, programme, ...dueAtMs);
	await failDeliveries(store.db, START_MS, [id, real]);
	const compose = (test: boolean) => composeEvent({ ...SUBJECT, orderId: "test", test });
	const eventBody = compose(true);
	const ofTest = dueDelivery({ receiverId, id, eventBody });
	const { failing, hasNews } = await note([failed(ofTest), ...Array(6).fill(retried(ofTest, START_MS + 1))]);
	deepEqual([failing, hasNews, await notices()], [[], false, []]);
	await note([failed(dueDelivery({ receiverId, id: resent, eventBody }))]);
	await note([failed(dueDelivery({ receiverId, id: real, eventBody: compose(false) }))]);
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
	deepEqual((await note([delivered(ofTest)], [receiverId])).recovered, [receiverId]);
});
