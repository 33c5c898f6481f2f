import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { majorVersion, readDumpHeader } from "./postgres-dump.ts";

function int(value: number): number[] {
	return [value < 0 ? 1 : 0, ...new Uint8Array(new Int32Array([Math.abs(value)]).buffer)];
}

function text(value: string): number[] {
	return [...int(value.length), ...Buffer.from(value)];
}

/** As pg_dump writes it: `compression` was a number until 1.14, and is a byte since. */
function header(minor: number, compression: readonly number[], format = 1): Uint8Array {
	const times = [10, 20, 30, 1, 2, 126, 0].flatMap(int);
	return Buffer.from([
		...Buffer.from("PGDMP"),
		...[1, minor, 0, 4, 8, format],
		...compression,
		...times,
		...text("ringback"),
		...text("18.1 (Debian 18.1-1)"),
		...text("18.1"),
	]);
}

test("the header of a dump in custom format, before and since PostgreSQL 16", () => {
	const expected = { databaseName: "ringback", serverVersion: "18.1 (Debian 18.1-1)", dumpVersion: "18.1" };
	deepEqual(readDumpHeader(header(14, int(-1))), expected);
	deepEqual(readDumpHeader(header(16, [1])), expected);
});

test("another format, another file and a header that is cut are none", () => {
	equal(readDumpHeader(header(16, [1], 3)), null, "tar");
	equal(readDumpHeader(Buffer.from("PGDMQ")), null);
	equal(readDumpHeader(header(16, [1]).subarray(0, 40)), null);
	equal(readDumpHeader(Buffer.from("PGDMP")), null);
});

test("the major version is what is before the first dot", () => {
	deepEqual(["18.1 (Debian)", "9.6.1", "17beta1", "devel"].map(majorVersion), [18, 9, 17, null]);
});
