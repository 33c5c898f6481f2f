import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import {
	openForPerson,
	openMail,
	openSecret,
	SEALING_IV_BYTES,
	SEALING_KEY_BYTES,
	sealForPerson,
	sealSecret,
} from "./sealing.ts";

const KEY = Buffer.alloc(SEALING_KEY_BYTES, 7);
const RING = { keys: [KEY] };
const IV = Buffer.alloc(SEALING_IV_BYTES, 1);
const RECEIVER_ID = receiverId(42);
const SECRET = "example-signing-secret";
const SEALED = sealSecret(KEY, RECEIVER_ID, SECRET, IV);

test("the stored form does not change between releases, so a stored secret always opens", () => {
	assert.equal(SEALED, "AQEBAQEBAQEBAQEBE5no2uDTiSOivbtPGVkXHNued4Z94wu1rzIeQlqd/zazBH8jer4=");
	assert.equal(openSecret(RING, RECEIVER_ID, SEALED), SECRET);
});

test("a secret that is copied to another receiver does not open", () => {
	for (const other of [0, 1, 4, 41, 43, 420, -42])
		assert.equal(openSecret(RING, receiverId(other), SEALED), null, `${other}`);
});

test("an authenticator's secret opens for its own person only, and for nothing else", () => {
	const sealed = sealForPerson(KEY, 42, SECRET, IV);
	assert.equal(openForPerson(RING, 42, sealed), SECRET);
	assert.equal(openForPerson(RING, 43, sealed), null);
	assert.equal(openForPerson({ keys: [Buffer.alloc(SEALING_KEY_BYTES, 8)] }, 42, sealed), null);
	assert.equal(openSecret(RING, RECEIVER_ID, sealed), null);
	assert.equal(openMail(RING, "42", sealed), null);
});

test("a secret that was cut or lengthened does not open", () => {
	const bytes = Buffer.from(SEALED, "base64");
	for (let length = 0; length < bytes.length; length++) {
		for (const part of [bytes.subarray(0, length), bytes.subarray(bytes.length - length)]) {
			assert.equal(openSecret(RING, RECEIVER_ID, part.toString("base64")), null, `${length} bytes`);
		}
	}
	for (const longer of [Buffer.concat([bytes, IV]), Buffer.concat([IV, bytes])]) {
		assert.equal(openSecret(RING, RECEIVER_ID, longer.toString("base64")), null);
	}
});

test("the same secret looks different each time it is sealed with a fresh nonce", () => {
	const forms = Array.from({ length: 100 }, () =>
		sealSecret(KEY, RECEIVER_ID, SECRET, randomBytes(SEALING_IV_BYTES)),
	);
	assert.equal(new Set(forms).size, 100);
	for (const form of forms) assert.equal(openSecret(RING, RECEIVER_ID, form), SECRET);
});

test("the sealed form does not contain the secret", () => {
	assert.equal(Buffer.from(SEALED, "base64").includes(SECRET), false);
	assert.equal(SEALED.includes(SECRET), false);
});
