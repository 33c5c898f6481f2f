// Tests of characters in an order id that must not reach a terminal unchanged.

import assert from "node:assert/strict";
import { test } from "node:test";
import { showPlainly, writePlainJson } from "./plain-text.ts";

const harmless = ["ORDER-1001", "Bücher & Tee / 12", "注文 42", "заказ", "order 😀", "a\u0301"];
const odd = [
	"\u001b[2J",
	"\u009b1m",
	"\u202e",
	"\u2066",
	"\u200b",
	"\u00a0",
	"\u2028",
	"\ufeff",
	"\ud800",
	"\u3164",
];

for (const text of harmless) {
	test(`${text} is shown unchanged`, () => assert.equal(showPlainly(text), text));
}

for (const text of odd) {
	const number = `\\u{${text.codePointAt(0)?.toString(16)}}`;
	test(`${number} is shown by its number in text and in JSON, where it means the same`, () => {
		const value = { orderId: `a${text}b` };
		assert.equal(showPlainly(value.orderId), `a${number}${text.slice(1)}b`);
		const written = writePlainJson(value);
		assert.equal(/[^ -~]/.test(written), false, written);
		assert.deepEqual(JSON.parse(written), value);
	});
}
