import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestShop, type TestShop } from "./test-shop.test-support.ts";

const GIF_BYTES = 43;

async function load(shop: TestShop, target: string): Promise<void> {
	const response = await shop.request(target);
	assert.equal(response.status, 200, target);
	assert.equal(response.headers.get("content-type"), "image/gif");
	assert.equal(response.headers.get("cache-control"), "no-store");
	const bytes = Buffer.from(await response.arrayBuffer());
	assert.equal(bytes.length, GIF_BYTES);
	assert.equal(bytes.subarray(0, 6).toString("latin1"), "GIF89a");
}

const pixel = (shop: TestShop, query: string): string => `/pixel/${shop.programme.public_id}.gif?${query}`;

async function lastRow(shop: TestShop) {
	const row = (await shop.inbound()).at(-1);
	assert.ok(row !== undefined);
	return row;
}

test("a wrong pixel call is in the log with its reason, stores nothing, and still gets the image", async (t) => {
	const shop = await openTestShop(t);
	const good = "orderId=A-1&basketValue=1";
	const cases: readonly (readonly [target: string, outcome: string, orderId: string | null])[] = [
		["/pixel/prg_UNKNOWN.gif?orderId=A-1&basketValue=1", "unknown_programme", "A-1"],
		[`/pixel/${shop.programme.public_id}?${good}`, "unknown_programme", "A-1"],
		["/pixel/.gif", "unknown_programme", null],
		["/pixel/", "unknown_programme", null],
		[`/pixel/a/${shop.programme.public_id}.gif?${good}`, "unknown_programme", "A-1"],
		["/pixel/%00%zz.gif?%", "unknown_programme", null],
		[`/pixel/${"x".repeat(5_000)}.gif`, "unknown_programme", null],
		[pixel(shop, ""), "invalid_field", null],
		[pixel(shop, "orderId=A-1"), "invalid_field", "A-1"],
		[pixel(shop, "basketValue=1"), "invalid_field", null],
		[pixel(shop, "orderId=&basketValue=1"), "invalid_field", null],
		[pixel(shop, "orderId=%20%20&basketValue=1"), "invalid_field", null],
		[pixel(shop, "orderId=a%00b&basketValue=1"), "invalid_field", null],
		[pixel(shop, "orderId=caf%E9&basketValue=1"), "invalid_field", null],
		[pixel(shop, `orderId=${"x".repeat(129)}&basketValue=1`), "invalid_field", null],
		[pixel(shop, "orderId=A-1+&basketValue=1"), "invalid_field", null],
		[pixel(shop, "orderId=%C2%A0A-1&basketValue=1"), "invalid_field", null],
		[pixel(shop, "orderId=A%E2%80%8B-1&basketValue=1"), "invalid_field", null],
		[pixel(shop, "orderId=%E2%80%AE1-A&basketValue=1"), "invalid_field", null],
		[pixel(shop, "orderId=A-1&orderId=A-2&basketValue=1"), "invalid_field", "A-1"],
		[pixel(shop, "orderId=A-1&basketValue=1&basketValue=1"), "invalid_field", "A-1"],
		[pixel(shop, "orderId=A-1&basketValue=-1"), "negative_amount", "A-1"],
		[pixel(shop, "orderId=A-1&basketValue=1,50"), "malformed_amount", "A-1"],
		[pixel(shop, "orderId=A-1&basketValue=1.555"), "amount_too_precise", "A-1"],
		[pixel(shop, "orderId=A-1&basketValue=1234567890123"), "amount_too_large", "A-1"],
		[pixel(shop, `${good}&currency=USD`), "wrong_currency", "A-1"],
		[pixel(shop, `${good}&currency=%00`), "unknown_currency", "A-1"],
		[pixel(shop, `${good}&eventType=sale`), "unknown_event_type", "A-1"],
	];
	const before = await shop.stored();
	for (const [target, outcome, orderId] of cases) {
		await load(shop, target);
		const row = await lastRow(shop);
		assert.deepEqual(
			[row.kind, row.outcome, row.http_status, row.order_id],
			["pixel", outcome, 200, orderId],
			target,
		);
		assert.ok(String(row.detail).length > 20);
		assert.doesNotMatch(`${row.detail}${row.target}`, /\p{Cc}/u);
	}
	assert.equal((await shop.inbound()).length, cases.length);
	assert.deepEqual(await shop.stored(), before);
	assert.deepEqual(shop.complaints, []);
});

test("a pixel call with an invisible character in its order id is refused by name, and the real order is not affected", async (t) => {
	const shop = await openTestShop(t);
	await shop.call("POST", "/v1/conversions", { body: { orderId: "8001", basketValue: "500.00" } });
	await load(shop, pixel(shop, "orderId=%C2%A08001&basketValue=1"));
	const row = await lastRow(shop);
	assert.deepEqual([row.outcome, row.order_id, row.conversion], ["invalid_field", null, null]);
	assert.match(String(row.detail), /white space \(U\+00A0\).*nothing is trimmed/);
	const orders = await shop.store.db.selectFrom("conversions").select("order_id").execute();
	assert.deepEqual(
		orders.map(({ order_id }) => order_id),
		["8001"],
	);
});

test("the image is answered if the database fails, and the failure is in the service's log", async (t) => {
	const shop = await openTestShop(t, {
		change: ({ store }) => ({
			store: { ...store, transact: () => Promise.reject(new Error("disk full")) },
		}),
	});
	await load(shop, pixel(shop, "orderId=A-1&basketValue=1"));
	assert.equal((await lastRow(shop)).outcome, "internal");
	assert.equal(shop.complaints.length, 1);
	const closed = await openTestShop(t, {
		change: ({ store }) => ({
			store: { ...store, db: store.db.withSchema("gone"), transact: () => Promise.reject(new Error("gone")) },
		}),
	});
	await load(closed, pixel(closed, "orderId=A-1&basketValue=1"));
	assert.ok(closed.complaints.length > 0);
});

test("a method other than GET reports nothing and is refused with the allowed methods", async (t) => {
	const shop = await openTestShop(t);
	for (const method of ["HEAD", "POST", "OPTIONS"]) {
		const response = await shop.request(pixel(shop, "orderId=A-1&basketValue=1"), { method });
		assert.equal(response.status, 405);
		assert.equal(response.headers.get("allow"), "GET");
		assert.equal((await lastRow(shop)).outcome, "method_not_allowed");
	}
	assert.deepEqual(await shop.store.db.selectFrom("conversions").selectAll().execute(), []);
});
