// Contract section 2.1, the headers. The exact set of headers and their agreement with the body are checked for
// every request of every suite: test/support/callback-form.ts.

import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { test } from "node:test";
import type { ReceivedCallback } from "../support/callback-form.ts";
import { eachService } from "../support/running-service.ts";

eachService("section 2.1, headers", (running) => {
	const receiveOne = async (): Promise<ReceivedCallback> => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		await programme.settled();
		const [callback] = programme.received;
		if (callback === undefined) throw new Error("nothing was received");
		return callback;
	};

	test("contract 2.1 headers: a delivery has the contract's six headers and what HTTP itself needs", async () => {
		const { headers } = await receiveOne();
		deepEqual([...headers.keys()].map((name) => name.toLowerCase()).sort(), [
			"connection",
			"content-length",
			"content-type",
			"host",
			"user-agent",
			"x-service-event",
			"x-service-nonce",
			"x-service-signature",
			"x-service-timestamp",
		]);
	});

	test("contract 2.1 Content-Type, 2.1 User-Agent: application/json and service-postback/1, to the letter", async () => {
		const { headers } = await receiveOne();
		equal(headers.get("Content-Type"), "application/json");
		equal(headers.get("User-Agent"), "service-postback/1");
	});

	test("contract 2.1 X-Service-Event: the event's name, equal to the body's", async () => {
		const { headers, body } = await receiveOne();
		equal(headers.get("X-Service-Event"), "conversion.recorded");
		equal(body.event, "conversion.recorded");
	});

	test("contract 2.1 X-Service-Timestamp: whole Unix seconds of the attempt, digits only", async () => {
		await running.clock.moveBy(999 - (running.clock.nowMs() % 1000));
		const { headers, body } = await receiveOne();
		const timestamp = headers.get("X-Service-Timestamp") ?? "";
		match(timestamp, /^\d{10}$/);
		equal(timestamp, String(Math.floor(Date.parse(String(body.sentAt)) / 1000)));
	});

	test("contract 2.1 X-Service-Nonce: hex, and another one for each attempt", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.settled();
		await programme.retryNow();
		const [first, second] = programme.received.map(({ headers }) => headers.get("X-Service-Nonce") ?? "");
		match(first ?? "", /^[0-9a-f]{32}$/);
		match(second ?? "", /^[0-9a-f]{32}$/);
		notEqual(first, second);
	});

	test("contract 2.1 X-Service-Signature: 64 hex digits in lower case", async () => {
		const { headers } = await receiveOne();
		match(headers.get("X-Service-Signature") ?? "", /^[0-9a-f]{64}$/);
	});

	test("contract 2.1 same trio: the names in a callback are those the shop signs its own requests with", async () => {
		const { headers } = await receiveOne();
		const programme = await running.openProgramme();
		const trio = [...headers.keys()].filter((name) => /^X-Service-(Timestamp|Nonce|Signature)$/.test(name));
		equal(trio.length, 3);
		for (const name of trio) {
			const body = { orderId: name, basketValue: "1.00" };
			const refused = await programme.call("POST", "/v1/conversions", {
				body,
				headers: { [name]: undefined },
			});
			deepEqual([refused.status, refused.json.code], [401, "missing_signature_header"], name);
		}
		deepEqual(await programme.deliveries(), []);
	});
});

eachService(
	"section 2.1, another brand",
	(running) => {
		test("contract 2.1 brand prefix: the brand names the four headers and the user agent, both ways", async () => {
			const programme = await running.openProgramme();
			equal((await programme.record("A-1")).outcome, "RECORDED");
			await programme.settled();
			const [callback] = programme.received;
			const names = [...(callback?.headers.keys() ?? [])];
			deepEqual(names.filter((name) => /^x-/i.test(name)).sort(), [
				"X-Acme-Event",
				"X-Acme-Nonce",
				"X-Acme-Signature",
				"X-Acme-Timestamp",
			]);
			equal(callback?.headers.get("User-Agent"), "acme-postback/1");
			const body = { orderId: "A-2", basketValue: "1.00" };
			const underOldName = await programme.call("POST", "/v1/conversions", { body, brand: "Service" });
			equal(underOldName.json.code, "missing_signature_header");
		});
	},
	{ RINGBACK_BRAND: "Acme" },
);
