import assert from "node:assert/strict";
import { mock, type TestContext, test } from "node:test";
import type { PostbackEvent } from "./event.ts";
import { createNonceMemory, type NonceMemory } from "./nonce-memory.ts";
import { createReceiver } from "./receiver.ts";
import type { ReceiverOptions, Refused } from "./receiver-options.ts";
import { sampleDelivery, sampleEvent, sampleSeconds, sampleSecret } from "./sample-delivery.test-support.ts";

type Sample = Parameters<typeof sampleDelivery>[0];

test("a genuine delivery is stored, then answered 204 with nothing else, and only then processed", async () => {
	const steps: string[] = [];
	const shop = openShop({
		store: () => {
			steps.push("store");
			return "stored";
		},
		onEvent: () => steps.push("work"),
	});
	const { answer, finish } = await shop.receive();
	assert.deepEqual(answer, { status: 204, headers: {}, body: "" });
	assert.deepEqual(steps, ["store"]);
	await finish?.();
	assert.deepEqual(steps, ["store", "work"]);
});

test("a repeat is answered 204 and not worked on, while the first is still in work or done", async () => {
	const shop = openShop();
	const first = await shop.receive();
	const second = await shop.receive({ nonce: "0002" });
	assert.deepEqual([second.answer.status, second.finish], [204, undefined]);
	await first.finish?.();
	assert.deepEqual([(await shop.receive({ nonce: "0003" })).answer.status, shop.worked.length], [204, 1]);
});

test("of two concurrent deliveries of one event, one is processed", async () => {
	const shop = openShop();
	const both = await Promise.all([shop.receive({ nonce: "0001" }), shop.receive({ nonce: "0002" })]);
	await Promise.all(both.map(({ finish }) => finish?.()));
	assert.deepEqual(
		both.map(({ answer }) => answer.status),
		[204, 204],
	);
	assert.equal(shop.worked.length, 1);
});

test("work is done once, however often finish is called", async () => {
	const shop = openShop();
	const { finish } = await shop.receive();
	await Promise.all([finish?.(), finish?.()]);
	assert.equal(shop.worked.length, 1);
});

const refusals: [number, Refused["reason"], string, Sample, Partial<ReceiverOptions>?][] = [
	[401, "bad_signature", "another secret", { secret: "other" }],
	[401, "stale_timestamp", "an old timestamp", { timestamp: String(sampleSeconds - 301) }],
	[401, "malformed_timestamp", "a timestamp that is none", { timestamp: "soon" }],
	[401, "missing_header", "the headers of another brand", { brand: "Acme" }],
	[400, "malformed_body", "a genuine body that is no event", { rawBody: "{}" }],
	[413, "body_too_large", "a body over the limit", { rawBody: " ".repeat(65_537) }],
	[413, "body_too_large", "a body over a limit of one's own", {}, { maxBodyBytes: 100 }],
];
for (const [status, reason, condition, changes, options = {}] of refusals) {
	test(`${status} and ${reason} for ${condition}, and nothing is stored`, async () => {
		const shop = openShop({ ...options, store: () => assert.fail("it was stored") });
		const { answer, finish } = await shop.receive(changes);
		assert.deepEqual([answer.status, finish], [status, undefined]);
		assert.match(answer.body, new RegExp(`^${reason}: .+\\.\n$`));
		assert.deepEqual(
			shop.refused.map((one) => [one.status, one.reason]),
			[[status, reason]],
		);
		assert.deepEqual(shop.errors, []);
	});
}

test("the report about a request that does not verify gets the request as it arrived", async () => {
	const received: unknown[] = [];
	const shop = openShop({ secret: "another", onRefused: (_, request) => received.push(request) });
	await shop.receive();
	await shop.receiver.receive({ ...arrivalOf(), method: "GET" });
	const { path, headers, rawBody } = sampleDelivery();
	const ofSignature = Object.entries(headers).filter(([name]) => /^x-service-/i.test(name));
	assert.deepEqual(received, [
		{ path, headers: Object.fromEntries(ofSignature), body: String(rawBody) },
		undefined,
	]);
});

test("a copy of a delivery is refused with 401, unless no nonces are remembered", async () => {
	const shop = openShop();
	assert.equal((await shop.receive()).answer.status, 204);
	assert.equal((await shop.receive()).answer.status, 401);
	assert.deepEqual(
		shop.refused.map(({ reason }) => reason),
		["replayed_nonce"],
	);
	const forgetful = openShop({ nonces: false });
	assert.equal((await forgetful.receive()).answer.status, 204);
	assert.equal((await forgetful.receive()).answer.status, 204);
	assert.equal(forgetful.worked.length, 0);
});

