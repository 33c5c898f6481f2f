// Moves come in the order of their numbers, but for those whose transaction took its number early and ended late.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import {
	dateGaps,
	dropEnded,
	type EventPosition,
	hasUndatedGaps,
	MAX_GAPS,
	passRow,
	stepBack,
	undateGaps,
} from "./event-position.ts";

const EVERYTHING = Number.POSITIVE_INFINITY;
const NOTHING_ENDED = 0;

function pass(position: EventPosition, ...ids: readonly number[]): EventPosition {
	return ids.reduce((at, id) => passRow(at, id, NOTHING_ENDED) ?? at, position);
}

function gapsOf({ gaps }: EventPosition): number[][] {
	return gaps.map(({ first, last }) => [first, last]);
}

function gapsAfter(...ids: readonly number[]): number[][] {
	return gapsOf(pass({ high: 0, gaps: [] }, ...ids));
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

test("a gap stays until every transaction that began before it was dated has ended", () => {
	const found = pass({ high: 1, gaps: [] }, 3);
	equal(hasUndatedGaps(found), true);
	deepEqual(dropEnded(found, EVERYTHING, 1_000), found, "undated: nobody knows who holds it");
	const dated = dateGaps(found, 50);
	equal(hasUndatedGaps(dated), false);
	deepEqual(dropEnded(dated, EVERYTHING, 49), dated);
	deepEqual(dropEnded(dated, EVERYTHING, 50), { high: 3, gaps: [] });
});

test("a gap keeps its date when a later one is dated, and both halves keep it when it is split", () => {
	const position = dateGaps(pass(dateGaps(pass({ high: 1, gaps: [] }, 5), 50), 3, 7), 60);
	deepEqual(
		position.gaps.map(({ first, heldBefore }) => [first, heldBefore]),
		[
			[2, 50],
			[4, 50],
			[6, 60],
		],
	);
});

test("a date of another database, moved here, is forgotten", () => {
	const dated = dateGaps(pass({ high: 1, gaps: [] }, 3), 50);
	deepEqual(undateGaps(dated, 50), dated);
	equal(hasUndatedGaps(undateGaps(dated, 49)), true);
});

test("of what ended only the part that was looked at is dropped", () => {
	const position = dateGaps(pass({ high: 1, gaps: [] }, 5, 9), 50);
	deepEqual(gapsOf(dropEnded(position, 6, 99)), [[7, 8]]);
	deepEqual(gapsOf(passRow(position, 7, 99) ?? position), [[8, 8]]);
	deepEqual(gapsOf(passRow(position, 3, 99) ?? position), [
		[4, 4],
		[6, 8],
	]);
});

test("a row amid numbers that were rolled back passes although there is no room to split", () => {
	const ids = Array.from({ length: MAX_GAPS }, (_, index) => 4 * (index + 1));
	const full = dateGaps(pass({ high: 0, gaps: [] }, ...ids), 50);
	equal(passRow(full, 2, 49), undefined);
	deepEqual(gapsOf(passRow(full, 2, 50) ?? full).slice(0, 2), [
		[3, 3],
		[5, 7],
	]);
});

test("without room for another gap nothing is passed over and none is split, but what is next or late is taken", () => {
	const ids = Array.from({ length: MAX_GAPS }, (_, index) => 4 * (index + 1));
	const full = pass({ high: 0, gaps: [] }, ...ids);
	equal(full.gaps.length, MAX_GAPS);
	equal(passRow(full, full.high + 2, NOTHING_ENDED), undefined);
	equal(passRow(full, 2, NOTHING_ENDED), undefined, "the middle of the first gap");
	equal(passRow(full, full.high + 1, NOTHING_ENDED)?.high, full.high + 1);
	equal(passRow(full, 1, NOTHING_ENDED)?.gaps.length, MAX_GAPS);
	equal(pass(full, 1, 2, 3).gaps.length, MAX_GAPS - 1);
});

test("a step back leaves the first gaps, and goes before the first that is left out", () => {
	const position = pass({ high: 0, gaps: [] }, 2, 4, 6, 7);
	deepEqual(stepBack(position, 3), position);
	const back = stepBack(position, 1);
	deepEqual([back.high, gapsOf(back)], [2, [[1, 1]]]);
	deepEqual(stepBack(position, 0), { high: 0, gaps: [] });
});
