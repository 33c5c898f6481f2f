// Settling on both databases: what each end of a claim stores, and that a lapsed claim stores nothing.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { CLAIM_LAPSE_MS, type ClaimedDelivery, type Settlement } from "../../src/store/queue.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { claimDue, claimOne, readAll, settle } from "../support/queue-rows.ts";
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

const ENDINGS: Readonly<Record<string, (delivery: ClaimedDelivery) => Settlement>> = {
	delivered,
	failed,
	retry: (delivery) => retried(delivery, RETRY_AT_MS),
	released: (delivery) => ({ kind: "released", delivery, dueAtMs: START_MS + 1 }),
	cancelled: (delivery) => ({ kind: "cancelled", delivery, endedAtMs: START_MS + 1 }),
};

eachDatabase("settling", (database) => {
	test("a delivered one leaves the queue with its attempt on record", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const claimed = await claimOne(store, programme.id, START_MS);
		deepEqual(await settle(store, delivered(claimed)), new Set([id]));
		const { delivery, queued, attempts } = await readAll(store, id);
		equal(queued, null);
		deepEqual(
			[delivery.state, delivery.attempts, delivery.last_verdict, delivery.last_http_status],
			["delivered", 1, "delivered", 200],
		);
		deepEqual([delivery.last_attempt_at_ms, delivery.finished_at_ms], [START_MS + 10, START_MS + 50]);
		deepEqual(attempts, [
			{
				delivery_id: id,
				seq: 1,
				programme_id: programme.id,
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
			},
		]);
	});

	test("a failed one leaves the queue as failed", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		await settle(store, failed(await claimOne(store, programme.id, START_MS)));
		const { delivery, queued, attempts } = await readAll(store, id);
		deepEqual([delivery.state, delivery.last_verdict, delivery.last_http_status], ["failed", "refused", 404]);
		deepEqual([queued, attempts.length], [null, 1]);
	});

	test("a retry goes back with its new due time, counted, and is claimable then", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		await settle(store, retried(await claimOne(store, programme.id, START_MS), RETRY_AT_MS));
		const { delivery, queued, attempts } = await readAll(store, id);
		deepEqual([delivery.state, delivery.attempts, delivery.finished_at_ms], ["pending", 1, null]);
		deepEqual([delivery.last_verdict, delivery.last_http_status], ["retry", 503]);
		deepEqual([queued?.due_at_ms, queued?.claim, queued?.counted, queued?.seq], [RETRY_AT_MS, null, 1, 1]);
		equal(attempts.length, 1);
		deepEqual(await claimDue(store, programme.id, 1, RETRY_AT_MS - 1), []);
		const again = await claimOne(store, programme.id, RETRY_AT_MS);
		deepEqual([again.counted, again.seq], [1, 1]);
	});

	test("a released one is as it was before the claim, without an attempt", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const before = await readAll(store, id);
		const claimed = await claimOne(store, programme.id, START_MS + 9);
		await settle(store, { kind: "released", delivery: claimed, dueAtMs: START_MS });
		deepEqual(await readAll(store, id), before);
	});

	test("a cancelled one leaves the queue without an attempt", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const id = await addDelivery(store, programme);
		const claimed = await claimOne(store, programme.id, START_MS);
		await settle(store, { kind: "cancelled", delivery: claimed, endedAtMs: START_MS + 3 });
		const { delivery, queued, attempts } = await readAll(store, id);
		deepEqual(
			[delivery.state, delivery.finished_at_ms, queued, attempts],
			["cancelled", START_MS + 3, null, []],
		);
	});

	test("error text comes back as it was, whatever characters it has", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const detail = `{"quoted", \\back\\, 'single', NULL, ünï😀,\n\ttab}`;
		const details = [detail, null, "", "NULL", "{}"];
		const ids = await addDeliveries(store, programme, ...details.map(() => START_MS));
		const claimed = await claimDue(store, programme.id, 10, START_MS);
		await settle(
			store,
			...claimed.map((delivery): Settlement => {
				const attempt = {
					...ATTEMPT,
					result: "network-error" as const,
					detail: details[ids.indexOf(delivery.id)],
				};
				return { ...retried(delivery, RETRY_AT_MS), attempt } as Settlement;
			}),
		);
		for (const [n, id] of ids.entries()) equal((await readAll(store, id)).attempts[0]?.detail, details[n]);
	});

	test("one batch may end its claims in every way there is", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const endings = Object.values(ENDINGS);
		const ids = await addDeliveries(store, programme, ...endings.map(() => START_MS));
		const claimed = await claimDue(store, programme.id, 10, START_MS);
		const byId = new Map(claimed.map((delivery) => [delivery.id, delivery]));
		const settlements = ids.map((id, n) => endings[n]?.(byId.get(id) ?? missing()) ?? missing());
		deepEqual(await settle(store, ...settlements), new Set(ids));
		const states = await Promise.all(ids.map(async (id) => (await readAll(store, id)).delivery.state));
		deepEqual(states, ["delivered", "failed", "pending", "pending", "cancelled"]);
		deepEqual(await settle(store), new Set());
	});

	for (const [name, ending] of Object.entries(ENDINGS)) {
		test(`a result that comes after somebody else claimed the row changes nothing: ${name}`, async () => {
			const { store } = database;
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			const stale = await claimOne(store, programme.id, START_MS);
			const fresh = await claimOne(store, programme.id, START_MS + CLAIM_LAPSE_MS);
			const before = await readAll(store, id);
			deepEqual(await settle(store, ending(stale)), new Set());
			deepEqual(await readAll(store, id), before);
			deepEqual(await settle(store, delivered(fresh)), new Set([id]));
		});

		test(`a result that is stored a second time changes nothing: ${name}`, async () => {
			const { store } = database;
			const programme = await addProgramme(store);
			const id = await addDelivery(store, programme);
			const claimed = await claimOne(store, programme.id, START_MS);
			await settle(store, ending(claimed));
			const before = await readAll(store, id);
			for (const again of Object.values(ENDINGS)) deepEqual(await settle(store, again(claimed)), new Set());
			deepEqual(await readAll(store, id), before);
		});
	}

	test("in a batch the lapsed claims drop out and the others are stored", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const [lapsed = 0, good = 0] = await addDeliveries(store, programme, START_MS, START_MS + 1);
		const [first = missing(), second = missing()] = await claimDue(store, programme.id, 2, START_MS + 1);
		const before = await readAll(store, lapsed);
		const stale = { ...first, claim: first.claim + 1 };
		deepEqual(await settle(store, delivered(stale), retried(second, RETRY_AT_MS)), new Set([good]));
		deepEqual(await readAll(store, lapsed), before);
		equal((await readAll(store, good)).attempts.length, 1);
	});

	test("a result raced by the claim of another process is stored by one of them only", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		const ids = await addDeliveries(store, programme, ...Array.from({ length: 30 }, () => START_MS));
		const claimed = await claimDue(store, programme.id, 30, START_MS);
		const [settled, taken] = await Promise.all([
			settle(store, ...claimed.map(delivered)),
			claimDue(rival, programme.id, 30, START_MS + CLAIM_LAPSE_MS),
		]);
		const takenIds = new Set(taken.map(({ id }) => id));
		for (const id of ids) {
			equal(settled.has(id), !takenIds.has(id));
			const { delivery, queued } = await readAll(store, id);
			equal(delivery.state === "pending", queued !== null);
		}
	});
});

function missing(): never {
	throw new Error("a delivery that should have been claimed is missing");
}
