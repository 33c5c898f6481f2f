// Tests how results of attempts are stored on both databases: what each result stores, and that it is stored
// once.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import type { AttemptRecord, DueDelivery, Settlement } from "#core/store/queries/queue.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { readAll, settle, takeDue, takeOne } from "../support/queue-rows.ts";
import {
	ATTEMPT,
	addDeliveries,
	addDelivery,
	addProgramme,
	delivered,
	failed,
	retried,
} from "../support/rows.ts";

const RETRY_AT_MS = START_MS + 60_050;

const ENDINGS: Readonly<Record<string, (delivery: DueDelivery) => Settlement>> = {
	delivered,
	failed,
	retry: (delivery) => retried(delivery, RETRY_AT_MS),
	cancelled: (delivery) => ({ kind: "cancelled", delivery, endedAtMs: START_MS + 1 }),
};

eachDatabase("storing the results of attempts", (database) => {
	test("a delivered delivery leaves the queue, and its attempt is stored", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const taken = await takeOne(store, programme.receiver_id, START_MS);
		deepEqual(await settle(store, delivered(taken)), new Set([id]));
		const { delivery, queued, attempts } = await readAll(store, id);
		equal(queued, null);
		deepEqual([delivery.state, delivery.attempts, delivery.last_http_status], ["delivered", 1, 200]);
		// The attempt took 32.5 ms, and the two databases round a half in different directions.
		const { last_attempt_at_ms, finished_at_ms } = delivery;
		equal(last_attempt_at_ms, START_MS + 10);
		ok(finished_at_ms === START_MS + 42 || finished_at_ms === START_MS + 43, `${finished_at_ms}`);
		deepEqual(attempts, [
			{
				delivery_id: id,
				seq: 1,
				run: 1,
				result: "answered",
				http_status: 200,
				detail: null,
				started_at_ms: START_MS + 10,
				took_ms: 32.5,
				look_up_ms: 1.25,
				connect_ms: 2.5,
				tls_ms: null,
				answer_ms: 20,
				endpoint_id: 1,
				nonce: ATTEMPT.nonce,
				signature: ATTEMPT.signature,
				answer: null,
			},
		]);
	});

	test("a retry stays in the queue with its new due time and a counted attempt", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		await settle(store, retried(await takeOne(store, programme.receiver_id, START_MS), RETRY_AT_MS));
		const { delivery, queued, attempts } = await readAll(store, id);
		deepEqual([delivery.state, delivery.attempts, delivery.finished_at_ms], ["pending", 1, null]);
		equal(delivery.last_http_status, 503);
		deepEqual([queued?.due_at_ms, queued?.counted, queued?.seq], [RETRY_AT_MS, 1, 1]);
		equal(attempts.length, 1);
		deepEqual(await takeDue(store, programme.receiver_id, 1, RETRY_AT_MS - 1), []);
		const again = await takeOne(store, programme.receiver_id, RETRY_AT_MS);
		deepEqual([again.counted, again.seq], [1, 1]);
	});

	test("the shop's answer is stored with its attempt, and the last received status stays", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const settleWith = async (dueAtMs: number, change: Partial<AttemptRecord>) => {
			const taken = await takeOne(store, programme.receiver_id, dueAtMs);
			const attempt = { ...ATTEMPT, ...change };
			await settle(store, {
				kind: "retry",
				delivery: taken,
				dueAtMs: dueAtMs + 10,
				verdict: "retry",
				attempt,
				endedAtMs: dueAtMs,
			});
			return (await readAll(store, id)).delivery.last_http_status;
		};
		const timeout = { result: "timeout", httpStatus: null, detail: "TIMEOUT (exchange)" } as const;
		equal(await settleWith(START_MS, timeout), null);
		equal(await settleWith(START_MS + 10, { httpStatus: 503, answer: '{"body":"a"}' }), 503);
		equal(await settleWith(START_MS + 20, timeout), 503, "a timeout keeps the last received status");
		equal(await settleWith(START_MS + 30, { httpStatus: 502, answer: '{"body":"b"}' }), 502);
		const last = await takeOne(store, programme.receiver_id, START_MS + 40);
		await settle(store, { ...failed(last), attempt: { ...ATTEMPT, ...timeout } } as Settlement);
		const { delivery, attempts } = await readAll(store, id);
		deepEqual([delivery.state, delivery.last_http_status], ["failed", 502]);
		deepEqual(
			attempts.map(({ answer }) => answer),
			[null, '{"body":"a"}', null, '{"body":"b"}', null],
		);
	});

	test("error texts and answers are stored unchanged, with any characters", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const detail = `{"quoted", \\back\\, 'single', NULL, ünï😀,\n\ttab}`;
		const details = [detail, null, "", "NULL", "{}"];
		const ids = await addDeliveries(store, programme, ...details.map(() => START_MS));
		const taken = await takeDue(store, programme.receiver_id, 10, START_MS);
		await settle(
			store,
			...taken.map((delivery): Settlement => {
				const attempt = {
					...ATTEMPT,
					result: "network-error" as const,
					detail: details[ids.indexOf(delivery.id)],
					answer: details[ids.indexOf(delivery.id)],
				};
				return { ...retried(delivery, RETRY_AT_MS), attempt } as Settlement;
			}),
		);
		for (const [n, id] of ids.entries()) {
			const [attempt] = (await readAll(store, id)).attempts;
			deepEqual([attempt?.detail, attempt?.answer], [details[n], details[n]]);
		}
	});

	test("one batch may contain every kind of result", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const endings = Object.values(ENDINGS);
		const ids = await addDeliveries(store, programme, ...endings.map(() => START_MS));
		const taken = await takeDue(store, programme.receiver_id, 10, START_MS);
		const byId = new Map(taken.map((delivery) => [delivery.id, delivery]));
		const settlements = ids.map((id, n) => endings[n]?.(byId.get(id) ?? missing()) ?? missing());
		deepEqual(await settle(store, ...settlements), new Set(ids));
		const states = await Promise.all(ids.map(async (id) => (await readAll(store, id)).delivery.state));
		deepEqual(states, ["delivered", "failed", "pending", "cancelled"]);
		deepEqual(await settle(store), new Set());
	});

	for (const [name, ending] of Object.entries(ENDINGS)) {
		test(`a result that is stored a second time changes nothing: ${name}`, async () => {
			const { store } = database;
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			const taken = await takeOne(store, programme.receiver_id, START_MS);
			await settle(store, ending(taken));
			const before = await readAll(store, id);
			for (const again of Object.values(ENDINGS)) deepEqual(await settle(store, again(taken)), new Set());
			deepEqual(await readAll(store, id), before);
		});
	}

	test("results for rows that have changed since they were read are dropped, and the others of the batch are stored", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [moved = 0, good = 0] = await addDeliveries(store, programme, START_MS, START_MS + 1);
		const [first = missing(), second = missing()] = await takeDue(
			store,
			programme.receiver_id,
			2,
			START_MS + 1,
		);
		const before = await readAll(store, moved);
		const stale = { ...first, dueAtMs: first.dueAtMs - 1 };
		deepEqual(await settle(store, delivered(stale), retried(second, RETRY_AT_MS)), new Set([good]));
		deepEqual(await readAll(store, moved), before);
		equal((await readAll(store, good)).attempts.length, 1);
	});
});

function missing(): never {
	throw new Error("a delivery that should have been due is missing");
}
