// Tests contract section 5. Every attempt is signed with the programme's secret and a new nonce, and the
// shop's own requests use the same scheme. callback-form.ts verifies each request of every suite.

import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import { type PostbackRequest, verifyPostback } from "@ringback/receiver";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { prepareSecret } from "#core/programmes/signing-secret.ts";
import { BODY_FIELDS, type ReceivedCallback } from "../support/callback-form.ts";
import { eachService } from "../support/running-service.ts";
import { expectValue } from "../support/shop-account.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";

eachService("section 5, authentication", (running) => {
	const receive = async (programme: ShopProgramme, orderId: string): Promise<ReceivedCallback> => {
		await programme.record(orderId);
		await programme.settled();
		const callback = programme.received.at(-1);
		ok(callback !== undefined && callback.body.orderId === orderId);
		return callback;
	};

	const verify = (
		{ request, headers, serviceNowMs }: ReceivedCallback,
		change: Partial<PostbackRequest> = {},
	) =>
		verifyPostback({
			path: request.path,
			headers: Object.fromEntries(headers),
			rawBody: request.body,
			secret: "",
			now: serviceNowMs,
			...change,
		});

	test("contract 5 signed: a delivery verifies with its programme's secret and with no other secret", async () => {
		const programme = await running.openProgramme();
		const other = await running.openProgramme();
		const callback = await receive(programme, "A-1");
		equal((await verify(callback, { secret: programme.secret })).ok, true);
		const refused = await verify(callback, { secret: other.secret });
		equal(!refused.ok && refused.reason, "bad_signature");
	});

	test("contract 5 first key: the first API key comes with the signing secret, and the second key does not change it", async () => {
		const programme = await running.openProgramme({ hasKey: false });
		const secret = await programme.issueKey();
		ok(secret !== null && secret.length >= 32);
		equal(await programme.issueKey(), null);
		const callback = await receive(programme, "A-1");
		equal((await verify(callback, { secret })).ok, true);
	});

	test("contract 5 canonical string, 5 signature, 2.1 X-Service-Signature: the signature is what section 5 says, computed by hand", async () => {
		const programme = await running.openProgramme({ url: running.shop.url("/some/path?name=value") });
		const { request, headers } = await receive(programme, "A-1");
		const digest = createHash("sha256").update(request.body).digest("hex");
		const timestamp = headers.get("X-Service-Timestamp");
		const nonce = headers.get("X-Service-Nonce");
		const canonical = `POST\n/some/path?name=value\n${timestamp}\n${nonce}\n${digest}`;
		const signature = createHmac("sha256", programme.secret).update(canonical).digest("hex");
		equal(headers.get("X-Service-Signature"), signature);
	});

	test("contract 5 same scheme: the shop's request is accepted as signed and refused if anything differs", async () => {
		const programme = await running.openProgramme();
		const other = await running.openProgramme();
		const body = { orderId: "A-1", basketValue: "1.00" };
		const { secret } = programme;
		programme.secret = other.secret;
		const refused = await programme.call("POST", "/v1/conversions", { body });
		deepEqual([refused.status, refused.json.code], [401, "bad_signature"]);
		programme.secret = secret;
		for (const headers of [
			{ "x-service-nonce": "0123456789abcdef" },
			{ "x-service-timestamp": String(Math.floor(running.clock.nowMs() / 1000) + 1) },
			{ "x-service-signature": "0".repeat(64) },
		]) {
			const changed = await programme.call("POST", "/v1/conversions", { body, headers });
			deepEqual([changed.status, changed.json.code], [401, "bad_signature"], JSON.stringify(headers));
		}
		deepEqual(await programme.deliveries(), []);
		equal((await programme.call("POST", "/v1/conversions", { body })).status, 201);
		await programme.settled();
	});

	test("contract 5 freshness: a receiver accepts a delivery for five minutes in both directions and no longer", async () => {
		const programme = await running.openProgramme();
		const callback = await receive(programme, "A-1");
		const sentAtMs = Number(callback.headers.get("X-Service-Timestamp")) * 1000;
		for (const [awayMs, isFresh] of [
			[300_000, true],
			[-300_000, true],
			[301_000, false],
			[-301_000, false],
		] as const) {
			const verified = await verify(callback, { secret: programme.secret, now: sentAtMs + awayMs });
			equal(verified.ok, isFresh, `${awayMs} ms away`);
		}
	});

	test("contract 5 fresh retry, 2.1 X-Service-Nonce, 2.1 sentAt: a retry differs in time, nonce and signature only", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.settled();
		await programme.retryNow();
		await programme.retryNow();
		for (const name of ["X-Service-Timestamp", "X-Service-Nonce", "X-Service-Signature"]) {
			equal(new Set(programme.received.map(({ headers }) => headers.get(name))).size, 3, name);
		}
		for (const { headers } of programme.received)
			match(headers.get("X-Service-Nonce") ?? "", /^[0-9a-f]{32}$/);
		const [first, second, third] = programme.received.map(({ body }) => body);
		const started = (await programme.attempts()).map((row) => new Date(row.started_at_ms).toISOString());
		deepEqual([first?.sentAt, second?.sentAt, third?.sentAt], started);
		for (const field of BODY_FIELDS) {
			if (field === "sentAt") continue;
			deepEqual([second?.[field], third?.[field]], [first?.[field], first?.[field]], field);
		}
	});

	test("contract 5 signed: a prepared secret signs no callback, and is valid for the shop's own requests", async () => {
		const programme = await running.openProgramme();
		const active = programme.secret;
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.settled();
		const prepared = expectValue(await prepareSecret(running.service, programme.programId, COMMAND_LINE));
		await programme.retryNow();
		for (const callback of programme.received) {
			equal((await verify(callback, { secret: active })).ok, true);
			equal((await verify(callback, { secret: prepared.secret })).ok, false);
		}
		programme.secret = prepared.secret;
		equal((await programme.call("GET", "/v1/conversions")).status, 200);
		programme.secret = active;
	});

	test("contract 5 signed: once the secret is replaced the next attempt signs with the new one", async () => {
		const programme = await running.openProgramme();
		const oldSecret = programme.secret;
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.settled();
		await programme.replaceSecret();
		notEqual(programme.secret, oldSecret);
		await programme.retryNow();
		const [first, second] = programme.received;
		ok(first !== undefined && second !== undefined);
		equal((await verify(first, { secret: oldSecret })).ok, true);
		equal((await verify(second, { secret: programme.secret })).ok, true);
		equal((await verify(second, { secret: oldSecret })).ok, false);
	});

	test("contract 4.3: the receiver library accepts a delivery as it arrives, and refuses every changed one", async () => {
		const programme = await running.openProgramme();
		const callback = await receive(programme, "A-1");
		const { request } = callback;
		const { secret } = programme;
		equal((await verify(callback, { secret })).ok, true);
		const reserialised = JSON.stringify(JSON.parse(request.body.toString("utf8")), null, 1);
		equal((await verify(callback, { secret, rawBody: reserialised })).ok, false);
		equal((await verify(callback, { secret, path: request.path.replace(/\?.*/, "") })).ok, false);
	});
});