for (const method of ["GET", "HEAD", "PUT", "DELETE", "post", ""]) {
	test(`405 with a sentence and the method to use for ${JSON.stringify(method)}`, async () => {
		const shop = openShop();
		const { answer } = await shop.receiver.receive({ ...arrivalOf(), method });
		assert.equal(answer.status, 405);
		assert.equal(answer.headers["allow"], "POST");
		assert.match(answer.body, /callbacks/);
	});
}

test("503 when storing fails; the same request is accepted again and then processed", async () => {
	let isBroken = true;
	const shop = openShop({
		store: () => (isBroken ? Promise.reject(new Error("the disk is full")) : "stored"),
	});
	const failed = await shop.receive();
	assert.deepEqual([failed.answer.status, failed.finish], [503, undefined]);
	assert.doesNotMatch(failed.answer.body, /disk/);
	assert.match(String(shop.errors[0]), /disk is full/);
	isBroken = false;
	const again = await shop.receive();
	await again.finish?.();
	assert.deepEqual([again.answer.status, shop.worked.length], [204, 1]);
});

test("503 if the store does not say whether the event was new", async () => {
	const shop = openShop({ store: (() => undefined) as unknown as () => "stored" });
	assert.equal((await shop.receive()).answer.status, 503);
	assert.match(String(shop.errors[0]), /"stored" or "seen"/);
});

test("503 when storing hangs; if it succeeds later, the event is processed although its repeat is not", async (t) => {
	const passDeadline = stopTime(t);
	const hung = Promise.withResolvers<"stored">();
	const results: (() => Promise<"stored"> | "seen")[] = [() => passDeadline(hung.promise), () => "seen"];
	const shop = openShop({ store: () => results.shift()?.() ?? assert.fail("asked too often") });
	const late = await shop.receive();
	assert.equal(late.answer.status, 503);
	assert.match(String(shop.errors[0]), /Storing took longer than 4000 ms/);
	const repeat = await shop.receive({ nonce: "0002" });
	assert.deepEqual([repeat.answer.status, repeat.finish], [204, undefined]);
	const finished = late.finish?.();
	assert.equal(shop.worked.length, 0);
	hung.resolve("stored");
	await finished;
	assert.equal(shop.worked.length, 1);
});

test("503 when a hanging store fails in the end: it is reported, and nothing is processed", async (t) => {
	const passDeadline = stopTime(t);
	const hung = Promise.withResolvers<"stored">();
	const shop = openShop({ store: () => passDeadline(hung.promise) });
	const late = await shop.receive();
	assert.equal(late.answer.status, 503);
	hung.reject(new Error("the connection was lost"));
	await late.finish?.();
	assert.match(String(shop.errors[1]), /connection was lost/);
	assert.equal(shop.worked.length, 0);
});

test("after a 503 because storing hung, the same request is accepted again and told that it was stored", async (t) => {
	const passDeadline = stopTime(t);
	const hung = Promise.withResolvers<"stored">();
	const results: (() => Promise<"stored"> | "seen")[] = [() => passDeadline(hung.promise), () => "seen"];
	const shop = openShop({ store: () => results.shift()?.() ?? assert.fail("asked too often") });
	const late = await shop.receive();
	assert.equal(late.answer.status, 503);
	hung.resolve("stored");
	await late.finish?.();
	const copy = await shop.receive();
	assert.deepEqual([copy.answer.status, copy.finish, shop.worked.length], [204, undefined, 1]);
});

test("after a 503 because the nonce memory was slow, the nonce is released as soon as it was claimed", async (t) => {
	const passDeadline = stopTime(t);
	const memory = createNonceMemory({ now: () => sampleSeconds * 1000 });
	const slow = Promise.withResolvers<void>();
	let isSlow = true;
	const remember: NonceMemory["remember"] = async (nonce, forMs) => {
		if (isSlow) await passDeadline(slow.promise);
		return memory.remember(nonce, forMs);
	};
	const shop = openShop({ nonces: { ...memory, remember } });
	assert.equal((await shop.receive()).answer.status, 503);
	slow.resolve();
	await new Promise(setImmediate);
	isSlow = false;
	const copy = await shop.receive();
	await copy.finish?.();
	assert.deepEqual([copy.answer.status, shop.worked.length], [204, 1]);
});

test("a copy of an accepted request stays refused, although its own check was too late for an answer", async (t) => {
	const passDeadline = stopTime(t);
	const memory = createNonceMemory({ now: () => sampleSeconds * 1000 });
	const slow = Promise.withResolvers<void>();
	let isSlow = false;
	const remember: NonceMemory["remember"] = async (nonce, forMs) => {
		if (isSlow) await passDeadline(slow.promise);
		return memory.remember(nonce, forMs);
	};
	const shop = openShop({ nonces: { ...memory, remember } });
	assert.equal((await shop.receive()).answer.status, 204);
	isSlow = true;
	assert.equal((await shop.receive()).answer.status, 503);
	slow.resolve();
	await new Promise(setImmediate);
	isSlow = false;
	assert.equal((await shop.receive()).answer.status, 401);
});

