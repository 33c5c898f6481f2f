// Randomness drawn in blocks: nothing is given out twice, and what was given out stays as it was.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "./random.ts";

/** Sixteen bytes each: several blocks' worth. */
const DRAWS = 5_000;

test("gives as many bytes as asked for, none and more than a block included", () => {
	const random = createRandom();
	for (const count of [0, 1, 16, 16_384, 16_385, 100_000]) {
		equal(random.bytes(count).length, count);
		equal(random.hex(count).length, 2 * count);
	}
});

test("nothing is given out twice, whichever way it is asked for", () => {
	const random = createRandom();
	const seen = new Set<string>();
	for (let draw = 0; draw < DRAWS; draw++) {
		seen.add(random.hex(16));
		seen.add(Buffer.from(random.bytes(16)).toString("hex"));
	}
	equal(seen.size, 2 * DRAWS);
});

test("what was given out is the caller's: later draws do not change it", () => {
	const random = createRandom();
	const kept = random.bytes(16);
	const copy = [...kept];
	for (let draw = 0; draw < DRAWS; draw++) random.hex(16);
	deepEqual([...kept], copy);
});
