// Tests random bytes that are drawn in blocks. No bytes are returned twice, and returned bytes do not change.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "./random.ts";

/** Number of draws of sixteen bytes, enough for several blocks. */
const DRAWS = 5_000;

test("returns as many bytes as asked for, including none and more than a block", () => {
	const random = createRandom();
	for (const count of [0, 1, 16, 16_384, 16_385, 100_000]) {
		equal(random.bytes(count).length, count);
		equal(random.hex(count).length, 2 * count);
	}
});

test("no bytes are returned twice, by either method", () => {
	const random = createRandom();
	const seen = new Set<string>();
	for (let draw = 0; draw < DRAWS; draw++) {
		seen.add(random.hex(16));
		seen.add(Buffer.from(random.bytes(16)).toString("hex"));
	}
	equal(seen.size, 2 * DRAWS);
});

test("later draws do not change bytes that were returned", () => {
	const random = createRandom();
	const kept = random.bytes(16);
	const copy = [...kept];
	for (let draw = 0; draw < DRAWS; draw++) random.hex(16);
	deepEqual([...kept], copy);
});
