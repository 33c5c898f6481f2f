// Tests contract section 2.1, the headers and the fourteen fields of a delivery. support/callback-form.ts
// checks the exact set of headers, and the names, order, types and consistency of the fields, for every
// request.

import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { EVENT_TYPES, REASONS } from "#core/domain/conversion.ts";
import { BODY_FIELDS, type ReceivedCallback } from "../support/callback-form.ts";
import { eachService } from "../support/running-service.ts";

eachService("section 2, resources and their fields", (running) => {
	const receiveOne = async (): Promise<ReceivedCallback> => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		await programme.settled();
		const [callback] = programme.received;
		if (callback === undefined) throw new Error("nothing was received");
		return callback;
	};

	test("contract 2.1 headers, 4.1 method, 4.1 headers and body, 9 only marker: a delivery has these headers and no others", async () => {
		const { request, headers, body } = await receiveOne();
		equal(request.method, "POST");
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
		deepEqual(Object.keys(body), [...BODY_FIELDS]);
		const others = [...headers].filter(([name]) => name !== "User-Agent");
		equal(/\bversion|\bv\d|\/\d|ringback/i.test(others.flat().join("\n")), false);
	});

	test("contract 2.1 Content-Type, 2.1 User-Agent, 2.1 X-Service-Event, 6 event name, 9 User-Agent: the headers are right for all four events", async () => {
		const programme = await running.openProgramme();
		for (const orderId of ["A-1", "A-2"]) await programme.record(orderId);
		await programme.approve("A-1");
		await programme.reverse("A-1", "RETURN");
		await programme.reject("A-2", "DUPLICATE");
		await programme.settled();
		for (const { headers, body } of programme.received) {
			deepEqual(
				["Content-Type", "User-Agent", "X-Service-Event"].map((name) => headers.get(name)),
				["application/json", "service-postback/1", body.event],
			);
		}
		deepEqual([...new Set(programme.events)].sort(), [
			"conversion.approved",
			"conversion.recorded",
			"conversion.rejected",
			"conversion.reversed",
		]);
	});

	test("contract 2.1 X-Service-Timestamp: whole Unix seconds of the attempt, digits only", async () => {
		await running.clock.moveBy(999 - (running.clock.nowMs() % 1000));
		const { headers, body } = await receiveOne();
		const timestamp = headers.get("X-Service-Timestamp") ?? "";
		match(timestamp, /^\d{10}$/);
		equal(timestamp, String(Math.floor(Date.parse(String(body.sentAt)) / 1000)));
	});

	test("contract 2.1 same trio: a callback's signature headers have the same names as those of the shop's own requests", async () => {
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

	test("contract 2.1 body: a delivery says exactly what happened, field by field", async () => {
		const programme = await running.openProgramme();
		const createdAtMs = running.clock.nowMs();
		const { conversion } = await programme.record("A-1", { basketValue: "129.9" });
		await programme.settled();
		const [callback] = programme.received;
		deepEqual(callback?.body, {
			event: "conversion.recorded",
			conversionId: conversion?.id,
			orderId: "A-1",
			programId: programme.programId,
			status: "RECORDED",
			eventType: "SALE",
			basketValue: "129.90",
			commission: "10.39",
			networkFee: "3.25",
			currency: "EUR",
			reason: null,
			test: false,
			occurredAt: new Date(createdAtMs).toISOString(),
			sentAt: new Date((await programme.attempts())[0]?.started_at_ms ?? 0).toISOString(),
		});
	});

	test("contract 2.1 conversionId, 2.1 orderId, 2.1 programId: the ids stay the same through every event", async () => {
		const programme = await running.openProgramme();
		const orderId = 'Größe 42 / "zwei" \\ 订单 🛒';
		const { conversion } = await programme.record(orderId);
		await programme.approve(orderId);
		await programme.reverse(orderId, "RETURN");
		await programme.settled();
		equal(programme.received.length, 3);
		for (const { body } of programme.received) {
			deepEqual(
				[body.conversionId, body.orderId, body.programId],
				[conversion?.id, orderId, programme.programId],
			);
		}
	});

	test("contract 2.1 status: the status is that of the moment of the event, however late it is sent", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 503 });
		await programme.record("A-1");
		await programme.approve("A-1");
		await programme.reverse("A-1", "RETURN");
		await programme.settled();
		programme.answer = () => ({ status: 204 });
		while ((await programme.deliveries()).some(({ state }) => state === "pending"))
			await programme.retryNow();
		const late = programme.received.slice(-3).map(({ body }) => [body.event, body.status, body.reason]);
		deepEqual(late.sort(), [
			["conversion.approved", "APPROVED", null],
			["conversion.recorded", "RECORDED", null],
			["conversion.reversed", "REVERSED", "RETURN"],
		]);
	});

	test("contract 2.1 eventType: the kind of conversion is sent as it was reported", async () => {
		const programme = await running.openProgramme();
		for (const eventType of EVENT_TYPES) await programme.record("A-1", { eventType });
		await programme.settled();
		deepEqual(programme.received.map(({ body }) => body.eventType).sort(), [...EVENT_TYPES].sort());
	});

	for (const [currency, basketValue, sent] of [
		["EUR", "0.1", ["0.10", "0.01", "0.00"]],
		["JPY", "1299", ["1299", "104", "32"]],
		["BHD", "12.345", ["12.345", "0.988", "0.309"]],
		["EUR", "999999999999.99", ["999999999999.99", "80000000000.00", "25000000000.00"]],
	] as const) {
		test(`contract 2.1 basketValue, 2.1 commission, 2.1 networkFee, 2.1 currency, 2.1 amounts: the amounts of a basket of ${basketValue} ${currency} are exact`, async () => {
			const programme = await running.openProgramme({ currency });
			await programme.record("A-1", { basketValue, currency });
			await programme.settled();
			const [callback] = programme.received;
			const body = callback?.body;
			deepEqual([body?.basketValue, body?.commission, body?.networkFee], sent);
			equal(body?.currency, currency);
			const text = callback?.request.body.toString("utf8") ?? "";
			equal(/:\s*-?\d/.test(text.replace(/"[^"]*"(?=[,}])/g, '""')), false, "no JSON number anywhere");
		});
	}

	test("contract 2.1 reason: null for records and approvals, set for every rejection and reversal", async () => {
		const programme = await running.openProgramme();
		for (const [index, reason] of REASONS.entries()) {
			await programme.record(reason);
			if (index % 2 === 0) await programme.reject(reason, reason);
			else await programme.approve(reason).then(() => programme.reverse(reason, reason));
		}
		await programme.settled();
		for (const { body } of programme.received) {
			const isReasoned = body.event === "conversion.rejected" || body.event === "conversion.reversed";
			equal(body.reason, isReasoned ? body.orderId : null);
		}
		const without = await programme.call("POST", "/v1/reversals", { body: { orderId: "RETURN" } });
		equal(without.json.code, "missing_reason");
	});

	test("contract 2.1 test, 6 test: every event of a test conversion says test: true, no other does", async () => {
		const programme = await running.openProgramme();
		for (const [orderId, isTest] of [
			["T", true],
			["A", false],
		] as const) {
			for (const suffix of ["1", "2"]) await programme.record(orderId + suffix, { test: isTest });
			await programme.approve(`${orderId}1`);
			await programme.reverse(`${orderId}1`, "CHARGEBACK");
			await programme.reject(`${orderId}2`, "TEST_ORDER");
		}
		await programme.settled();
		equal(programme.received.length, 10);
		for (const { body } of programme.received) equal(body.test, String(body.orderId).startsWith("T"));
	});

	test("contract 2.1 occurredAt: the time of the sale in UTC with milliseconds, the same in every event", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1", { occurredAt: "2026-01-10T13:30:00.5+01:00" });
		await programme.approve("A-1");
		await programme.settled();
		deepEqual(
			programme.received.map(({ body }) => body.occurredAt),
			["2026-01-10T12:30:00.500Z", "2026-01-10T12:30:00.500Z"],
		);
	});
});

eachService(
	"section 2.1, another brand",
	(running) => {
		test("contract 2.1 brand prefix: the brand is part of the four headers of callbacks and of the headers of the shop's requests, and the user agent has none", async () => {
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
			equal(callback?.headers.get("User-Agent"), "service-postback/1");
			const body = { orderId: "A-2", basketValue: "1.00" };
			const underOldName = await programme.call("POST", "/v1/conversions", { body, brand: "Service" });
			equal(underOldName.json.code, "missing_signature_header");
		});
	},
	{ RINGBACK_BRAND: "Acme" },
);
