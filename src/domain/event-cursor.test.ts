import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { deriveCursorKeys, readCursor, writeCursor } from "./event-cursor.ts";
import { MAX_GAPS } from "./event-position.ts";

const KEYS = deriveCursorKeys(new Uint8Array(32).fill(7));
const POSITION = { high: 1_234, gaps: [{ first: 1_200, last: 1_203, beforeMs: 99 }] };

test("a cursor is read back as the position it was written for, with and without gaps", () => {
	for (const position of [POSITION, { high: 0, gaps: [] }]) {
		deepEqual(readCursor(KEYS, 5, writeCursor(KEYS, 5, position)), position);
	}
});

test("the largest position makes a cursor that is taken back", () => {
	const huge = Number.MAX_SAFE_INTEGER;
	const gaps = Array.from({ length: MAX_GAPS }, () => ({ first: huge, last: huge, beforeMs: huge }));
	const position = { high: huge, gaps };
	deepEqual(readCursor(KEYS, huge, writeCursor(KEYS, huge, position)), position);
});

test("a cursor shows nothing of the numbers in it, and the same place gives the same cursor", () => {
	const cursor = writeCursor(KEYS, 5, POSITION);
	equal(cursor, writeCursor(KEYS, 5, POSITION));
	notEqual(cursor, writeCursor(KEYS, 6, POSITION));
	ok(!Buffer.from(cursor, "base64url").includes("1234"));
	ok(/^[\w-]+$/.test(cursor), "it goes into a query as it is");
});

test("another programme's, another key's, an altered or an invented cursor is none", () => {
	const cursor = writeCursor(KEYS, 5, POSITION);
	const others = deriveCursorKeys(new Uint8Array(32).fill(8));
	equal(readCursor(KEYS, 6, cursor), null);
	equal(readCursor(others, 5, cursor), null);
	const altered = `${cursor.startsWith("A") ? "B" : "A"}${cursor.slice(1)}`;
	for (const text of [altered, cursor.slice(0, -4), "", "1234", "../..", `${cursor}=`, "A".repeat(5_000)]) {
		equal(readCursor(KEYS, 5, text), null, text.slice(0, 60));
	}
});
