// Every call of the client against the real service, and every way it can end there.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import type { CallFailure, Conversion, RecordResult } from "@ringback/receiver";
import { startLiveService } from "./live-service.ts";

const live = await startLiveService();
const client = live.createClient();

test("a sale is recorded, and reported again it is a duplicate with the first one's conversion", async () => {
	const sale = { orderId: "A-1", basketValue: "129.9", currency: "EUR" };
	const occurredAt = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
	const first = await client.record({ ...sale, eventType: "LEAD", occurredAt, test: true });
	ok(first.ok);
	deepEqual([first.outcome, first.attempts], ["RECORDED", 1]);
	const { id, createdAt, approvesAt, ...rest } = first.conversion;
	deepEqual(rest, {
		orderId: "A-1",
		programId: live.account.programmeId,
		status: "RECORDED",
		eventType: "LEAD",
		basketValue: "129.90",
		commission: "10.39",
		networkFee: "3.25",
		currency: "EUR",
		reason: null,
		test: true,
		source: "postback",
		pixelBasketValue: null,
		decidedBy: null,
		occurredAt: "2026-01-02T03:04:05.678Z",
		expiresAt: null,
	});
	match(id, /^cnv_/);
	ok(Date.parse(approvesAt ?? "") > Date.parse(createdAt));

	const again = await client.record({ ...sale, eventType: "LEAD", basketValue: "1" });
	ok(again.ok);
	deepEqual([again.outcome, again.attempts, again.conversion], ["DUPLICATE", 1, first.conversion]);
	equal((await live.countRows("A-1")).conversions, 1);
});

test("a pixel's conversion is confirmed by the server's report", async () => {
	const query = new URLSearchParams({ orderId: "A-2", basketValue: "50.00" });
	const pixel = await fetch(`${live.service.url}/pixel/${live.account.programmeId}.gif?${query}`);
	await pixel.arrayBuffer();
	const parked = await client.conversions({ status: "PARKED" });
	deepEqual(parked.ok && parked.conversions.map(({ orderId }) => orderId), ["A-2"]);
	const confirmed = await client.record({ orderId: "A-2", basketValue: "49.00" });
	ok(confirmed.ok);
	equal(confirmed.outcome, "CONFIRMED");
	const { status, source, basketValue, pixelBasketValue } = confirmed.conversion;
	deepEqual([status, source, basketValue, pixelBasketValue], ["RECORDED", "pixel", "49.00", "50.00"]);
});

test("each decision is taken, and taken again it answers as before", async () => {
	for (const orderId of ["A-3", "A-4"]) done(await client.record({ orderId, basketValue: "10.00" }));
	const decide = {
		APPROVED: () => client.approve({ orderId: "A-3" }),
		REVERSED: () => client.reverse({ orderId: "A-3", eventType: "SALE", reason: "RETURN" }),
		REJECTED: () => client.reject({ orderId: "A-4", reason: "PAYMENT_FAILED" }),
	};
	for (const [outcome, call] of Object.entries(decide)) {
		const first = await call();
		const again = await call();
		ok(first.ok && again.ok);
		deepEqual(
			[first.outcome, first.conversion.status, first.conversion.decidedBy],
			[outcome, outcome, "shop"],
		);
		deepEqual(again, first);
	}
	equal((await live.countRows("A-4")).moves, 2);
});

test("one conversion is looked up by its id", async () => {
	const conversion = done(await client.record({ orderId: "A-5", basketValue: "10.00" }));
	deepEqual(await client.conversion(conversion.id), { ok: true, attempts: 1, conversion });
});

test("conversions are found by an order id that needs every kind of escaping", async () => {
	const orderId = "Bücher 1/2 & 100% +x=y?#ü✓'\"";
	const conversion = done(await client.record({ orderId, basketValue: "10.00" }));
	const found = await client.conversions({ orderId });
	deepEqual(found, { ok: true, attempts: 1, conversions: [conversion], nextCursor: null });
});

const refusals: ReadonlyArray<
	readonly [what: string, call: () => Promise<object>, refused: Partial<CallFailure> & object]
