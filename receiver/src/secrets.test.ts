import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "./client/create-client.ts";
import { createReceiver } from "./receiver.ts";
import { readSecrets } from "./secrets.ts";
import { signRequest } from "./sign-request.ts";
import { createFakeService, exampleEvent, signCallback } from "./testing/testing.ts";

test("several secrets are a list, or a text with commas between them", () => {
	for (const given of [["new", "old"], "new,old", "new,,old,", ["new,old"], ["new", "", "old"]]) {
		deepEqual(readSecrets(given), ["new", "old"]);
	}
	for (const none of [undefined, "", ",", [], [""]]) throws(() => readSecrets(none), /secret is empty/);
});

test("a secret with a line break or quotation marks, or an API key in its place, is refused at the start, and not quoted", () => {
	const { clientOptions } = createFakeService();
	for (const [secret, sentence] of [
		["rbs_new\n", /white space around it/],
		["rbs_new,\nrbs_old", /white space around it/],
		["rbs_new\nrbs_old", /line break in it/],
		[["rbs_new", " rbs_old"], /white space around it/],
		[["rbs_new", "rbk_key"], /swapped|API key/],
		["rbs_new \\", /64 hexadecimal digits/],
		["rbs_new rbs_old", /64 hexadecimal digits/],
		["rbs_new;rbs_old", /64 hexadecimal digits/],
		['"rbs_new"', /64 hexadecimal digits/],
		["RINGBACK_SIGNING_SECRET=rbs_new", /64 hexadecimal digits/],
		// A secret of the service whose end was not copied.
		[`rbs_${"5e".repeat(31)}5`, /64 hexadecimal digits/],
	] as const) {
		for (const create of [
			() => createClient({ ...clientOptions, secret }),
			() => createReceiver({ secret, onEvent: () => undefined }),
		]) {
			throws(
				create,
				(error: Error) => sentence.test(error.message) && !/rbs_new|rbs_old|rbk_key/.test(error.message),
			);
		}
	}
});

test("a secret of the service, a short one for tests and one of another form are accepted", () => {
	for (const secret of [
		`rbs_${"5e".repeat(32)}`,
		"rbs_fake",
		"rbs_never-shown_1",
		"another form; as it is",
	]) {
		deepEqual(readSecrets(secret), [secret]);
	}
});

test("the first secret signs, of the client and of signRequest", async () => {
	const request = { method: "GET", path: "/", apiKey: "rbk_a", now: 0, nonce: "12345678" };
	const [one, several] = await Promise.all(
		["rbs_new", "rbs_new,rbs_old"].map((secret) => signRequest({ ...request, secret })),
	);
	deepEqual(one, several);
	const service = createFakeService({ secret: "rbs_new" });
	const sale = { orderId: "1", basketValue: "1.00" };
	const outcome = async (secret: readonly string[]) => {
		const result = await createClient({ ...service.clientOptions, secret }).record(sale);
		return result.ok ? result.outcome : [result.kind, result.code];
	};
	equal(await outcome(["rbs_new", "rbs_old"]), "RECORDED");
	deepEqual(await outcome(["rbs_old", "rbs_new"]), ["misconfigured", "bad_signature"]);
	deepEqual(await outcome(["rbs_one", "rbs_two"]), ["misconfigured", "bad_signature"]);
});

test("a function is asked once for every call, and a call without a secret fails without a request or an error", async () => {
	const service = createFakeService({ secret: "rbs_new" });
	let secret: string | undefined = "rbs_new";
	let asked = 0;
	const findSecret = async () => {
		asked++;
		return secret;
	};
	const client = createClient({ ...service.clientOptions, secret: findSecret });
	equal((await client.record({ orderId: "1", basketValue: "1.00" })).ok, true);
	equal((await client.recordMany([{ orderId: "1", basketValue: "1.00" }])).ok, true);
	equal(asked, 2);
	for (const broken of [undefined, "rbs_new\n"]) {
		secret = broken;
		for (const result of [
			await client.record({ orderId: "2", basketValue: "1.00" }),
			await client.recordMany([{ orderId: "2", basketValue: "1.00" }]),
		]) {
			deepEqual(!result.ok && [result.kind, result.retryable, result.code], [
				"misconfigured",
				true,
				"no_usable_secret",
			]);
		}
	}
	equal(service.calls().length, 2);
});

test("a receiver accepts callbacks of each of its secrets, given as one text", async () => {
	const refused: string[] = [];
	const receiver = createReceiver({
		secret: "rbs_new,rbs_old",
		onEvent: () => undefined,
		onRefused: ({ detail }) => refused.push(detail),
	});
	for (const [secret, status] of [
		["rbs_new", 204],
		["rbs_old", 204],
		["rbs_third", 401],
	] as const) {
		const { answer } = await receiver.receive(await signCallback(exampleEvent(), { secret }));
		equal(answer.status, status);
	}
	equal(refused.length, 1);
	equal(refused[0]?.startsWith("None of your secrets produces this signature."), true);
});
