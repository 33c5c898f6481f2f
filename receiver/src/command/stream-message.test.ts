import assert from "node:assert/strict";
import { test } from "node:test";
import { createMessageReader, MessageTooLongError } from "./stream-message.ts";

const text = `event: listening\nid: a\ndata: {"programId":"prg_1"}\n\n: still here\nid: b\n\n: nothing\n\nevent: conversion.recorded\nid: c\nsigned: {"nonce":"1"}\nlater: x\ndata: {"orderId":"Bücher: 1\u2028"}\n\n`;
const expected = [
	{ event: "listening", id: "a", signed: undefined, data: '{"programId":"prg_1"}' },
	{ event: "", id: "b", signed: undefined, data: "" },
	{ event: "conversion.recorded", id: "c", signed: '{"nonce":"1"}', data: '{"orderId":"Bücher: 1\u2028"}' },
];

test("messages are the same wherever the bytes are cut, even within a character", () => {
	const bytes = new TextEncoder().encode(text);
	for (let size = 1; size <= bytes.length; size++) {
		const read = createMessageReader();
		const messages = [];
		for (let at = 0; at < bytes.length; at += size) messages.push(...read(bytes.subarray(at, at + size)));
		assert.deepEqual(messages, expected, `pieces of ${size}`);
	}
});

test("an unfinished message is not returned", () => {
	const read = createMessageReader();
	assert.deepEqual(read(new TextEncoder().encode("event: conversion.approved\ndata: {}\n")), []);
});

test("a message without an end is not collected forever", () => {
	const read = createMessageReader();
	const chunk = new TextEncoder().encode("x".repeat(600_000));
	read(chunk);
	assert.throws(() => read(chunk), MessageTooLongError);
});
