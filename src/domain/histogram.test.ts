import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { Histogram } from "./histogram.ts";

test("a value counts in the first range that it is not above, and in all that follow", () => {
	const histogram = new Histogram([0.1, 1, 5]);
	deepEqual(histogram.countsUpTo, [0, 0, 0, 0]);
	for (const value of [0, 0.1, 0.100001, 1, 5.5, 60]) histogram.observe(value);
	deepEqual(histogram.countsUpTo, [2, 4, 4, 6]);
	equal(histogram.sum, 66.700001);
});