test("after a 503 because the nonce memory lost its answer, the same request is accepted again", async () => {
	const memory = createNonceMemory({ now: () => sampleSeconds * 1000 });
	let isBroken = true;
	const remember: NonceMemory["remember"] = async (nonce, forMs) => {
		const isNew = await memory.remember(nonce, forMs);
		if (isBroken) throw new Error("the connection was lost");
		return isNew;
	};
	const shop = openShop({ nonces: { ...memory, remember } });
	assert.equal((await shop.receive()).answer.status, 503);
	isBroken = false;
	assert.equal((await shop.receive()).answer.status, 204);
});

test("a nonce memory that hangs in forget delays no answer", async () => {
	const nonces = { remember: () => true, forget: () => new Promise(() => undefined) };
	const shop = openShop({ nonces, store: throwNow });
	assert.equal((await shop.receive()).answer.status, 503);
});

test("a nonce memory that fails in forget is reported, and changes no answer", async () => {
	for (const forget of [throwNow, () => Promise.reject(new Error("no stock"))]) {
		const shop = openShop({
			nonces: { remember: () => true, forget },
			store: () => Promise.reject(new Error("the disk is full")),
		});
		assert.equal((await shop.receive()).answer.status, 503);
		await new Promise(setImmediate);
		assert.deepEqual(shop.errors.map(String).sort(), ["Error: no stock", "Error: the disk is full"]);
	}
});

test("503 when the nonce memory hangs", async (t) => {
	const passDeadline = stopTime(t);
	const shop = openShop({
		answerWithinMs: 50,
		nonces: { remember: () => passDeadline(new Promise<boolean>(() => undefined), 50) },
	});
	assert.equal((await shop.receive()).answer.status, 503);
	assert.match(String(shop.errors[0]), /Checking the request took longer than 50 ms/);
});

const outOfOrder: [string, Partial<ReceiverOptions>][] = [
	["the nonce memory fails", { nonces: { remember: () => Promise.reject(new Error("no memory")) } }],
	[
		"the nonce memory hangs",
		{ answerWithinMs: 20, nonces: { remember: () => new Promise(() => undefined) } },
	],
	["the secret cannot be found", { secret: () => Promise.reject(new Error("no vault")) }],
	["the secret is empty", { secret: () => undefined }],
	["every secret is empty", { secret: () => ["", ""] }],
	[
		"the path cannot be restored",
		{
			path: () => {
				throw new Error("no path");
			},
		},
	],
];
for (const [condition, options] of outOfOrder) {
	test(`503 and not a refusal when ${condition}, because a 4xx would end the delivery`, async () => {
		const shop = openShop(options);
		assert.equal((await shop.receive()).answer.status, 503);
		assert.deepEqual([shop.errors.length, shop.refused.length, shop.worked.length], [1, 0, 0]);
	});
}

test("408 if the body does not end", async (t) => {
	const passDeadline = stopTime(t);
	const shop = openShop();
	const body = new ReadableStream({ pull: () => passDeadline(new Promise<void>(() => undefined)) });
	const headers = sampleDelivery().headers;
	const init = { method: "POST", headers, body, duplex: "half" as const };
	const response = await shop.receiver.fetch(new Request("http://shop.example/postback", init));
	assert.equal(response.status, 408);
	assert.deepEqual(
		shop.refused.map(({ reason }) => reason),
		["body_too_slow"],
	);
});

test("an event whose work fails was acknowledged, and is reported with its error", async () => {
	for (const onEvent of [() => Promise.reject(new Error("no stock")), throwNow]) {
		const reported: unknown[][] = [];
		const shop = openShop({ onEvent, onError: (...report) => reported.push(report) });
		const { answer, finish } = await shop.receive();
		assert.equal(answer.status, 204);
		await finish?.();
		assert.deepEqual(reported, [[new Error("no stock"), sampleEvent]]);
	}
});

test("a report that throws changes no answer", async () => {
	const logged = mock.method(console, "error", () => undefined);
	try {
		const shop = openShop({ onRefused: throwNow, onError: throwNow, onEvent: throwNow });
		assert.equal((await shop.receive({ secret: "other" })).answer.status, 401);
		const { answer, finish } = await shop.receive();
		await finish?.();
		assert.equal(answer.status, 204);
		assert.equal(logged.mock.callCount(), 2);
	} finally {
		logged.mock.restore();
	}
});

