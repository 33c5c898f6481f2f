// The shell has no server: its receiver looks at one callback that was saved, and says what is wrong with it.

import { equal, match, notEqual } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Callback, type CallbackOptions, makeCallback, secondsFromNow } from "./callback.ts";
import type { ExampleFolder } from "./example-folder.ts";

const SECRET = 'it\'s a "secret" with $HOME and `id`';
const TARGET = "/p%C3%A9age/a%2Fb?tag=one&tag=two&q=%26%3D%20+&empty=&flag";

interface WrongCase {
	title: string;
	change: (callback: Callback) => Callback;
	said: RegExp;
}

const NO_TIMESTAMPS = ["", "12e3", "+1794710977", "１２３", "9".repeat(30), "1; id", "$(id)", "-1"];
const WRONG: readonly WrongCase[] = [
	{
		title: "another body",
		change: (callback) => ({ ...callback, body: Buffer.from("{}\n") }),
		said: /signature/,
	},
	{ title: "another path", change: (callback) => ({ ...callback, target: "/postback" }), said: /signature/ },
	{
		title: "another nonce",
		change: (callback) => withHeader(callback, "Nonce", "0".repeat(32)),
		said: /signature/,
	},
	{ title: "an empty nonce, signed", change: () => saved({ nonce: "" }), said: /nonce/ },
	{ title: "another secret", change: () => saved({ secret: "other" }), said: /signature/ },
	{ title: "no signature", change: (callback) => withHeader(callback, "Signature", ""), said: /signature/ },
	{ title: "301 seconds old", change: () => saved({ timestamp: secondsFromNow(-301) }), said: /300/ },
	{ title: "310 seconds ahead", change: () => saved({ timestamp: secondsFromNow(310) }), said: /300/ },
	...NO_TIMESTAMPS.map((timestamp) => ({
		title: `timestamp "${timestamp}"`,
		change: () => saved({ timestamp }),
		said: /timestamp/,
	})),
];

export async function checkSavedCallbacks(t: TestContext, examples: ExampleFolder): Promise<void> {
	await t.test(
		"a good one is called good, with a signature in capitals and names in any case too",
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
	for (const { title, change, said } of WRONG) {
		await t.test(`${title} is called wrong, and why`, async () => {
			const ended = await check(examples, change(saved()));
			equal(ended.code, 1, ended.stdout + ended.stderr);
			match(ended.stdout, said);
			equal(ended.stderr, "");
		});
	}
	await t.test("without a secret it says so", async () => {
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

function withHeader(callback: Callback, name: string, value: string): Callback {
	return { ...callback, headers: { ...callback.headers, [`X-Service-${name}`]: value } };
}
