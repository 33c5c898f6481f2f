import { deepEqual, equal, match, ok } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import {
	acceptedTotpCodes,
	makeBackupCode,
	readTypedCode,
	totpCodeAt,
	totpUri,
} from "./authenticator-code.ts";

/** The secret of RFC 6238, appendix B. */
const RFC_SECRET = Buffer.from("12345678901234567890");

for (const [seconds, code] of [
	[59, "287082"],
	[1_111_111_109, "081804"],
	[1_111_111_111, "050471"],
	[1_234_567_890, "005924"],
	[2_000_000_000, "279037"],
	[20_000_000_000, "353130"],
] as const) {
	test(`the code at second ${seconds} is the one of RFC 6238`, () => {
		equal(totpCodeAt(RFC_SECRET, seconds * 1_000), code);
	});
}

test("the codes of 30 seconds ago, of now and of 30 seconds ahead are accepted, and no other", () => {
	const nowMs = 1_234_567_890_000;
	const accepted = acceptedTotpCodes(RFC_SECRET, nowMs);
	deepEqual(
		accepted,
		[-30_000, 0, 30_000].map((shiftMs) => totpCodeAt(RFC_SECRET, nowMs + shiftMs)),
	);
	for (const shiftMs of [-60_000, 60_000]) {
		ok(!accepted.includes(totpCodeAt(RFC_SECRET, nowMs + shiftMs)));
	}
});

test("the address for the app holds the secret in base 32, and blanks are not written as plus signs", () => {
	equal(
		totpUri(RFC_SECRET, "ann+1@shop.example", "Acme Network"),
		"otpauth://totp/Acme%20Network:ann%2B1%40shop.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&digits=6&period=30&issuer=Acme%20Network",
	);
});

test("a backup code uses every letter except those that look alike", () => {
	const letters = new Set<string>();
	for (let round = 0; round < 2_000; round += 1) {
		const code = makeBackupCode(randomBytes);
		match(code, /^[2-9A-HJKMNP-Z]{5}-[2-9A-HJKMNP-Z]{5}$/);
		for (const letter of code.replace("-", "")) letters.add(letter);
	}
	equal(letters.size, 31);
	for (const alike of "01OIL") ok(!letters.has(alike));
});

test("random bytes that would make some letters more likely are skipped", () => {
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
