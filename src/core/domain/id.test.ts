import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ID_RANDOM_BYTES, type IdPrefix, makeId } from "./id.ts";

const PREFIXES: readonly IdPrefix[] = ["cnv", "prg", "dlv", "key", "usr", "ntc", "job", "lnk"];
const NOW_MS = 1_767_225_600_000;
/** The largest time that 50 bits can hold. */
const LAST_MS = 2 ** 50 - 1;

const anyRandom = fc.uint8Array({ minLength: ID_RANDOM_BYTES, maxLength: ID_RANDOM_BYTES });
const anyTimeMs = fc.integer({ min: 0, max: LAST_MS });

test("an id has the known value for a known time and known bytes", () => {
	const zeros = new Uint8Array(10);
	const counting = Uint8Array.from(zeros, (_, i) => i);
	// The time and its encoding are the example in the ULID specification.
	assert.equal(makeId("cnv", 1_469_918_176_385, zeros), "cnv_01ARYZ6S410000000000000000");
	assert.equal(makeId("prg", 0, zeros.fill(255)), "prg_0000000000ZZZZZZZZZZZZZZZZ");
	assert.equal(makeId("dlv", LAST_MS, counting), "dlv_ZZZZZZZZZZ000G40R40M30E209");
});

test("an id is its prefix, an underscore and 26 characters that cannot be misread", () => {
	for (const prefix of PREFIXES) {
		fc.assert(
			fc.property(anyTimeMs, anyRandom, (nowMs, random) => {
				const id = makeId(prefix, nowMs, random);
				assert.equal(id.length, prefix.length + 1 + 26);
				assert.ok(id.startsWith(`${prefix}_`));
				assert.match(id.slice(prefix.length + 1), /^[0-9A-HJKMNP-TV-Z]{26}$/);
			}),
		);
	}
});

test("ids of neighbouring milliseconds sort by time across every carry of a digit", () => {
	for (let bits = 0; bits < 50; bits++) {
		const [before, after] = [2 ** bits - 1, 2 ** bits];
		assert.ok(makeId("dlv", before, filled(255)) < makeId("dlv", after, filled(0)), `${bits} bits`);
	}
});

test("each of the 80 random bits changes the id", () => {
	const ids = Array.from({ length: 80 }, (_, bit) => {
		const random = filled(0);
		random[bit >> 3] = 1 << (bit & 7);
		return makeId("cnv", NOW_MS, random);
	});
	assert.equal(new Set([...ids, makeId("cnv", NOW_MS, filled(0))]).size, 81);
});

function filled(byte: number): Uint8Array {
	return new Uint8Array(ID_RANDOM_BYTES).fill(byte);
}
