// Tests that an exported file is valid JSON, and that a long list is read only as fast as the file is taken.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { jsonFile, readable } from "./json-file.ts";

test("values and lists of any length become one JSON object", async () => {
	async function* rows() {
		yield [{ text: 'a "b"\n' }, { text: "c" }];
		yield [];
		yield [{ text: "d" }];
	}
	async function* none() {
		yield [];
	}
	const parts = jsonFile([
		["about", { lines: ["one", "two"], none: null }],
		["rows", rows()],
		["empty", none()],
		["list", []],
	]);
	deepEqual(JSON.parse((await Array.fromAsync(parts)).join("")), {
		about: { lines: ["one", "two"], none: null },
		rows: [{ text: 'a "b"\n' }, { text: "c" }, { text: "d" }],
		empty: [],
		list: [],
	});
});

test("the next batch is read only when the one before was taken, and a file that is not read to its end is closed", async () => {
	let read = 0;
	let isClosed = false;
	async function* rows() {
		try {
			for (; read < 100; read++) yield [{ read }];
		} finally {
			isClosed = true;
		}
	}
	const parts = jsonFile([["rows", rows()]]);
	for (let taken = 0; taken < 6; taken++) await parts.next();
	equal(read <= 4, true, `${read} batches were read`);
	await parts.return(undefined);
	equal(isClosed, true);
});

test("columns become names that people read, with times in UTC", () => {
	deepEqual(readable({ created_at_ms: 0, ended_at_ms: null, sub_1: "x", public_id: "usr_1", took_ms: 5 }), {
		createdAt: "1970-01-01T00:00:00.000Z",
		endedAt: null,
		sub1: "x",
		publicId: "usr_1",
		took: 5,
	});
});
