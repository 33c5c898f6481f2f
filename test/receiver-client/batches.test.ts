// Many sales and decisions in one call of the client, against the real service.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import type { BatchResult, Decision, Sale } from "@ringback/receiver";
import { startLiveService } from "./live-service.ts";

const live = await startLiveService();
const client = live.createClient();
const sale = (orderId: string, basketValue = "10.00"): Sale => ({ orderId, basketValue });

test("each sale has its outcome or its refusal, and a bad one spoils no other", async () => {
	const number = Object.assign(sale("A-4"), { basketValue: 12.5 });
	const result = await client.recordMany([
		sale("A-1"),
		{ ...sale("A-2"), currency: "USD" },
		sale("A-1", "99.00"),
		number,
		Object.assign(sale("A-5"), { curency: "EUR" }),
		{ ...sale("A-3"), eventType: "LEAD", occurredAt: new Date(Date.UTC(2026, 0, 2)), test: true },
	]);
	ok(result.ok, JSON.stringify(result));
	equal(result.attempts, 1);
	deepEqual(result.results.map(wordOf), [
		"RECORDED",
		"wrong_currency",
		"DUPLICATE",
		"amount_not_a_string",
		"unknown_field",
		"RECORDED",
	]);
	const [first, wrong, again, , , last] = result.results;
	ok(first?.ok && again?.ok && last?.ok && wrong?.ok === false);
	deepEqual(again.conversion, first.conversion);
	deepEqual(
		[last.conversion.orderId, last.conversion.eventType, last.conversion.occurredAt, last.conversion.test],
		["A-3", "LEAD", "2026-01-02T00:00:00.000Z", true],
	);
	deepEqual([wrong.kind, wrong.status, "field" in wrong && wrong.field], ["refused", 422, "currency"]);
	match(wrong.detail, /\w.*\.$/);
	equal((await live.countRows("A-2")).conversions, 0);
	deepEqual(await client.conversion(first.conversion.id), {
		ok: true,
		attempts: 1,
		conversion: first.conversion,
	});
});

test("decisions are taken in their order, several about one order too", async () => {
	ok((await client.recordMany([sale("B-1"), sale("B-2")])).ok);
	const decisions: Decision[] = [
		{ decision: "approve", orderId: "B-1" },
		{ decision: "reverse", orderId: "B-1", reason: "RETURN" },
		{ decision: "reject", orderId: "B-2", reason: "FRAUD", eventType: "SALE" },
		{ decision: "approve", orderId: "B-2" },
		{ decision: "approve", orderId: "nobody's" },
	];
	const result = await client.decideMany(decisions);
	ok(result.ok, JSON.stringify(result));
	deepEqual(result.results.map(wordOf), [
		"APPROVED",
		"REVERSED",
		"REJECTED",
		"move_not_allowed",
		"unknown_order",
	]);
	const statuses = result.results.map((one) => one.ok && one.conversion.status);
	deepEqual(statuses, ["APPROVED", "REVERSED", "REJECTED", false, false]);
});

test("five hundred items with the longest order ids that fit are one call, and its answer is read", async () => {
	// 500 bytes an item is what the service allows for: most of it goes into the order id.
	const orderIds = Array.from({ length: 500 }, (_, i) => `${"€".repeat(124)}-${i}`);
	const before = (await live.inboundOutcomes()).length;
	const result = await client.recordMany(orderIds.map((orderId) => sale(orderId)));
	ok(result.ok, JSON.stringify(result));
	deepEqual(
		result.results.map((one) => one.ok && one.conversion.orderId),
		orderIds,
	);
	deepEqual((await live.inboundOutcomes()).slice(before), ["BATCH"]);
});

test("a body that is larger than the service takes is refused as a whole, and nothing is stored", async () => {
	const orderIds = Array.from({ length: 500 }, (_, i) => `${i}-${"𐍈".repeat(124)}`);
	const result = await client.recordMany(orderIds.map((orderId) => sale(orderId)));
	ok(!result.ok && result.kind === "refused", JSON.stringify(result));
	deepEqual([result.code, result.status, result.attempts], ["body_too_large", 413, 1]);
	equal((await live.countRows(orderIds[0] ?? "")).conversions, 0);
});

test("a list of more than five hundred never reaches the service", async () => {
	const before = (await live.inboundOutcomes()).length;
	const result = await client.decideMany(
		Array.from({ length: 501 }, () => ({ decision: "approve", orderId: "A-1" })),
	);
	equal(!result.ok && result.kind === "refused" && result.status, null);
	equal((await live.inboundOutcomes()).length, before);
});

function wordOf(result: BatchResult<string>): string | undefined {
	return result.ok ? result.outcome : result.code;
}
