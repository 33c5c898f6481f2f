import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import { nextMailAtMs } from "./tell.ts";

const mail = {
	...{ created_at_ms: 1_000, due_at_ms: null, given_up_at_ms: null, tries: 1 },
	...{ subject: "", to_address: "", refusal: null },
};

test("one mailbox that takes its mail late does not delay the next mail of the others", () => {
	const last = [
		{ ...mail, sent_at_ms: 2_000 },
		{ ...mail, sent_at_ms: 2_000 + 5 * MINUTE_MS * 60 },
	];
	assert.equal(nextMailAtMs(last, DAY_MS, 10_000), 2_000 + DAY_MS);
});

test("the interval counts from the writing of a mail that nobody got, and the first mail has no interval", () => {
	assert.equal(nextMailAtMs([{ ...mail, sent_at_ms: null }], DAY_MS, 10_000), 1_000 + DAY_MS);
	assert.equal(nextMailAtMs([], DAY_MS, 10_000), Number.NEGATIVE_INFINITY);
});

test("a mail that was never tried makes the next one wait for a minute", () => {
	const waiting = [{ ...mail, sent_at_ms: null, due_at_ms: 1_000, tries: 0 }];
	assert.equal(nextMailAtMs(waiting, DAY_MS, 10_000), 10_000 + MINUTE_MS);
});
