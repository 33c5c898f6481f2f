import assert from "node:assert/strict";
import { test } from "node:test";
import { setProgramme } from "../../../test/support/change-rows.ts";
import { signedRequest } from "../../../test/support/signed-request.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import type { ConversionBody } from "./answers.ts";
import {
	type Answered,
	makeShop,
	openTestShop,
	read,
	START_MS,
	type TestShop,
} from "./test-shop.test-support.ts";

const SALE = { orderId: "A-1", basketValue: "100.00" };

function conversionOf({ json }: Answered): ConversionBody {
	assert.ok(json.conversion !== undefined);
	return json.conversion;
}

async function eventNames({ store }: TestShop): Promise<string[]> {
	const rows = await store.db.selectFrom("events").select("name").orderBy("id").execute();
	return rows.map((row) => row.name);
}

test("a shop reads the terms of its programme, and nothing of another", async (t) => {
	const shop = await openTestShop(t);
	await setProgramme(shop.store.db, shop.programme.id, {
		basket_rule: "GOODS",
		basket_note: "No gift cards.",
	});
	const answer = await read(
		await shop.request(signedRequest("GET", "/v1/programme", shop.credentials, { nowMs: START_MS })),
	);
	assert.equal(answer.status, 200);
	assert.deepEqual(answer.json, {
		programme: {
			id: shop.programme.public_id,
			name: shop.programme.name,
			currency: "EUR",
			basketRule: "GOODS",
			basketRuleText: "The goods alone: with VAT, without shipping, after discounts. No gift cards.",
			approvalDays: shop.programme.approval_days,
			creditsPartners: false,
			clickParameter: "rbclick",
			clickDays: 30,
		},
	});
});

test("a first report is recorded, answered with all fields, logged, and its event is owed", async (t) => {
	const shop = await openTestShop(t);
	const answer = await shop.call("POST", "/v1/conversions", {
		body: {
			...SALE,
			currency: "EUR",
			eventType: "LEAD",
			occurredAt: "2026-03-01T12:30:00.5+01:00",
			test: true,
		},
	});
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get("content-type"), "application/json");
	assert.equal(answer.headers.get("cache-control"), "no-store");
	assert.equal(answer.json.outcome, "RECORDED");
	const { id, ...rest } = conversionOf(answer);
	assert.match(String(id), /^cnv_[0-9A-Z]{26}$/);
	assert.deepEqual(rest, {
		orderId: "A-1",
		programId: shop.programme.public_id,
		status: "RECORDED",
		eventType: "LEAD",
		basketValue: "100.00",
		commission: "8.00",
		networkFee: "2.50",
		currency: "EUR",
		reason: null,
		test: true,
		source: "postback",
		pixelBasketValue: null,
		refundedValue: "0.00",
		decidedBy: null,
		occurredAt: "2026-03-01T11:30:00.500Z",
		createdAt: "2026-03-01T12:00:00.000Z",
		updatedAt: "2026-03-01T12:00:00.000Z",
		approvesAt: "2026-03-31T12:00:00.000Z",
		expiresAt: null,
	});
	assert.deepEqual(await eventNames(shop), ["conversion.recorded"]);
	assert.deepEqual(shop.announced, [shop.programme.receiver_id]);
	const [row, ...others] = await shop.inbound();
	assert.equal(others.length, 0);
	assert.deepEqual(
		{ ...row, id: 0 },
		{
			id: 0,
			programme_id: shop.programme.id,
			kind: "api",
			method: "POST",
			target: "/v1/conversions",
			outcome: "RECORDED",
			http_status: 201,
			detail: null,
			order_id: "A-1",
			conversion: id,
			request_id: null,
			at_ms: START_MS,
		},
	);
});

test("without optional fields a report is a sale in the programme's currency, now, and not a test", async (t) => {
	const shop = await openTestShop(t, { currency: "JPY" });
	const answer = await shop.call("POST", "/v1/conversions", {
		body: { orderId: "A-1", basketValue: "1299" },
	});
	const { eventType, currency, test: isTest, occurredAt, commission } = conversionOf(answer);
	assert.deepEqual(
		{ eventType, currency, isTest, occurredAt, commission },
		{
			eventType: "SALE",
			currency: "JPY",
			isTest: false,
			occurredAt: "2026-03-01T12:00:00.000Z",
			commission: "104",
		},
	);
});