test("a report that rejects changes no answer, and its promise is handled", async () => {
	const logged = mock.method(console, "error", () => undefined);
	const reject = () => Promise.reject(new Error("the log is away"));
	try {
		// A promise that rejects without a handler fails the test, because it would end the shop's process.
		const shop = openShop({ onRefused: reject, onError: reject, onEvent: throwNow });
		assert.equal((await shop.receive({ secret: "other" })).answer.status, 401);
		const { answer, finish } = await shop.receive();
		await finish?.();
		await new Promise(setImmediate);
		assert.equal(answer.status, 204);
		const said = logged.mock.calls.map((call) => call.arguments.map(String).join(" "));
		const itself = "onError itself failed: Error: the log is away It was called for:";
		assert.deepEqual(said, [`${itself} Error: the log is away`, `${itself} Error: no stock`]);
	} finally {
		logged.mock.restore();
	}
});

test("a refusal's report that rejects is passed to onError", async () => {
	const shop = openShop({ onRefused: () => Promise.reject(new Error("the log is away")) });
	await shop.receive({ secret: "other" });
	await new Promise(setImmediate);
	assert.deepEqual(shop.errors, [new Error("the log is away")]);
});

test("without custom reports the console says what was refused and what failed, and no secret", async () => {
	const said: string[] = [];
	const listen = (...words: unknown[]) => said.push(words.map(String).join(" "));
	const consoles = [mock.method(console, "warn", listen), mock.method(console, "error", listen)];
	try {
		const shop = openShop({ onRefused: undefined, onError: undefined, onEvent: throwNow });
		await shop.receive({ secret: "other" });
		const { finish } = await shop.receive();
		await finish?.();
	} finally {
		for (const one of consoles) one.mock.restore();
	}
	assert.match(said[0] ?? "", /^Callback refused with 401, bad_signature: /);
	assert.match(said[1] ?? "", /^Callback conversion\.rejected of cnv_01HX3Y7R2K: Error: no stock/);
	assert.ok(!said.join().includes(sampleSecret));
});

test("test events are processed unless they are to be ignored: then they are answered and not stored", async () => {
	const rawBody = JSON.stringify({ ...sampleEvent, test: true });
	const shop = openShop();
	await (await shop.receive({ rawBody })).finish?.();
	assert.equal(shop.worked[0]?.test, true);
	const live = openShop({ ignoreTests: true, store: () => assert.fail("it was stored") });
	const { answer, finish } = await live.receive({ rawBody });
	assert.deepEqual([answer.status, finish], [204, undefined]);
});

test("while a secret is being replaced both are valid, and a function is called each time", async () => {
	let secrets = ["old", "new"];
	const shop = openShop({ secret: async () => secrets });
	assert.equal((await shop.receive({ secret: "old", nonce: "01" })).answer.status, 204);
	assert.equal((await shop.receive({ secret: "new", nonce: "02" })).answer.status, 204);
	secrets = ["new"];
	assert.equal((await shop.receive({ secret: "old", nonce: "03" })).answer.status, 401);
	assert.equal((await shop.receive({ secret: "new", nonce: "04" })).answer.status, 204);
});

test("a path that a proxy changed is restored, by a text or a function", async () => {
	const arrival = { ...arrivalOf({ path: "/shop/postback?shop=42" }), path: "/postback?shop=42" };
	const behind = (path: NonNullable<ReceiverOptions["path"]>) => openShop({ path }).receiver.receive(arrival);
	assert.equal((await openShop().receiver.receive(arrival)).answer.status, 401);
	assert.equal((await behind("/shop/postback?shop=42")).answer.status, 204);
	assert.equal((await behind((received) => `/shop${received}`)).answer.status, 204);
});

function openShop(options: Partial<ReceiverOptions> = {}) {
	const worked: PostbackEvent[] = [];
	const refused: Refused[] = [];
	const errors: unknown[] = [];
	const receiver = createReceiver({
		secret: sampleSecret,
		onEvent: (event) => worked.push(event),
		now: () => sampleSeconds * 1000,
		onRefused: (one) => refused.push(one),
		onError: (error) => errors.push(error),
		...options,
	});
	const receive = (changes?: Sample) => receiver.receive(arrivalOf(changes));
	return { receiver, receive, worked, refused, errors };
}

/** Stops the clock. Time then passes only when the test moves it, even on a slow machine. */
function stopTime(t: TestContext) {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	return <Value>(hung: Promise<Value>, byMs = 4000): Promise<Value> => {
		setImmediate(() => t.mock.timers.tick(byMs));
		return hung;
	};
}

function arrivalOf(changes?: Sample) {
	const { path, headers, rawBody } = sampleDelivery(changes);
	return { method: "POST", path, headers, body: rawBody };
}

function throwNow(): never {
	throw new Error("no stock");
}
