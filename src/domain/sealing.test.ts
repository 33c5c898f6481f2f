import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { openSecret, SEALING_IV_BYTES, SEALING_KEY_BYTES, sealSecret } from "./sealing.ts";

const KEY = Buffer.alloc(SEALING_KEY_BYTES, 7);
const IV = Buffer.alloc(SEALING_IV_BYTES, 1);
const PROGRAMME_ID = 42;
const SECRET = "example-signing-secret";
const SEALED = sealSecret(KEY, PROGRAMME_ID, SECRET, IV);

test("a secret sealed today opens for ever: the stored form is exactly the known value", () => {
	assert.equal(SEALED, "AQEBAQEBAQEBAQEBE5no2uDTiSOivbtPGVkXHNued4Z94yR6xUIkFVyk1sruOsGnY9E=");
	assert.equal(openSecret(KEY, PROGRAMME_ID, SEALED), SECRET);
});

test("a secret copied onto another programme does not open", () => {
	for (const other of [0, 1, 4, 41, 43, 420, -42])
		assert.equal(openSecret(KEY, other, SEALED), null, `${other}`);
});

test("a secret cut short or lengthened anywhere does not open", () => {
	const bytes = Buffer.from(SEALED, "base64");
	for (let length = 0; length < bytes.length; length++) {
		for (const part of [bytes.subarray(0, length), bytes.subarray(bytes.length - length)]) {
			assert.equal(openSecret(KEY, PROGRAMME_ID, part.toString("base64")), null, `${length} bytes`);
		}
	}
	for (const longer of [Buffer.concat([bytes, IV]), Buffer.concat([IV, bytes])]) {
		assert.equal(openSecret(KEY, PROGRAMME_ID, longer.toString("base64")), null);
	}
});

test("a secret sealed twice with fresh random bytes looks different each time", () => {
	const forms = Array.from({ length: 100 }, () =>
		sealSecret(KEY, PROGRAMME_ID, SECRET, randomBytes(SEALING_IV_BYTES)),
	);
	assert.equal(new Set(forms).size, 100);
	for (const form of forms) assert.equal(openSecret(KEY, PROGRAMME_ID, form), SECRET);
});

test("the sealed form does not contain the secret", () => {
	assert.equal(Buffer.from(SEALED, "base64").includes(SECRET), false);
	assert.equal(SEALED.includes(SECRET), false);
});
