import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { dueDelivery } from "../../../test/support/rows.ts";
import type { Settlement } from "../store/queries/queue.ts";
import { WaitingResults } from "./waiting-results.ts";

const result = (): Settlement => ({ kind: "cancelled", delivery: dueDelivery(), endedAtMs: 0 });

test("the oldest result is to be stored 100 ms after it came, whatever comes after it", () => {
	const results = new WaitingResults();
	equal(results.storeAtMs, Number.POSITIVE_INFINITY);
	results.add(result(), 1_000);
	results.add(result(), 1_050);
	deepEqual([results.count, results.storeAtMs], [2, 1_100]);
	equal(results.takeAll().length, 2);
	deepEqual([results.count, results.storeAtMs], [0, Number.POSITIVE_INFINITY]);
});

test("the results of a failed pass come before those that arrived during it", () => {
	const results = new WaitingResults();
	const [first, second] = [result(), result()];
	results.add(first, 1_000);
	const failed = results.takeAll();
	results.add(second, 1_200);
	results.putBack(failed);
	equal(results.storeAtMs, 1_300);
	deepEqual(results.takeAll(), [first, second]);
});

test("32 results are worth a pass, and with many deliveries half of them, up to 2,048", () => {
	const results = new WaitingResults();
	const worth = [0, 1, 64, 66, 100, 8_192].map((waitingOrInFlight) => {
		results.adaptTo(waitingOrInFlight);
		return results.storeAtCount;
	});
	deepEqual(worth, [32, 32, 32, 33, 50, 2_048]);
});
