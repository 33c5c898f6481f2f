import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { CURSOR_IV_BYTES, deriveCursorKey, readCursor, writeCursor } from "./event-cursor.ts";
import { type EventPosition, MAX_GAPS, newGap } from "./event-position.ts";

const KEY = deriveCursorKey(new Uint8Array(32).fill(7));
const POSITION = {
	high: 1_234,
	gaps: [
		{ first: 1_200, last: 1_203, heldBefore: 98_765 },
		{ first: 1_210, last: 1_210, heldBefore: null },
		{ first: 1_230, last: 1_230, heldBefore: 98_777 },
	],
};
const HUGE = Number.MAX_SAFE_INTEGER;

test("a cursor is read back as the position it was written for, with and without gaps", () => {
	for (const position of [POSITION, { high: 0, gaps: [] }, { high: HUGE, gaps: [newGap(1, HUGE - 1)] }]) {
		deepEqual(readCursor(KEY, 5, write(5, position)), position);
	}
});

test("two cursors of one place differ, so that a changed one tells nobody that another shop has sold", () => {
	const cursors = Array.from({ length: 100 }, () => write(5, POSITION));
	equal(new Set(cursors).size, cursors.length);
});

test("every cursor is as long as every other, whatever its numbers and gaps up to the bound", () => {
	const positions = [
		{ high: 9, gaps: [] },
		{ high: 10, gaps: [] },
		{ high: HUGE, gaps: [] },
		...Array.from({ length: MAX_GAPS }, (_, count) => everySecondMissing(5_000, count + 1)),
		everySecondMissing(HUGE - 3 * MAX_GAPS, MAX_GAPS),
	];
	equal(new Set(positions.map((position) => write(5, position).length)).size, 1);
});

test("more gaps than fit make a cursor of an earlier place, behind which nothing is missing", () => {
	const full = everySecondMissing(1_000_000, MAX_GAPS);
	const back = readCursor(KEY, 5, write(5, full));
	const kept = back?.gaps.length ?? 0;
	ok(kept >= 10 && kept < MAX_GAPS, `${kept} gaps`);
	deepEqual(back?.gaps, full.gaps.slice(0, kept));
	equal(back?.high, (full.gaps[kept]?.first ?? 0) - 1);
});

test("a cursor shows nothing of the numbers in it", () => {
	const cursor = write(5, POSITION);
	ok(!Buffer.from(cursor, "base64url").includes("1234"));
	ok(/^[\w-]+$/.test(cursor), "it goes into a query as it is");
});

test("another programme's, another key's, an altered or an invented cursor is none", () => {
	const cursor = write(5, POSITION);
	const other = deriveCursorKey(new Uint8Array(32).fill(8));
	notEqual(readCursor(KEY, 5, cursor), null);
	equal(readCursor(KEY, 6, cursor), null);
	equal(readCursor(other, 5, cursor), null);
	const altered = `${cursor.startsWith("A") ? "B" : "A"}${cursor.slice(1)}`;
	const odd = [altered, cursor.slice(0, -4), `${cursor}AAAA`, `${cursor}=`, `${cursor}!`, ` ${cursor}`];
	for (const text of [...odd, "", "1234", "../..", "A".repeat(5_000)]) {
		equal(readCursor(KEY, 5, text), null, text.slice(0, 60));
	}
});

function write(programmeId: number, position: EventPosition): string {
	return writeCursor(KEY, randomBytes(CURSOR_IV_BYTES), programmeId, position);
}

function everySecondMissing(from: number, count: number): EventPosition {
	const gaps = Array.from({ length: count }, (_, at) => {
		const number = from + 2 * at;
		return { first: number, last: number, heldBefore: 2 * number };
	});
	return { high: from + 2 * count, gaps };
}
