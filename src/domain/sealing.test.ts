import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { openSecret, SEALING_IV_BYTES, SEALING_KEY_BYTES, sealSecret } from "./sealing.ts";

const KEY = Buffer.alloc(SEALING_KEY_BYTES, 7);
const IV = Buffer.alloc(SEALING_IV_BYTES, 1);
const PROGRAMME_ID = 42;
const SECRET = "example-signing-secret";
const SEALED = sealSecret(KEY, PROGRAMME_ID, SECRET, IV);

const anySecret = fc.string({ unit: "binary" });
const anyIv = fc.uint8Array({ minLength: SEALING_IV_BYTES, maxLength: SEALING_IV_BYTES });
const anyKey = fc.uint8Array({ minLength: SEALING_KEY_BYTES, maxLength: SEALING_KEY_BYTES });
const anyId = fc.integer({ min: 1 });

test("a secret sealed today opens for ever: the stored form is exactly the known value", () => {
	assert.equal(SEALED, "AQEBAQEBAQEBAQEBE5no2uDTiSOivbtPGVkXHNued4Z94yR6xUIkFVyk1sruOsGnY9E=");
	assert.equal(openSecret(KEY, PROGRAMME_ID, SEALED), SECRET);
});

test("property: any secret opens with the key and the programme it was sealed with", () => {
	fc.assert(
		fc.property(anyKey, anyId, anySecret, anyIv, (key, programmeId, secret, iv) => {
			assert.equal(openSecret(key, programmeId, sealSecret(key, programmeId, secret, iv)), secret);
		}),
	);
});

test("a secret copied onto another programme does not open", () => {
	for (const other of [0, 1, 4, 41, 43, 420, -42])
		assert.equal(openSecret(KEY, other, SEALED), null, `${other}`);
});

test("property: a secret does not open with a key that differs in any one bit", () => {
	fc.assert(
		fc.property(fc.nat(SEALING_KEY_BYTES - 1), fc.nat(7), (at, bit) => {
			assert.equal(openSecret(flip(KEY, at, 1 << bit), PROGRAMME_ID, SEALED), null);
		}),
	);
});

test("property: a secret with any byte changed, of the IV, the text or the tag, does not open", () => {
	fc.assert(
		fc.property(anySecret, anyIv, fc.nat(), fc.integer({ min: 1, max: 255 }), (secret, iv, at, mask) => {
			const bytes = Buffer.from(sealSecret(KEY, PROGRAMME_ID, secret, iv), "base64");
			const changed = flip(bytes, at % bytes.length, mask).toString("base64");
			assert.equal(openSecret(KEY, PROGRAMME_ID, changed), null);
		}),
	);
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

test("property: what was never sealed does not open and is not thrown at", () => {
	const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64"));
	fc.assert(
		fc.property(fc.oneof(anySecret, anyBytes, fc.base64String()), (garbage) => {
			assert.equal(openSecret(KEY, PROGRAMME_ID, garbage), null);
		}),
	);
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

function flip(bytes: Uint8Array, at: number, mask: number): Buffer {
	const changed = Buffer.from(bytes);
	changed.writeUInt8(changed.readUInt8(at) ^ mask, at);
	return changed;
}
