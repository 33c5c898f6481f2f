import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_BATCH_BYTES, MAX_ITEMS } from "./post-conversions.ts";
import { openTestShop, START_MS, type TestShop } from "./test-shop.test-support.ts";

interface Item {
	outcome?: string;
	conversion?: { id: string; orderId: string; status: string };
	problem?: { code: string; field?: string; detail: string };
}

async function send(shop: TestShop, target: string, items: readonly object[]): Promise<Item[]> {
	const { status, json } = await shop.call("POST", target, { body: { items } });
	assert.equal(status, 200, JSON.stringify(json));
	return "results" in json && Array.isArray(json.results) ? json.results : [];
}

const SALES = "/v1/conversions/batch";
const DECISIONS = "/v1/decisions/batch";
const sale = (orderId: string, basketValue = "100.00") => ({ orderId, basketValue });
const words = (items: readonly Item[]) => items.map(({ outcome, problem }) => outcome ?? problem?.code);

test("each sale of a batch has its outcome or its problem, at its own place", async (t) => {
	const shop = await openTestShop(t);
	const results = await send(shop, SALES, [
		sale("A-1"),
		sale("A-2", "1,50"),
		sale("A-1", "7.00"),
		{ orderId: "A-3" },
		{ ...sale("A-4"), colour: "red" },
		sale("A-5"),
	]);
	assert.deepEqual(words(results), [
		"RECORDED",
		"malformed_amount",
		"DUPLICATE",
		"invalid_field",
		"unknown_field",
		"RECORDED",
	]);
	assert.deepEqual(
		results.map(({ problem }) => problem?.field),
		[undefined, "basketValue", undefined, "basketValue", "colour", undefined],
	);
	assert.equal(results[2]?.conversion?.id, results[0]?.conversion?.id);
	const events = await shop.store.db.selectFrom("events").selectAll().execute();
	assert.equal(events.length, 2);
	assert.deepEqual([...new Set(shop.announced)], [shop.programme.id]);
});

test("decisions of a batch are taken in their order, each with its reason", async (t) => {
	const shop = await openTestShop(t);
	await send(shop, SALES, [sale("A-1"), sale("A-2"), sale("A-3")]);
	const results = await send(shop, DECISIONS, [
		{ decision: "approve", orderId: "A-1" },
		{ decision: "reverse", orderId: "A-1", reason: "RETURN" },
		{ decision: "reject", orderId: "A-2", reason: "FRAUD" },
		{ decision: "approve", orderId: "A-2" },
		{ decision: "reject", orderId: "A-3" },
		{ decision: "approve", orderId: "A-3", reason: "RETURN" },
		{ decision: "Approve", orderId: "A-3" },
		{ decision: "approve", orderId: "A-4" },
	]);
	assert.deepEqual(words(results), [
		"APPROVED",
		"REVERSED",
		"REJECTED",
		"move_not_allowed",
		"missing_reason",
		"unknown_field",
		"invalid_field",
		"unknown_order",
	]);
	const stored = await shop.store.db.selectFrom("conversions").select("status").orderBy("id").execute();
	assert.deepEqual(
		stored.map(({ status }) => status),
		["REVERSED", "REJECTED", "RECORDED"],
	);
});

test("the inbound log has a row for the call and one for each item that was refused", async (t) => {
	const shop = await openTestShop(t);
	await send(shop, SALES, [sale("A-1"), sale("A-2", "1,50"), sale("A-3"), { orderId: "A-4" }]);
	assert.deepEqual(
		(await shop.inbound()).map(({ outcome, order_id, detail, target }) => [
			outcome,
			order_id,
			outcome === "BATCH" ? detail : null,
			target,
		]),
		[
			["BATCH", null, "4 items: 2 RECORDED, 2 refused", SALES],
			["malformed_amount", "A-2", null, SALES],
			["invalid_field", "A-4", null, SALES],
		],
	);
});

test("500 of the longest sales are one call; more items, more bytes or none are refused whole", async (t) => {
	const shop = await openTestShop(t);
	const longest = (n: number) => ({
		...sale(`${n}`.padEnd(128, "-x"), "999999999999.99"),
		eventType: "SUBSCRIPTION",
		currency: "EUR",
		occurredAt: new Date(START_MS).toISOString(),
		test: false,
	});
	const items = Array.from({ length: MAX_ITEMS }, (_, n) => longest(n));
	const results = await send(shop, SALES, items);
	assert.deepEqual([...new Set(words(results))], ["RECORDED"]);
	assert.deepEqual(
		results.map(({ conversion }) => conversion?.orderId),
		items.map(({ orderId }) => orderId),
	);
	const before = await shop.stored();
	const tooMany = await shop.call("POST", SALES, { body: { items: [...items, sale("one more")] } });
	assert.deepEqual([tooMany.status, tooMany.json.code, tooMany.json.field], [422, "invalid_field", "items"]);
	assert.match(tooMany.json.detail ?? "", /1 to 500 entries, and there are 501/);
	const none = await shop.call("POST", SALES, { body: { items: [] } });
	assert.deepEqual([none.json.code, none.json.field], ["invalid_field", "items"]);
	assert.match(none.json.detail ?? "", /there are 0\. Send at least one\.$/);
	const noList = await shop.call("POST", SALES, { body: { items: "A-1" } });
	assert.equal(noList.json.detail, "items must be an array.");
	const tooLong = await shop.call("POST", SALES, { body: "x".repeat(MAX_BATCH_BYTES + 1) });
	assert.deepEqual([tooLong.status, tooLong.json.code], [413, "body_too_large"]);
	assert.deepEqual(await shop.stored(), before);
});

test("a large body is not read from somebody whose key nobody knows", async (t) => {
	const shop = await openTestShop(t);
	const body = new ReadableStream(
		{
			pull() {
				assert.fail("the body was read");
			},
		},
		{ highWaterMark: 0 },
	);
	const headers = { authorization: "Bearer rbk_nobody", "content-length": String(MAX_BATCH_BYTES) };
	const response = await shop.request(SALES, { method: "POST", body, headers, duplex: "half" });
	assert.equal(response.status, 401);
});

test("a batch that is sent again, signed anew, records nothing twice", async (t) => {
	const shop = await openTestShop(t);
	const items = [sale("A-1"), sale("A-2")];
	const first = await send(shop, SALES, items);
	const stored = await shop.stored();
	const again = await send(shop, SALES, items);
	assert.deepEqual(words(again), ["DUPLICATE", "DUPLICATE"]);
	assert.deepEqual(
		again.map(({ conversion }) => conversion?.id),
		first.map(({ conversion }) => conversion?.id),
	);
	assert.deepEqual(await shop.stored(), stored);
});
