import { deepEqual, equal, match, ok } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { makeBackupCode, readTypedCode } from "./authenticator.ts";

test("a backup code has no two letters that look alike, and every other one", () => {
	const letters = new Set<string>();
	for (let round = 0; round < 2_000; round += 1) {
		const code = makeBackupCode(randomBytes);
		match(code, /^[2-9A-HJKMNP-Z]{5}-[2-9A-HJKMNP-Z]{5}$/);
		for (const letter of code.replace("-", "")) letters.add(letter);
	}
	equal(letters.size, 31);
	for (const alike of "01OIL") ok(!letters.has(alike));
});

test("bytes that would favour some letters are thrown away", () => {
	const draws = [new Uint8Array(10).fill(255), new Uint8Array(10).fill(248), new Uint8Array(10).fill(247)];
	equal(
		makeBackupCode(() => draws.shift() ?? new Uint8Array(10)),
		"ZZZZZ-ZZZZZ",
	);
	equal(draws.length, 0);
});

for (const [text, isBackupCode, code] of [
	["123456", false, "123456"],
	[" 123 456\t", false, "123456"],
	["7kq2mxw4ht", true, "7KQ2M-XW4HT"],
	[" 7KQ2M - XW4HT ", true, "7KQ2M-XW4HT"],
	["12345", true, "12345-"],
	["", true, "-"],
] as const) {
	test(`"${text}" is read as ${isBackupCode ? "a backup code" : "six digits"}`, () => {
		deepEqual(readTypedCode(text), { isBackupCode, code });
	});
}
