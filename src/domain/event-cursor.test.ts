import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { deriveCursorKey, type EventPosition, readCursor, writeCursor } from "./event-cursor.ts";
import { SEALING_IV_BYTES } from "./sealing.ts";

const KEY = deriveCursorKey(new Uint8Array(32).fill(7));
const POSITION = { transaction: 98_765, id: 1_234 };
const HUGE = Number.MAX_SAFE_INTEGER;

test("a cursor is read back as its position; all are equally long, and no two of one position are alike", () => {
	const positions = [POSITION, { transaction: 0, id: 0 }, { transaction: HUGE, id: HUGE }, POSITION];
	const cursors = positions.map((position) => write(5, position));
	deepEqual(
		cursors.map((cursor) => readCursor(KEY, 5, cursor)),
		positions,
	);
	equal(new Set(cursors).size, cursors.length);
	equal(new Set(cursors.map((cursor) => cursor.length)).size, 1);
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
	for (const text of [...odd, `${cursor}\n`, "", "1234", "../..", "A".repeat(80), "A".repeat(5_000)]) {
		equal(readCursor(KEY, 5, text), null, text.slice(0, 60));
	}
});

function write(programmeId: number, position: EventPosition): string {
	return writeCursor(KEY, randomBytes(SEALING_IV_BYTES), programmeId, position);
}
