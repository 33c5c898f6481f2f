import { deepEqual, equal, throws } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createClient } from "../client/create-client.ts";
import type { PostbackEvent } from "../event.ts";
import { createReceiver } from "../receiver.ts";
import { createFakeService, exampleEvent, signCallback } from "./testing.ts";

const retry = { maxAttempts: 1 };

test("a client of the fake service records, decides, refunds and lists as with the real one", async () => {
	const service = createFakeService();
	const client = createClient(service.clientOptions);
	const recorded = await client.record({ orderId: "1001", basketValue: "129.9" });
	deepEqual(recorded.ok && [recorded.outcome, recorded.conversion.commission], ["RECORDED", "10.39"]);
	const repeated = await client.record({ orderId: "1001", basketValue: "1.00" });
	deepEqual(repeated.ok && [repeated.outcome, repeated.conversion.basketValue], ["DUPLICATE", "129.90"]);
	const refund = { orderId: "1001", refundId: "R-1", amount: "29.90", reason: "RETURN" } as const;
	for (const _ of ["first", "again"]) {
		const refunded = await client.refund(refund);
		deepEqual(refunded.ok && [refunded.outcome, refunded.conversion.basketValue], ["REFUNDED", "100.00"]);
		deepEqual(refunded.ok && [refunded.refund.amount, refunded.refund.basketValue], ["29.90", "100.00"]);
	}
	const reused = await client.refund({ ...refund, amount: "1.00" });
	equal(!reused.ok && reused.code, "refund_id_used");
	const approved = await client.approve({ orderId: "1001" });
	equal(approved.ok && approved.conversion.status, "APPROVED");
	const rejected = await client.reject({ orderId: "1001", reason: "FRAUD" });
	deepEqual(!rejected.ok && [rejected.kind, rejected.retryable, rejected.code], [
		"refused",
		false,
		"move_not_allowed",
	]);
	const unknown = await client.approve({ orderId: "9" });
	equal(!unknown.ok && unknown.code, "unknown_order");
	const listed = await client.conversions({ status: "APPROVED", changedFrom: "2020-01-01" });
	deepEqual(listed.ok && listed.conversions.map(({ orderId }) => orderId), ["1001"]);
	const [conversion] = service.conversions();
	const shown = await client.conversion(conversion?.id ?? "");
	deepEqual(shown.ok && shown.conversion, conversion);
	const last = await client.refund({ ...refund, refundId: "R-2", basketValue: "0", amount: undefined });
	equal(last.ok && last.outcome, "REVERSED");
	const again = await client.conversion(conversion?.id ?? "");
	deepEqual(again.ok && again.refunds.map(({ refundId }) => refundId), ["R-1", "R-2"]);
});

test("batches have a result for each item, and codes of refusals are those of the service", async () => {
	const service = createFakeService();
	const client = createClient(service.clientOptions);
	const sales = await client.recordMany([
		{ orderId: "1", basketValue: "1.00" },
		{ orderId: "2", basketValue: "1,00" },
		{ orderId: "3", basketValue: "1.00", currency: "USD" },
		{ orderId: "4", basketValue: "1.00", couponCodes: Array(11).fill("X") },
	]);
	deepEqual(sales.ok && sales.results.map((one) => (one.ok ? one.outcome : one.code)), [
		"RECORDED",
		"malformed_amount",
		"wrong_currency",
		"too_many_coupon_codes",
	]);
	const decided = await client.decideMany([
		{ decision: "approve", orderId: "1" },
		{ decision: "refund", orderId: "1", refundId: "R", amount: "1.00", reason: "RETURN" },
	]);
	deepEqual(decided.ok && decided.results.map((one) => one.ok && one.outcome), ["APPROVED", "REVERSED"]);
});

test("a call with a wrong key, secret, brand or clock is refused as misconfigured, and records nothing", async () => {
	const service = createFakeService({ apiKey: "rbk_shop", secret: ["rbs_new", "rbs_old"] });
	const { clientOptions } = service;
	for (const [change, code] of [
		[{ apiKey: "rbk_other" }, "unknown_api_key"],
		[{ secret: "rbs_other" }, "bad_signature"],
		[{ brand: "Acme" }, "missing_signature_header"],
		[{ now: () => 0 }, "stale_timestamp"],
	] as const) {
		const client = createClient({ ...clientOptions, ...change });
		const result = await client.record({ orderId: "1", basketValue: "1.00" });
		deepEqual(!result.ok && [result.kind, result.retryable, result.code], ["misconfigured", true, code]);
	}
	deepEqual(service.conversions(), []);
	equal(service.calls().length, 4);
	for (const secret of ["rbs_new", "rbs_old", "rbs_new,rbs_unknown"]) {
		const client = createClient({ ...clientOptions, secret });
		equal((await client.record({ orderId: "1", basketValue: "1.00" })).ok, true, secret);
	}
});

