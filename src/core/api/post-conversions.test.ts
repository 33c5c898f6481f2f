import assert from "node:assert/strict";
import { test } from "node:test";
import { expectValue } from "../../../test/support/shop-account.ts";
import { signedRequest } from "../../../test/support/signed-request.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { issueKey } from "../programmes/keys.ts";
import { MAX_BATCH_BYTES, MAX_ITEMS } from "./order-call.ts";
import { openTestShop, read, START_MS, type TestShop } from "./test-shop.test-support.ts";

interface Item {
	outcome?: string;
	differs?: string[];
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

test("each sale of a batch has its outcome or its problem at the same place", async (t) => {
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
	assert.deepEqual([...new Set(shop.announced)], [shop.programme.receiver_id]);
});

test("a repeated sale is a DUPLICATE, and the answer and the inbound log name the fields that differ", async (t) => {
	const shop = await openTestShop(t);
	const occurredAt = "2026-02-01T00:00:00.000Z";
	const first = { ...sale("A-1"), occurredAt };
	await shop.call("POST", "/v1/conversions", { body: first });
	const cases: readonly [said: object, differs: readonly string[] | undefined][] = [
		[first, undefined],
		[sale("A-1", "100.0"), undefined],
		[sale("A-1", "7.00"), ["basketValue"]],
		[{ ...first, occurredAt: "2026-02-02T00:00:00Z" }, ["occurredAt"]],
		[
			{ ...sale("A-1", "7.00"), occurredAt: "2026-02-02T00:00:00Z", test: true },
			["basketValue", "occurredAt", "test"],
		],
	];
	for (const [body, differs] of cases) {
		const { status, json } = await shop.call("POST", "/v1/conversions", { body });
		assert.deepEqual([status, json.outcome, json.differs], [200, "DUPLICATE", differs]);
		assert.deepEqual([json.conversion?.basketValue, json.conversion?.occurredAt], ["100.00", occurredAt]);
		const said =
			differs === undefined ? null : `Differs from the conversion on record: ${differs.join(", ")}`;
		assert.equal((await shop.inbound()).at(-1)?.detail, said);
	}
	const items = await send(shop, SALES, [sale("A-1"), sale("A-1", "8.00")]);
	assert.deepEqual(
		items.map(({ differs }) => differs),
		[undefined, ["basketValue"]],
	);
	const said = "2 items: 2 DUPLICATE. Differs from the conversion on record: A-1 (basketValue)";
	assert.equal((await shop.inbound()).at(-1)?.detail, said);
});

test("a signed test report for a pixel's order is a DUPLICATE, and a real report confirms the order later", async (t) => {
	for (const parksPixels of [true, false]) {
		const shop = await openTestShop(t, { parksPixels });
		const { public_id: programmeId } = shop.programme;
		await shop.request(`/pixel/${programmeId}.gif?orderId=P-1&basketValue=100.00`);
		const status = parksPixels ? "PARKED" : "RECORDED";
		const tested = await shop.call("POST", "/v1/conversions", { body: { ...sale("P-1"), test: true } });
		assert.deepEqual([tested.status, tested.json.outcome, tested.json.differs], [200, "DUPLICATE", ["test"]]);
		assert.deepEqual([tested.json.conversion?.status, tested.json.conversion?.test], [status, false]);
		const confirmed = await shop.call("POST", "/v1/conversions", { body: sale("P-1") });
		assert.deepEqual([confirmed.json.outcome, confirmed.json.conversion?.test], ["CONFIRMED", false]);
	}
});

test("an order id that looks like a replaced conversion's name does not block the order's signed report", async (t) => {
	const shop = await openTestShop(t, { parksPixels: false });
	const pixel = (orderId: string) => {
		const query = new URLSearchParams({ orderId, basketValue: "1.00" });
		return shop.request(`/pixel/${shop.programme.public_id}.gif?${query}`);
	};
	await pixel("A-1");
	const rejection = { orderId: "A-1", reason: "FRAUD" };
	const { json } = await shop.call("POST", "/v1/rejections", { body: rejection });
	const taken = `A-1 (${json.conversion?.id})`;
	await pixel(taken);
	assert.match((await shop.inbound()).at(-1)?.detail ?? "", /ID of a conversion in brackets/);
	const refused = await shop.call("POST", "/v1/conversions", { body: sale(taken) });
	assert.deepEqual([refused.status, refused.json.field], [422, "orderId"]);
	const recorded = await shop.call("POST", "/v1/conversions", { body: sale("A-1") });
	assert.deepEqual([recorded.status, recorded.json.outcome], [201, "RECORDED"]);
	const listed = await shop.call("GET", `/v1/conversions?orderId=${encodeURIComponent(taken)}`, {});
	assert.equal(listed.status, 200, "the replaced conversion can be found");
});

test("a key that may only report can report sales and reversals, and decide about tests only, singly and in a batch", async (t) => {
	const shop = await openTestShop(t);
	const asked = { right: "report" };
	const { key } = expectValue(await issueKey(shop.deps, shop.programme.public_id, COMMAND_LINE, asked));
	const reporting: TestShop = {
		...shop,
		call: async (method, target, call) => {
			const credentials = { ...shop.credentials, key };
			return read(
				await shop.request(signedRequest(method, target, credentials, { nowMs: START_MS, ...call })),
			);
		},
	};
	const test = { ...sale("T-1"), test: true };
	assert.deepEqual(words(await send(reporting, SALES, [sale("A-1"), sale("A-2"), test])), [
		...["RECORDED", "RECORDED", "RECORDED"],
	]);
	const results = await send(reporting, DECISIONS, [
		{ decision: "approve", orderId: "A-1" },
		{ decision: "reject", orderId: "A-1", reason: "FRAUD" },
		{ decision: "reverse", orderId: "A-2", reason: "RETURN" },
		{ decision: "approve", orderId: "T-1" },
		{ decision: "approve", orderId: "nobody's" },
	]);
	assert.deepEqual(words(results), [
		...["key_may_not_decide", "key_may_not_decide", "REVERSED", "APPROVED", "unknown_order"],
	]);
	for (const target of ["/v1/approvals", "/v1/rejections"]) {
		const body = { orderId: "A-1", ...(target === "/v1/rejections" ? { reason: "FRAUD" } : {}) };
		const { status, json } = await reporting.call("POST", target, { body });
		assert.deepEqual([status, json.code], [403, "key_may_not_decide"]);
	}
	const { json } = await shop.call("GET", "/v1/conversions?orderId=A-1");
	assert.deepEqual(
		json.conversions?.map(({ status }) => status),
		["RECORDED"],
	);
});

test("decisions of a batch are made in their order, each with its reason", async (t) => {
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

test("the inbound log has a row for a batch and one for each refused item", async (t) => {
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

test("500 of the longest sales fit into one call, and a call with more items, more bytes or no item is refused as a whole", async (t) => {
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

test("a large body is not read if the key is unknown", async (t) => {
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

test("a batch that is sent again with a new signature records nothing twice", async (t) => {
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