> = [
	[
		"an order nobody reported",
		() => client.approve({ orderId: "none" }),
		{ code: "unknown_order", status: 404, field: "orderId" },
	],
	[
		"a decision that is not open any more",
		() => client.approve({ orderId: "A-4" }),
		{ code: "move_not_allowed", status: 409 },
	],
	[
		"an event type that is none",
		() => client.record({ orderId: "A-6", basketValue: "1", eventType: "GIFT" }),
		{ code: "unknown_event_type", status: 422, field: "eventType" },
	],
	[
		"a reason that is none",
		() => client.reverse({ orderId: "A-5", reason: "MOOD" }),
		{ code: "unknown_reason", status: 422, field: "reason" },
	],
	[
		"an empty amount",
		() => client.record({ orderId: "A-6", basketValue: "" }),
		{ code: "malformed_amount", status: 422, field: "basketValue" },
	],
	[
		"an amount with too many digits",
		() => client.record({ orderId: "A-6", basketValue: "1.001" }),
		{ code: "amount_too_precise", status: 422, field: "basketValue" },
	],
	[
		"another currency",
		() => client.record({ orderId: "A-6", basketValue: "1", currency: "USD" }),
		{ code: "wrong_currency", status: 422, field: "currency" },
	],
	[
		"a misspelt field",
		() => client.record(Object.assign({ orderId: "A-6", basketValue: "1" }, { curency: "EUR" })),
		{ code: "unknown_field", status: 422, field: "curency" },
	],
	[
		"a date without a time",
		() => client.record({ orderId: "A-6", basketValue: "1", occurredAt: new Date(Number.NaN) }),
		{ code: "invalid_field", status: 422, field: "occurredAt" },
	],
	[
		"a report of 64 KiB and more",
		() => client.record({ orderId: "x".repeat(65_536), basketValue: "1" }),
		{ code: "body_too_large", status: 413 },
	],
	["an id nobody has", () => client.conversion("cnv_none"), { code: "unknown_conversion", status: 404 }],
	[
		"a cursor that is none",
		() => client.conversions({ cursor: "yesterday" }),
		{ code: "malformed_cursor", status: 422, field: "cursor" },
	],
	[
		"a page that is too large",
		() => client.conversions({ limit: 201 }),
		{ code: "invalid_field", status: 422, field: "limit" },
	],
];

for (const [what, call, refused] of refusals) {
	test(`${what} is refused with the service's code and sentence, and asked once`, async () => {
		const before = (await live.inboundOutcomes()).length;
		const { detail, ...result } = { detail: "", ...(await call()) };
		deepEqual(result, { ok: false, kind: "refused", attempts: 1, ...refused });
		match(detail, /\w.*\.$|…$/);
		equal((await live.inboundOutcomes()).length, before + 1);
	});
}

test("an amount that is a number never reaches the service", async () => {
	const before = (await live.inboundOutcomes()).length;
	const result = await client.record(
		Object.assign({ orderId: "A-7", basketValue: "" }, { basketValue: 12.5 }),
	);
	equal(!result.ok && result.kind === "refused" && result.code, "amount_not_a_string");
	equal((await live.inboundOutcomes()).length, before);
});

test("five hundred conversions are listed once each, the newest first, over all pages", async () => {
	const orders = Array.from({ length: 500 }, (_, i) => `P-${i}`);
	// As many at once as a shop's server would have.
	const waiting = [...orders];
	const work = async (): Promise<void> => {
		for (let orderId = waiting.shift(); orderId !== undefined; orderId = waiting.shift()) {
			done(await client.record({ orderId, basketValue: "1.00", eventType: "RENEWAL" }));
		}
	};
	await Promise.all(Array.from({ length: 8 }, work));

	const listed: Conversion[] = [];
	for await (const one of client.allConversions()) {
		ok(one.ok);
		if (one.conversion.eventType === "RENEWAL") listed.push(one.conversion);
	}
	deepEqual(listed.map(({ orderId }) => orderId).sort(), [...orders].sort());
	const times = listed.map(({ createdAt }) => createdAt);
	deepEqual(times, [...times].sort().reverse());

	const first = await client.conversions({ limit: 7 });
	ok(first.ok && first.nextCursor !== null);
	const second = await client.conversions({ limit: 7, cursor: first.nextCursor });
	ok(second.ok);
	const ids = [...first.conversions, ...second.conversions].map(({ id }) => id);
	deepEqual(
		ids,
		listed.slice(0, 14).map(({ id }) => id),
	);
});

function done(result: RecordResult): Conversion {
	ok(result.ok, JSON.stringify(result));
	return result.conversion;
}
