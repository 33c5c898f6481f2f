import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { judgePassphrase, openKeys, SEALED_KEY, sealKeys } from "./passphrase.ts";

const KEY = Buffer.alloc(32, 9);
const FRESH = { salt: Buffer.alloc(16, 1), iv: Buffer.alloc(12, 2) };
/** One sealed key is shared by all tests, because sealing takes half a second of processor time by design. */
const sealed = sealKeys("Grüße an alle Läden", [KEY], FRESH);

test("a key opens with its passphrase, however its letters are composed, and with no other", () => {
	deepEqual(openKeys("Gru\u0308ße an alle La\u0308den", sealed), [KEY]);
	equal(openKeys("Grüße an alle Laden", sealed), null);
	equal(openKeys("Grüße an alle Läden", { ...sealed, salt: Buffer.alloc(16, 3).toString("base64") }), null);
	equal(sealed.sealed.includes(KEY.toString("hex")), false);
});

test("a passphrase has at least twelve characters", () => {
	match(judgePassphrase("eleven char") ?? "", /at least 12 characters/);
	equal(judgePassphrase("twelve chars"), null);
});

test("a sealed key is read as it was written, and anything else is refused", () => {
	deepEqual(SEALED_KEY.parse(JSON.parse(JSON.stringify(sealed))), sealed);
	const wrong = [
		null,
		1,
		{},
		{ ...sealed, cost: 3 },
		{ ...sealed, cost: 2 ** 21 },
		{ ...sealed, blockSize: 1_024 },
	];
	for (const value of [...wrong, { ...sealed, salt: 1 }, { ...sealed, sealed: "" }]) {
		equal(SEALED_KEY.safeParse(value).success, false, JSON.stringify(value));
	}
});
