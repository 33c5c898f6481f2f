// Moves come in the order of their numbers, but for those whose transaction took its number early and ended late.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import {
	dropLapsedGaps,
	type EventPosition,
	GAP_LAPSES_AFTER_MS,
	MAX_GAPS,
	passRow,
} from "./event-position.ts";

const NOW_MS = 1_000_000;

function pass(position: EventPosition, ...ids: readonly number[]): EventPosition {
	return ids.reduce((at, id) => passRow(at, id, NOW_MS, NOW_MS) ?? at, position);
}

function gapsAfter(...ids: readonly number[]): number[][] {
	return pass({ high: 0, gaps: [] }, ...ids).gaps.map(({ first, last }) => [first, last]);
}

test("numbers in order leave no gap", () => {
	deepEqual(pass({ high: 4, gaps: [] }, 5, 6, 7), { high: 7, gaps: [] });
});

test("what was passed over is a gap, and what comes late closes it or a part of it", () => {
	deepEqual(gapsAfter(1, 5), [[2, 4]]);
	deepEqual(gapsAfter(1, 5, 9), [
		[2, 4],
		[6, 8],
	]);
	deepEqual(gapsAfter(1, 5, 3), [
		[2, 2],
		[4, 4],
	]);
	deepEqual(gapsAfter(1, 5, 2, 4), [[3, 3]]);
	deepEqual(gapsAfter(1, 5, 2, 3, 4), []);
});

test("a gap is as old as the row behind it, and not younger than now", () => {
	const [old] = passRow({ high: 1, gaps: [] }, 3, NOW_MS - 5, NOW_MS)?.gaps ?? [];
	equal(old?.beforeMs, NOW_MS - 5);
	const [ahead] = passRow({ high: 1, gaps: [] }, 3, NOW_MS + 5_000, NOW_MS)?.gaps ?? [];
	equal(ahead?.beforeMs, NOW_MS);
});

test("a gap lapses once its transaction must have ended", () => {
	const position = pass({ high: 1, gaps: [] }, 3);
	equal(dropLapsedGaps(position, NOW_MS + GAP_LAPSES_AFTER_MS - 1), position);
	deepEqual(dropLapsedGaps(position, NOW_MS + GAP_LAPSES_AFTER_MS), { high: 3, gaps: [] });
});

test("without room for another gap nothing is passed over, but what is next or late is taken", () => {
	const ids = Array.from({ length: MAX_GAPS }, (_, index) => 2 * (index + 1));
	const full = pass({ high: 0, gaps: [] }, ...ids);
	equal(full.gaps.length, MAX_GAPS);
	equal(passRow(full, full.high + 2, NOW_MS, NOW_MS), undefined);
	equal(passRow(full, full.high + 1, NOW_MS, NOW_MS)?.high, full.high + 1);
	equal(passRow(full, 1, NOW_MS, NOW_MS)?.gaps.length, MAX_GAPS - 1);
});
