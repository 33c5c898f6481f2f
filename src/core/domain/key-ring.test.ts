// Tests which keys of a ring open, seal and derive, before, during and after a replacement.

import { deepEqual, equal, match, notDeepEqual } from "node:assert/strict";
import { test } from "node:test";
import { clickUse, createKeyRing, deriveKey, keyIdOf } from "./key-ring.ts";
import { openText, sealText } from "./sealing.ts";

const [OLD, NEW, THIRD] = [7, 8, 9].map((byte) => new Uint8Array(32).fill(byte)) as [
	Uint8Array,
	Uint8Array,
	Uint8Array,
];
const IV = new Uint8Array(12).fill(1);
const USE = clickUse(20_000);

test("the id and the derived keys of a key never change between releases", () => {
	equal(keyIdOf(OLD), ID);
	equal(Buffer.from(deriveKey(OLD, USE)).toString("hex"), CLICK_KEY);
	match(keyIdOf(NEW), /^[0-9a-f]{16}$/);
});
const ID = "cf4e45be5f7bee25";
const CLICK_KEY = "526f6a10beb5691a1d31356c594e64815b9cddaeea5a06f4af72448768ba794c";

test("all keys of a ring open a text, and the one that seals is tried first", () => {
	const ring = createKeyRing([OLD, NEW]);
	for (const key of [OLD, NEW]) equal(openText(ring, "x", sealText(key, "x", "text", IV)), "text");
	equal(openText(ring, "x", sealText(THIRD, "x", "text", IV)), null);
	deepEqual(ring.keys, [OLD, NEW]);
	ring.follow({ presentId: keyIdOf(NEW), formerId: null, kept: new Map() });
	deepEqual(ring.keys, [NEW, OLD]);
});

test("before a replacement the present key derives, and what the next key derived is accepted", () => {
	const ring = createKeyRing([NEW, OLD]);
	ring.follow({ presentId: keyIdOf(OLD), formerId: null, kept: new Map() });
	deepEqual(ring.derive(USE), [deriveKey(OLD, USE), deriveKey(NEW, USE)]);
});

test("after a replacement nothing is derived from the former key, except what was kept of it", () => {
	const ring = createKeyRing([NEW, OLD]);
	ring.follow({ presentId: keyIdOf(OLD), formerId: null, kept: new Map() });
	const before = ring.version;
	const use = { presentId: keyIdOf(NEW), formerId: keyIdOf(OLD) };
	ring.follow({ ...use, kept: new Map([[USE, [deriveKey(OLD, USE)]]]) });
	notDeepEqual(ring.version, before);
	deepEqual(ring.derive(USE), [deriveKey(NEW, USE), deriveKey(OLD, USE)]);
	deepEqual(ring.derive(clickUse(20_001)), [deriveKey(NEW, clickUse(20_001))]);
	ring.follow({ ...use, kept: new Map() });
	deepEqual(ring.derive(USE), [deriveKey(NEW, USE)], "the kept key was removed");
});

test("a ring reads its files again, and still knows a key in use that has left its file", () => {
	let files = [OLD];
	const ring = createKeyRing(files, () => files);
	ring.follow({ presentId: keyIdOf(OLD), formerId: null, kept: new Map() });
	files = [OLD, NEW];
	equal(ring.find(keyIdOf(NEW)), undefined);
	ring.reload();
	deepEqual(ring.find(keyIdOf(NEW)), NEW);
	ring.follow({ presentId: keyIdOf(NEW), formerId: keyIdOf(OLD), kept: new Map() });
	files = [NEW];
	ring.reload();
	deepEqual(ring.keys, [NEW, OLD]);
	files = [THIRD];
	ring.follow({ presentId: keyIdOf(THIRD), formerId: keyIdOf(NEW), kept: new Map() });
	ring.reload();
	deepEqual(ring.keys, [THIRD, NEW], "the key before the former one is forgotten");
});
