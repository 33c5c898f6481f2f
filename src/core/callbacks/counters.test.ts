import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { delivered, dueDelivery, failed, retried } from "../../../test/support/rows.ts";
import { countStored, newCounters } from "./counters.ts";

const NOW_MS = 1_000_000;

test("stored results are counted by verdict and final state, and a cancellation is not an attempt", () => {
	const counters = newCounters();
	const delivery = dueDelivery();
	const cancelled = { kind: "cancelled", delivery, endedAtMs: NOW_MS } as const;
	const settled = [delivered(delivery), delivered(delivery), failed(delivery), retried(delivery, NOW_MS)];
	countStored(counters, [...settled, cancelled]);
	deepEqual(counters.finished, { delivered: 2, failed: 1 });
	equal(counters.cancelled, 1);
	deepEqual(Object.fromEntries(counters.attemptsByVerdict), { delivered: 2, refused: 1, retry: 1 });
});
