// How wide partitions are, and which are missing.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { DAY_MS } from "../domain/time.ts";
import { missingRanges, partitionWidthMs, type Range } from "./partition-plan.ts";

test("a retention has about thirteen partitions, none shorter than a day or longer than a quarter", () => {
	const widths = [7, 13, 14, 90, 180, 365, 1_170, 36_500].map((days) => partitionWidthMs(days) / DAY_MS);
	deepEqual(widths, [1, 1, 2, 7, 14, 29, 90, 90]);
});

describe("what is missing", () => {
	const cases: readonly [title: string, present: [number, number][], expected: [number, number][]][] = [
		[
			"with nothing there: whole widths around all of it",
			[],
			[
				[10, 20],
				[20, 30],
				[30, 40],
			],
		],
		[
			"with the first there: the others",
			[[10, 20]],
			[
				[20, 30],
				[30, 40],
			],
		],
		[
			"with all there: nothing",
			[
				[10, 20],
				[20, 30],
				[30, 40],
			],
			[],
		],
		[
			"between two that are there: the gap",
			[
				[10, 20],
				[30, 40],
			],
			[[20, 30]],
		],
		[
			"after one of another width: from where it ends",
			[[0, 17]],
			[
				[17, 20],
				[20, 30],
				[30, 40],
			],
		],
		[
			"before one of another width: up to where it begins",
			[[33, 50]],
			[
				[10, 20],
				[20, 30],
				[30, 33],
			],
		],
		[
			"long after the last: from a whole width on",
			[[-90, -80]],
			[
				[10, 20],
				[20, 30],
				[30, 40],
			],
		],
	];
	for (const [title, present, expected] of cases) {
		test(title, () => {
			const found = missingRanges(present.map(toRange), { fromMs: 15, toMs: 35 }, 10);
			deepEqual(found, expected.map(toRange));
		});
	}

	test("made again and again as time goes on, they never overlap and leave nothing out", () => {
		const made: Range[] = [];
		for (let nowMs = 0; nowMs < 1_000; nowMs += 7) {
			made.push(...missingRanges(made, { fromMs: nowMs, toMs: nowMs + 20 }, nowMs < 500 ? 10 : 13));
		}
		for (const [index, { fromMs }] of made.entries()) {
			if (index > 0) equal(fromMs, made[index - 1]?.toMs);
		}
	});
});

function toRange([fromMs, toMs]: readonly [number, number]) {
	return { fromMs, toMs };
}
