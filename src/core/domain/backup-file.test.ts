import { deepEqual, equal, ok } from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { findContents, frameDatabase, type Manifest } from "./backup-file.ts";

const MANIFEST: Manifest = {
	program: "1.0.0",
	createdAt: "2026-03-01T12:00:00.000Z",
	schema: { version: 3, oldestProgram: 2, firstName: "first schéma" },
	databaseBytes: 4_096,
	key: { cost: 131_072, blockSize: 8, salt: "c2FsdA==", sealed: "c2VhbGVkLXNlYWxlZC1zZWFsZWQ=" },
};
const PACKED = Buffer.from("some packed bytes");
const SHA256 = hash("sha256", PACKED, "hex");

function find(bytes: Buffer) {
	return findContents(async (at, length) => bytes.subarray(at, at + length));
}

function write(manifest: object): Buffer {
	const { head, tail } = frameDatabase(manifest as Manifest, { bytes: PACKED.length, sha256: SHA256 });
	return Buffer.concat([head, PACKED, tail]);
}

test("a backup with or without a key is read back as it was written, and consists of whole blocks", async () => {
	for (const manifest of [MANIFEST, { ...MANIFEST, key: null }]) {
		const bytes = write(manifest);
		equal(bytes.length % 512, 0);
		deepEqual(await find(bytes), { manifest, sha256: SHA256, endAt: 512 + PACKED.length });
	}
});

test("a size beyond eleven octal digits is written as tar programs read it", async () => {
	const bytes = 20 * 1024 ** 3;
	const { head, tail } = frameDatabase(MANIFEST, { bytes, sha256: SHA256 });
	const found = await findContents(async (at) => (at === 0 ? head : tail.subarray(at - 512 - bytes)));
	ok(typeof found === "object");
	equal(found.endAt, 512 + bytes);
	equal(head[124], 0x80);
	equal(head.readBigUInt64BE(128), BigInt(bytes));
});

test("a file that is no backup, a backup of a later form and a damaged one are distinguished", async () => {
	const whole = write(MANIFEST);
	const cases: readonly [bytes: Buffer, kind: string][] = [
		[Buffer.alloc(0), "no backup"],
		[Buffer.from("SQLite format 3\0"), "no backup"],
		[Buffer.from("ringback.db.zst"), "damaged"],
		[whole.subarray(0, -1_536), "damaged"],
		[write({ ...MANIFEST, form: 2 }), "later form"],
		[write({ ...MANIFEST, databaseBytes: -1 }), "damaged"],
		[write({ ...MANIFEST, schema: null }), "damaged"],
		[write({ ...MANIFEST, key: { ...MANIFEST.key, cost: 1_048_577 } }), "damaged"],
	];
	for (const [bytes, kind] of cases) equal(await find(bytes), kind, bytes.toString("latin1", 0, 80));
});
