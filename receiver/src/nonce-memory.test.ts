import assert from "node:assert/strict";
import { test } from "node:test";
import { createNonceMemory } from "./nonce-memory.ts";

test("a nonce is new once, and again when its time is over", () => {
	let nowMs = 0;
	const memory = createNonceMemory({ now: () => nowMs });
	assert.equal(memory.remember("a", 1000), true);
	assert.equal(memory.remember("b", 1000), true);
	nowMs = 999;
	assert.equal(memory.remember("a", 1000), false);
	nowMs = 1000;
	assert.equal(memory.remember("a", 1000), true);
});

test("a repeat does not extend the first one's lifetime", () => {
	let nowMs = 0;
	const memory = createNonceMemory({ now: () => nowMs });
	memory.remember("a", 1000);
	nowMs = 900;
	assert.equal(memory.remember("a", 1000), false);
	nowMs = 1000;
	assert.equal(memory.remember("a", 1000), true);
});

test("beyond the capacity the oldest is forgotten first, and no other", () => {
	const memory = createNonceMemory({ capacity: 3, now: () => 0 });
	for (const nonce of ["a", "b", "c", "d"]) assert.equal(memory.remember(nonce, 1000), true);
	for (const nonce of ["b", "c", "d"]) assert.equal(memory.remember(nonce, 1000), false);
	assert.equal(memory.remember("a", 1000), true);
});

test("expired nonces make room before any other", () => {
	let nowMs = 0;
	const memory = createNonceMemory({ capacity: 2, now: () => nowMs });
	memory.remember("short", 10);
	memory.remember("long", 1000);
	nowMs = 10;
	memory.remember("new", 1000);
	assert.equal(memory.remember("long", 1000), false);
	assert.equal(memory.remember("new", 1000), false);
});

test("a forgotten nonce is new again", () => {
	const memory = createNonceMemory();
	memory.remember("a", 1000);
	memory.forget?.("a");
	assert.equal(memory.remember("a", 1000), true);
});