test("callbacks are sent on demand to a handler or an address, until they are answered with 2xx", async (t) => {
	const service = createFakeService();
	const client = createClient(service.clientOptions);
	await client.record({ orderId: "1001", basketValue: "10.00" });
	service.decide("1001", { move: "approve" });
	const events: PostbackEvent[] = [];
	let isDown = true;
	const receiver = createReceiver({
		secret: service.clientOptions.secret,
		onEvent: (event) => events.push(event),
		store() {
			if (isDown) throw new Error("database is down");
			return "stored";
		},
		onError: () => undefined,
	});
	const statuses = async () => (await service.sendCallbacks(receiver.fetch)).map(({ status }) => status);
	deepEqual(await statuses(), [503, 503]);
	equal(service.pendingEvents().length, 2);
	isDown = false;
	deepEqual(await statuses(), [204, 204]);
	await receiver.settled();
	deepEqual(
		events.map(({ event, status }) => [event, status]),
		[
			["conversion.recorded", "RECORDED"],
			["conversion.approved", "APPROVED"],
		],
	);
	deepEqual([service.pendingEvents(), await statuses()], [[], []]);

	service.decide("1001", { move: "reverse", reason: "RETURN" });
	const server = createServer(receiver.node);
	t.after(() => server.close());
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const address: AddressInfo | string | null = server.address();
	const port = typeof address === "object" ? address?.port : undefined;
	const sent = await service.sendCallbacks(`http://127.0.0.1:${port}/postback?shop=1`);
	deepEqual(
		sent.map(({ status }) => status),
		[204],
	);
	await receiver.settled();
	equal(events[2]?.reason, "RETURN");
});

test("an outage loses the request or the answer, and a later call finds what was recorded", async () => {
	const service = createFakeService();
	const client = createClient({ ...service.clientOptions, retry });
	const sale = { orderId: "1001", basketValue: "10.00" };
	for (const [outage, kind, count] of [
		["no_answer", "unreachable", 0],
		[503, "unavailable", 0],
		["answer_lost", "unreachable", 1],
	] as const) {
		service.setOutage(outage);
		const result = await client.record(sale);
		deepEqual([!result.ok && result.kind, service.conversions().length], [kind, count]);
	}
	service.setOutage(null);
	const result = await client.record(sale);
	equal(result.ok && result.outcome, "DUPLICATE");
});

test("the fake service refuses to run in production", (t) => {
	const before = process.env["NODE_ENV"];
	t.after(() => {
		if (before === undefined) delete process.env["NODE_ENV"];
		else process.env["NODE_ENV"] = before;
	});
	process.env["NODE_ENV"] = "production";
	throws(() => createFakeService(), /records nothing real, and NODE_ENV is production/);
});

test("a decision that the status does not allow is a mistake of the test, and throws", async () => {
	const service = createFakeService();
	throws(() => service.decide("1001", { move: "approve" }), /no order 1001/);
	await createClient(service.clientOptions).record({ orderId: "1001", basketValue: "1.00" });
	service.decide("1001", { move: "reject", reason: "FRAUD" });
	throws(() => service.decide("1001", { move: "approve" }), /is REJECTED/);
});

test("an example event fits its name, and a signed one is accepted by a receiver with that secret, path and brand", async () => {
	deepEqual(
		(
			["conversion.recorded", "conversion.approved", "conversion.rejected", "conversion.reversed"] as const
		).map((event) => [exampleEvent({ event }).status, exampleEvent({ event }).reason]),
		[
			["RECORDED", null],
			["APPROVED", null],
			["REJECTED", "RETURN"],
			["REVERSED", "RETURN"],
		],
	);
	equal(exampleEvent({ orderId: "77", test: true }).orderId, "77");
	const refused: string[] = [];
	const receiver = createReceiver({
		secret: "rbs_shop",
		brand: "Acme",
		onEvent: () => undefined,
		onRefused: ({ reason }) => refused.push(reason),
	});
	const options = { secret: "rbs_shop", brand: "Acme", path: "/hooks?shop=1" };
	const callback = await signCallback(exampleEvent(), options);
	equal(callback.headers["User-Agent"], "service-postback/1");
	equal((await receiver.receive(callback)).answer.status, 204);
	equal((await receiver.receive(callback)).answer.status, 401, "a copy");
	const old = await signCallback(exampleEvent(), { ...options, now: Date.now() - 301_000 });
	equal((await receiver.receive(old)).answer.status, 401);
	const other = await signCallback(exampleEvent(), { ...options, secret: "rbs_other" });
	equal((await receiver.receive(other)).answer.status, 401);
	equal((await receiver.receive({ ...callback, path: "/hooks" })).answer.status, 401);
	deepEqual(refused, ["replayed_nonce", "stale_timestamp", "bad_signature", "bad_signature"]);
});