test("a list goes through all pages, newest first, and has no conversion of another programme", async (t) => {
	const shop = await openTestShop(t);
	const other = await makeShop(shop.deps);
	const sale = { body: SALE, nowMs: START_MS };
	await read(await shop.request(signedRequest("POST", "/v1/conversions", other.credentials, sale)));
	for (let order = 1; order <= 5; order++) {
		await shop.call("POST", "/v1/conversions", { body: { orderId: `A-${order}`, basketValue: "1" } });
	}
	await shop.call("POST", "/v1/approvals", { body: { orderId: "A-3" } });
	const list = async (query: string): Promise<{ orders: unknown[]; nextCursor: unknown }> => {
		const { status, json } = await shop.call("GET", `/v1/conversions${query}`);
		assert.equal(status, 200);
		return { orders: (json.conversions ?? []).map(({ orderId }) => orderId), nextCursor: json.nextCursor };
	};
	const first = await list("?limit=2");
	assert.deepEqual(first.orders, ["A-5", "A-4"]);
	const second = await list(`?limit=2&cursor=${first.nextCursor}`);
	assert.deepEqual(second.orders, ["A-3", "A-2"]);
	const foreign = signedRequest("GET", `/v1/conversions?cursor=${first.nextCursor}`, other.credentials, {
		nowMs: START_MS,
	});
	assert.equal((await read(await shop.request(foreign))).json.code, "malformed_cursor", "another shop's");
	assert.deepEqual(await list(`?limit=2&cursor=${second.nextCursor}`), { orders: ["A-1"], nextCursor: null });
	assert.deepEqual(await list(""), { orders: ["A-5", "A-4", "A-3", "A-2", "A-1"], nextCursor: null });
	assert.deepEqual(await list("?limit=5"), { orders: ["A-5", "A-4", "A-3", "A-2", "A-1"], nextCursor: null });
	assert.deepEqual((await list("?status=APPROVED")).orders, ["A-3"]);
	assert.deepEqual((await list("?orderId=A-2&status=RECORDED")).orders, ["A-2"]);
	assert.deepEqual(await list("?orderId=unknown"), { orders: [], nextCursor: null });
	assert.equal((await shop.inbound()).at(-1)?.outcome, "LISTED");
});

test("a list can be limited by the time of recording and of the sale, including the first time and excluding the last", async (t) => {
	const shop = await openTestShop(t);
	const dayOf = (day: number) => `2026-02-${String(day).padStart(2, "0")}T08:00:00Z`;
	// The sales are reported in reverse order, the newest sale first.
	for (const day of [14, 13, 12, 11]) {
		const body = { orderId: `S-${day}`, basketValue: "1", occurredAt: dayOf(day) };
		await shop.call("POST", "/v1/conversions", { body });
		shop.moveClock(HOUR_MS);
	}
	const list = async (
		filters: Record<string, string>,
	): Promise<{ orders: unknown[]; nextCursor: unknown }> => {
		const { status, json } = await shop.call("GET", `/v1/conversions?${new URLSearchParams(filters)}`);
		assert.equal(status, 200);
		return { orders: (json.conversions ?? []).map(({ orderId }) => orderId), nextCursor: json.nextCursor };
	};
	const at = (hours: number) => new Date(START_MS + hours * HOUR_MS).toISOString();
	assert.deepEqual((await list({ recordedFrom: at(1) })).orders, ["S-11", "S-12", "S-13"]);
	assert.deepEqual((await list({ recordedFrom: at(1), recordedBefore: at(3) })).orders, ["S-12", "S-13"]);
	assert.deepEqual((await list({ recordedBefore: "2026-02-14" })).orders, [], "a day begins at midnight");
	// A list that is filtered by the time of the sale is also sorted by that time.
	assert.deepEqual((await list({ occurredFrom: "2026-02-12" })).orders, ["S-14", "S-13", "S-12"]);
	assert.deepEqual((await list({ occurredBefore: dayOf(12) })).orders, ["S-11"]);
	const bySale = { occurredFrom: dayOf(11), occurredBefore: "2026-02-14T09:00:00+01:00" };
	const first = await list({ ...bySale, limit: "2" });
	assert.deepEqual(first.orders, ["S-13", "S-12"]);
	const second = await list({ ...bySale, limit: "2", cursor: String(first.nextCursor) });
	assert.deepEqual(second, { orders: ["S-11"], nextCursor: null });
	const mixed = await shop.call("GET", `/v1/conversions?cursor=${first.nextCursor}`);
	assert.equal(mixed.json.code, "malformed_cursor", "a cursor of the list in another order");
	assert.deepEqual((await list({ occurredFrom: "2026-02-12", status: "APPROVED" })).orders, []);
	for (const name of ["recordedFrom", "recordedBefore", "occurredFrom", "occurredBefore"]) {
		for (const text of ["yesterday", "2026-02-30", "2026-02-12T08:00:00", "2026-02-12T08:00:00 01:00"]) {
			const { status, json } = await shop.call(
				"GET",
				`/v1/conversions?${new URLSearchParams({ [name]: text })}`,
			);
			assert.deepEqual([status, json.code, json.field], [422, "invalid_field", name], `${name}=${text}`);
		}
	}
});

test("one conversion is shown by its id, with the fields of the list", async (t) => {
	const shop = await openTestShop(t);
	const made = conversionOf(await shop.call("POST", "/v1/conversions", { body: SALE }));
	const shown = await shop.call("GET", `/v1/conversions/${made.id}`);
	assert.equal(shown.status, 200);
	assert.deepEqual(shown.json, { conversion: made, refunds: [] });
	const listed = await shop.call("GET", "/v1/conversions?orderId=A-1");
	assert.deepEqual(listed.json, { conversions: [made], nextCursor: null });
	const row = (await shop.inbound()).at(-2);
	assert.deepEqual([row?.outcome, row?.order_id, row?.conversion], ["SHOWN", "A-1", made.id]);
});

test("the end of the approval window is shown while RECORDED, and the end of the wait while PARKED", async (t) => {
	const shop = await openTestShop(t);
	await shop.request(`/pixel/${shop.programme.public_id}.gif?orderId=A-1&basketValue=1`);
	shop.moveClock(DAY_MS);
	const listed = await shop.call("GET", "/v1/conversions?status=PARKED");
	const [parked] = listed.json.conversions ?? [];
	assert.equal(parked?.approvesAt, null);
	assert.equal(parked?.expiresAt, "2026-03-31T12:00:00.000Z");
});
