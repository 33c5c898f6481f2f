// Tests the shell's receiver. The shell has no server, so its receiver checks one saved callback and says
// what is wrong with it.

import { equal, match, notEqual } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Callback, type CallbackOptions, makeCallback, secondsFromNow, withHeader } from "./callback.ts";
import type { ExampleFolder } from "./example-folder.ts";

const SECRET = 'it\'s a "secret" with $HOME and `id`';
const TARGET = "/p%C3%A9age/a%2Fb?tag=one&tag=two&q=%26%3D%20+&empty=&flag";

const NO_TIMESTAMPS = ["", "12e3", "+1794710977", "１２３", "9".repeat(30), "1; id", "$(id)", "-1"];
const WRONG: readonly (readonly [title: string, callback: () => Callback, said: RegExp])[] = [
	["another body", () => ({ ...saved(), body: Buffer.from("{}\n") }), /signature/],
	["another path", () => ({ ...saved(), target: "/postback" }), /signature/],
	["another nonce", () => withHeader(saved(), "Nonce", "0".repeat(32)), /signature/],
	["an empty nonce, signed", () => saved({ nonce: "" }), /nonce/],
	["another secret", () => saved({ secret: "other" }), /signature/],
	["no signature", () => withHeader(saved(), "Signature", ""), /signature/],
	["301 seconds old", () => saved({ timestamp: secondsFromNow(-301) }), /300/],
	["310 seconds ahead", () => saved({ timestamp: secondsFromNow(310) }), /300/],
	...NO_TIMESTAMPS.map(
		(timestamp) => [`timestamp "${timestamp}"`, () => saved({ timestamp }), /timestamp/] as const,
	),
];

export async function checkSavedCallbacks(t: TestContext, examples: ExampleFolder): Promise<void> {
	await t.test(
		"a valid saved callback is accepted, also with a signature in capitals and header names in any case",
		async () => {
			const callback = saved();
			await expectGood(examples, callback);
			const signature = String(callback.headers["X-Service-Signature"]).toUpperCase();
			await expectGood(examples, withHeader(callback, "Signature", signature));
			const names = Object.entries(callback.headers).map(
				([name, value]) => [name.toLowerCase(), value] as const,
			);
			await expectGood(examples, { ...callback, headers: Object.fromEntries(names) });
		},
	);
	for (const [title, make, said] of WRONG) {
		await t.test(`a saved callback is refused with the reason (${title})`, async () => {
			const ended = await check(examples, make());
			equal(ended.code, 1, ended.stdout + ended.stderr);
			match(ended.stdout, said);
			equal(ended.stderr, "");
		});
	}
	await t.test("without a secret the receiver for saved callbacks says so", async () => {
		const ended = await check(examples, saved(), "");
		notEqual(ended.code, 0);
		match(ended.stderr, /RINGBACK_SIGNING_SECRET/);
	});
}

function saved(options: Partial<CallbackOptions> = {}): Callback {
	return makeCallback({
		secret: SECRET,
		target: TARGET,
		body: Buffer.from([0x7b, 0, 0xff, 0x0a, 0x0d, 0x0a]),
		...options,
	});
}

async function expectGood(examples: ExampleFolder, callback: Callback): Promise<void> {
	const ended = await check(examples, callback);
	equal(ended.code, 0, ended.stdout + ended.stderr);
	match(ended.stdout, /^Good/);
}

function check(examples: ExampleFolder, { target, headers, body }: Callback, secret = SECRET) {
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
	const args = [target, examples.write("headers.txt", lines.join("")), examples.write("body.bin", body)];
	return examples.runReceiver(args, secret);
}
