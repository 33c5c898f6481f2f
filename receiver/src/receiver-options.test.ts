import assert from "node:assert/strict";
import { test } from "node:test";
import { createReceiver } from "./receiver.ts";
import type { ReceiverOptions } from "./receiver-options.ts";
import { sampleDelivery, sampleSeconds, sampleSecret } from "./sample-delivery.test-support.ts";

const right = { secret: sampleSecret, onEvent: () => undefined };
/** The cast allows any argument, as in a program without types. */
const createAnyhow = createReceiver as (options?: unknown) => unknown;

const mistakes: [string, object, RegExp][] = [
	["no secret", { secret: undefined }, /^secret is empty/],
	["an empty secret", { secret: "" }, /^secret is empty/],
	["no secret in the list", { secret: [] }, /^secret is empty/],
	["a brand no header can carry", { brand: "Acme Shop" }, /^brand must be letters/],
	["an empty brand", { brand: "" }, /^brand must be letters/],
	["no onEvent", { onEvent: undefined }, /^onEvent must be a function/],
	["no room for a body", { maxBodyBytes: 0 }, /^maxBodyBytes must be a whole number/],
	["no time to answer", { answerWithinMs: Number.NaN }, /^answerWithinMs must be a whole number/],
	["a store that is no function", { store: 5 }, /^store must be a function/],
	["a store that is null", { store: null }, /^store must be a function/],
	["nonces without remember", { nonces: {} }, /^nonces must have a function remember/],
	["true for nonces", { nonces: true }, /^nonces must have a function remember/],
	["nonces that are null", { nonces: null }, /^nonces must have a function remember/],
	[
		"a forget that is no function",
		{ nonces: { remember: () => true, forget: 1 } },
		/^nonces must have a function remember/,
	],
	["a moment for a clock", { now: 5 }, /^now must be a function/],
	["a number for a path", { path: 7 }, /^path must be/],
	["a whole URL for a path", { path: "https://shop.example/postback" }, /^path must be/],
	["a word for ignoreTests", { ignoreTests: "false" }, /^ignoreTests must be true or false/],
	["an onError that is no function", { onError: 1 }, /^onError must be a function/],
	["an onRefused that is no function", { onRefused: {} }, /^onRefused must be a function/],
	["more time than the service gives", { answerWithinMs: 5_001 }, /^answerWithinMs must be .*5,?000/],
	["a brand longer than the service's", { brand: "A".repeat(32) }, /^brand must be/],
	["a brand that is no string", { brand: 5 }, /^brand must be/],
	["an API key for a secret", { secret: "rbk_1" }, /^secret is an API key/],
	["an API key among the secrets", { secret: ["rbs_1", "rbk_1"] }, /^secret is an API key/],
	["a line feed after the secret", { secret: "rbs_1\n" }, /^secret has white space around it/],
	["a blank for a secret", { secret: "   " }, /^secret has white space around it/],
];
for (const [condition, options, message] of mistakes) {
	test(`a receiver is not created with ${condition}, and says what is wrong without quoting it`, () => {
		assert.throws(
			() => createAnyhow({ ...right, ...options }),
			(error) =>
				error instanceof TypeError && message.test(error.message) && !error.message.includes("rbs_1"),
		);
	});
}

for (const options of [undefined, null, "rbs_1", []]) {
	test(`a receiver is not created from ${JSON.stringify(options)}, and says what it needs`, () => {
		assert.throws(() => createAnyhow(options), /^TypeError: createReceiver needs its options/);
	});
}

test("every optional option may be undefined", () => {
	const names = ["store", "nonces", "brand", "path", "ignoreTests", "maxBodyBytes", "answerWithinMs", "now"];
	const left = Object.fromEntries([...names, "onRefused", "onError"].map((name) => [name, undefined]));
	assert.ok(createAnyhow({ ...right, ...left }));
});

test("a memory may be an instance of a class", () => {
	class SharedMemory {
		remember() {
			return true;
		}
	}
	assert.ok(createReceiver({ ...right, nonces: new SharedMemory() }));
});

for (const secret of ["rbk_1", `${sampleSecret}\n`, [sampleSecret, " "]]) {
	test(`503 and a sentence for the log if the function for the secret returns ${JSON.stringify(secret)}`, async () => {
		const errors: unknown[] = [];
		const options: ReceiverOptions = {
			...right,
			secret: () => secret,
			onError: (error) => errors.push(error),
		};
		const receiver = createReceiver({ ...options, now: () => sampleSeconds * 1000 });
		const { path, headers, rawBody } = sampleDelivery();
		const { answer } = await receiver.receive({ method: "POST", path, headers, body: rawBody });
		assert.equal(answer.status, 503);
		assert.match(String(errors), /^TypeError: secret (?:is an API key|has white space)/);
		assert.ok(!String(errors).includes(sampleSecret));
	});
}
