// Contract section 2.1, the fourteen fields of the body. Their names, order and types are checked for every
// request of every suite: test/support/callback-form.ts.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { EVENT_TYPES, REASONS } from "../../src/domain/conversion.ts";
import { eachService } from "../support/running-service.ts";

eachService("section 2.1, body", (running) => {
	test("contract 2.1 body: a delivery says exactly what happened, field by field", async () => {
		const programme = await running.openProgramme();
		const recordedAtMs = running.clock.nowMs();
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
			occurredAt: new Date(recordedAtMs).toISOString(),
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

	test("contract 2.1 status: the status is the one at the moment of the event, however late it is sent", async () => {
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
		test(`contract 2.1 basketValue, 2.1 commission, 2.1 networkFee, 2.1 currency, 2.1 amounts: ${basketValue} ${currency} is sent as strings with its digits`, async () => {
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

	test("contract 2.1 test: true for a test conversion, false for a sale", async () => {
		const programme = await running.openProgramme();
		await programme.record("T-1", { test: true });
		await programme.record("A-1");
		await programme.settled();
		deepEqual(programme.received.map(({ body }) => [body.orderId, body.test]).sort(), [
			["A-1", false],
			["T-1", true],
		]);
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

	test("contract 2.1 sentAt: the time of the attempt, the only field in which a retry differs", async () => {
		const programme = await running.openProgramme();
		programme.answer = () => ({ status: 500 });
		await programme.record("A-1");
		await programme.settled();
		await programme.retryNow();
		const started = (await programme.attempts()).map((row) => new Date(row.started_at_ms).toISOString());
		const [first, second] = programme.received.map(({ body }) => body);
		deepEqual([first?.sentAt, second?.sentAt], started);
		deepEqual({ ...second, sentAt: first?.sentAt }, first);
	});
});
