import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import {
	HEAD_BYTES,
	type Manifest,
	readHead,
	readTail,
	TAIL_BYTES,
	writeHead,
	writeTail,
} from "./backup-file.ts";

const MANIFEST: Manifest = {
	program: "1.0.0",
	createdAt: "2026-03-01T12:00:00.000Z",
	schema: { version: 3, oldestProgram: 2, firstName: "first schéma" },
	databaseBytes: 4_096,
	key: { cost: 131_072, blockSize: 8, salt: "c2FsdA==", sealed: "c2VhbGVkLXNlYWxlZC1zZWFsZWQ=" },
};
const SUMS = { database: "a".repeat(64), file: "0".repeat(64) };

test("what is written is read, with and without a key", () => {
	for (const manifest of [MANIFEST, { ...MANIFEST, key: null }]) {
		const head = Buffer.from(writeHead(manifest));
		const bytes = Buffer.concat([head, Buffer.alloc(50)]);
		deepEqual(readHead(bytes), { kind: "backup", manifest, bodyAt: head.length });
	}
	equal(Buffer.byteLength(writeTail(SUMS)), TAIL_BYTES);
	deepEqual(readTail(Buffer.from(writeTail(SUMS))), SUMS);
});

test("what is no backup, a later form or damaged is told apart", () => {
	const head = writeHead(MANIFEST);
	const cases: readonly [text: string, kind: string][] = [
		["", "other"],
		["SQLite format 3\0", "other"],
		["ringback-backup 2\nanything", "later"],
		["ringback-backup x\n{}\n", "damaged"],
		["ringback-backup 1", "damaged"],
		["ringback-backup 1\n{}\n", "damaged"],
		["ringback-backup 1\nnull\n", "damaged"],
		[head.slice(0, -1), "damaged"],
		[head.slice(0, -5), "damaged"],
		[head.replace('"cost":131072', '"cost":1048577'), "damaged"],
		[head.replace('"databaseBytes":4096', '"databaseBytes":-1'), "damaged"],
		[head.replace("2026-03-01T12", "once"), "damaged"],
		[head.replace("1.0.0", "x".repeat(HEAD_BYTES)).slice(0, HEAD_BYTES), "damaged"],
	];
	for (const [text, kind] of cases) equal(readHead(Buffer.from(text)).kind, kind, text.slice(0, 80));
});

test("an end that is cut or changed is none", () => {
	const tail = writeTail(SUMS);
	for (const text of [
		tail.slice(1),
		tail.slice(0, -1),
		tail.replace("end", "EnD"),
		tail.replace("0", "g"),
		"",
	]) {
		equal(readTail(Buffer.from(text)), null, text);
	}
});
