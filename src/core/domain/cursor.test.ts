import { deepEqual, equal, notEqual } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { type Cursor, readCursor, writeCursor } from "./cursor.ts";
import { createKeyRing } from "./key-ring.ts";

const SEAL = {
	keyRing: createKeyRing([new Uint8Array(32).fill(7)]),
	random: { bytes: (count: number) => randomBytes(count) },
};
const LIST = "deliveries of programme:7";
const CURSOR: Cursor = { at: 1_767_225_600_000, id: 42 };

test("a cursor survives its way through a URL", () => {
	const text = writeCursor(SEAL, LIST, CURSOR);
	equal(encodeURIComponent(text), text);
	deepEqual(readCursor(SEAL, LIST, text), CURSOR);
	const largest = { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };
	deepEqual(readCursor(SEAL, LIST, writeCursor(SEAL, LIST, largest)), largest);
});

test("a cursor does not reveal the number of rows: not by its text, its length or a second cursor of the same position", () => {
	const texts = [1, 1, 2, 9, 10, 4_711_000, 4_711_001].map((id) => writeCursor(SEAL, LIST, { at: id, id }));
	equal(new Set(texts.map((text) => text.length)).size, 1);
	equal(new Set(texts.map((text) => text.slice(0, 4))).size, texts.length);
	equal(new Set(texts.map((text) => text.slice(-6))).size, texts.length);
});

test("a text that is not a cursor of this list is refused", () => {
	const text = writeCursor(SEAL, LIST, CURSOR);
	notEqual(writeCursor(SEAL, "deliveries of programme:8", CURSOR), text);
	equal(readCursor(SEAL, "deliveries of programme:8", text), undefined);
	equal(readCursor({ keyRing: createKeyRing([new Uint8Array(32)]) }, LIST, text), undefined);
	const damaged = `${text[0] === "A" ? "B" : "A"}${text.slice(1)}`;
	for (const other of [
		undefined,
		"",
		"1",
		"1.2",
		"cnv_01KJ9XMZ00ABCDEFGHJKMNPQRS",
		damaged,
		`${text}=`,
		`${text}A`,
	]) {
		equal(readCursor(SEAL, LIST, other), undefined, String(other));
	}
});
