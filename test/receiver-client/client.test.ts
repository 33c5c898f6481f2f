// The client against the real service: every call, how each ends, and what a shop learns when the network or
// the service fails in the middle. receiver/src/client tests what the client makes of any answer, and src/core/api
// what the service answers to any request.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { request as forward } from "node:http";
import { after, test } from "node:test";
import { type BatchResult, type CallFailure, type Conversion, signRequest } from "@ringback/receiver";
import { keepClick } from "@ringback/receiver/click";
import { createOutbox, type OutboxCall } from "@ringback/receiver/outbox";
import { reconcile } from "@ringback/receiver/reconcile";
import { startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";
import { startLiveService } from "./live-service.ts";

const live = await startLiveService();
const client = live.createClient();
const retry = { firstDelayMs: 1, maxDelayMs: 10 };
const sale = (orderId: string, basketValue = "10.00") => ({ orderId, basketValue });
const wordOf = (result: BatchResult<string>) => (result.ok ? result.outcome : result.code);

/** Number of answers that the proxy still drops. */
let answersToDrop = 0;
/**
 * Forwards everything, but closes the shop's connection instead of returning the answer while answers are to
 * be dropped.
 */
const proxyUrl = await startHttpServer({ after }, (incoming, outgoing) => {
	const { method, url, headers } = incoming;
	const passed = forward(live.service.url + url, { method, headers }, (answer) => {
		if (answersToDrop === 0) {
			answer.pipe(outgoing.writeHead(answer.statusCode ?? 500, answer.headers));
			return;
		}
		answersToDrop--;
		answer.resume().on("end", () => outgoing.destroy());
	});
	passed.on("error", () => outgoing.destroy());
	incoming.pipe(passed);
});
const cutOff = live.createClient({ url: proxyUrl, retry });

test("a sale is recorded, and reporting it again returns a duplicate with the first conversion", async () => {
	const reported = { ...sale("A-1", "129.9"), currency: "EUR", eventType: "LEAD" };
	const occurredAt = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
	const first = await client.record({ ...reported, occurredAt, test: true });
	ok(first.ok);
	deepEqual([first.outcome, first.attempts], ["RECORDED", 1]);
	const { id, createdAt, updatedAt, approvesAt, ...rest } = first.conversion;
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
		refundedValue: "0.00",
		decidedBy: null,
		occurredAt: "2026-01-02T03:04:05.678Z",
		expiresAt: null,
	});
	equal(updatedAt, createdAt);
	ok(Date.parse(approvesAt ?? "") > Date.parse(createdAt));
	const again = await client.record({ ...reported, basketValue: "1" });
	ok(again.ok);
	deepEqual([again.outcome, again.attempts, again.conversion], ["DUPLICATE", 1, first.conversion]);
	const shown = { ok: true, attempts: 1, conversion: first.conversion, refunds: [] };
	deepEqual(await client.conversion(id), shown);
});

test("a pixel's conversion is confirmed by the server's report", async () => {
	const query = new URLSearchParams({ orderId: "A-2", basketValue: "50.00" });
	await (await fetch(`${live.service.url}/pixel/${live.account.programmeId}.gif?${query}`)).arrayBuffer();
	const parked = await client.conversions({ status: "PARKED" });
	deepEqual(parked.ok && parked.conversions.map(({ orderId }) => orderId), ["A-2"]);
	const confirmed = await client.record(sale("A-2", "49.00"));
	ok(confirmed.ok);
	const { status, source, basketValue, pixelBasketValue } = confirmed.conversion;
	deepEqual(
		[confirmed.outcome, status, source, basketValue, pixelBasketValue],
		["CONFIRMED", "RECORDED", "pixel", "49.00", "50.00"],
	);
});

test("each decision is made, and repeating it returns the same answer", async () => {
	ok((await client.recordMany([sale("A-3"), sale("A-4")])).ok);
	const decide = {
		APPROVED: () => client.approve({ orderId: "A-3" }),
		REVERSED: () => client.reverse({ orderId: "A-3", eventType: "SALE", reason: "RETURN" }),
		REJECTED: () => client.reject({ orderId: "A-4", reason: "PAYMENT_FAILED" }),
	};
	for (const [outcome, call] of Object.entries(decide)) {
		const [first, again] = [await call(), await call()];
		ok(first.ok);
		const { status, decidedBy } = first.conversion;
		deepEqual([first.outcome, status, decidedBy], [outcome, outcome, "shop"]);
		deepEqual(again, first);
	}
	equal((await live.countRows("A-4")).moves, 2);
});

test("a refund returns the amounts that are left, once however often it is sent, and the list of changes has it", async () => {
	ok((await client.record(sale("F-1", "100.00"))).ok);
	const refund = { orderId: "F-1", refundId: "CN-1", amount: "30.00", reason: "RETURN" } as const;
	const [first, again] = [await client.refund(refund), await client.refund(refund)];
	ok(first.ok);
	const { basketValue, refundedValue, status, updatedAt } = first.conversion;
	deepEqual([first.outcome, basketValue, refundedValue, status], ["REFUNDED", "70.00", "30.00", "RECORDED"]);
	deepEqual(again, first);
	const { refundedAt, ...refunded } = first.refund;
	deepEqual(refunded, { refundId: "CN-1", amount: "30.00", basketValue: "70.00", reason: "RETURN" });
	const changedFrom = new Date(Date.parse(refundedAt));
	equal(refundedAt, updatedAt);
	const listed = await client.conversions({ changedFrom, orderId: "F-1" });
	deepEqual(listed.ok && listed.conversions, [first.conversion]);
	const number = await client.refund(Object.assign({ ...refund }, { amount: 30 }));
	deepEqual(
		[!number.ok && number.kind === "refused" && number.code, number.attempts],
		["amount_not_a_string", 0],
	);
	const rest = await client.refund({ ...refund, refundId: "CN-2", amount: "70.00" });
	ok(rest.ok);
	deepEqual(
		[rest.outcome, rest.conversion.status, rest.refund.basketValue],
		["REVERSED", "REVERSED", "0.00"],
	);
	const shown = await client.conversion(rest.conversion.id);
	deepEqual(shown.ok && shown.refunds, [first.refund, rest.refund]);
});

test("in a batch each item has its outcome or its refusal, and a bad one spoils no other", async () => {
	const recorded = await client.recordMany([
		sale("B-1"),
		{ ...sale("B-2"), currency: "USD" },
		sale("B-1", "99.00"),
		Object.assign(sale("B-4"), { basketValue: 12.5 }),
		Object.assign(sale("B-5"), { curency: "EUR" }),
		{ ...sale("B-3"), eventType: "LEAD", occurredAt: new Date(Date.UTC(2026, 0, 2)), test: true },
	]);
	ok(recorded.ok, JSON.stringify(recorded));
	const outcomes = ["RECORDED", "wrong_currency", "DUPLICATE", "amount_not_a_string", "unknown_field"];
	deepEqual(recorded.results.map(wordOf), [...outcomes, "RECORDED"]);
	const [, wrong] = recorded.results;
	ok(wrong?.ok === false);
	deepEqual([wrong.kind, wrong.status, "field" in wrong && wrong.field], ["refused", 422, "currency"]);
	equal((await live.countRows("B-2")).conversions, 0);
	ok((await client.record(sale("B-6"))).ok);
	const decided = await client.decideMany([
		{ decision: "approve", orderId: "B-1" },
		{ decision: "refund", orderId: "B-1", refundId: "1", basketValue: "1.00", reason: "RETURN" },
		{ decision: "reverse", orderId: "B-1", reason: "RETURN" },
		{ decision: "reject", orderId: "B-6", reason: "FRAUD", eventType: "SALE" },
		{ decision: "approve", orderId: "B-6" },
		{ decision: "approve", orderId: "nobody's" },
	]);
	ok(decided.ok, JSON.stringify(decided));
	const decisions = ["APPROVED", "REFUNDED", "REVERSED", "REJECTED", "move_not_allowed", "unknown_order"];
	deepEqual(decided.results.map(wordOf), decisions);
});

test("five hundred items with the longest order ids fit into one call, and are listed once each over all pages", async () => {
	// The service allows 500 bytes per item, of which the order id takes most.
	const orderIds = Array.from({ length: 500 }, (_, i) => `${"€".repeat(124)}-${i}`);
	const before = (await live.inboundOutcomes()).length;
	const result = await client.recordMany(
		orderIds.map((orderId) => ({ ...sale(orderId), eventType: "RENEWAL" })),
	);
	deepEqual(result.ok && result.results.map((one) => one.ok && one.conversion.orderId), orderIds);
	deepEqual((await live.inboundOutcomes()).slice(before), ["BATCH"]);
	const listed: Conversion[] = [];
	for await (const one of client.allConversions()) {
		ok(one.ok);
		if (one.conversion.eventType === "RENEWAL") listed.push(one.conversion);
	}
	deepEqual(listed.map(({ orderId }) => orderId).sort(), orderIds.sort());
});

test("conversions are found by an order id that needs every kind of escaping", async () => {
	const orderId = "Bücher 1/2 & 100% +x=y?#ü✓'\"";
	const recorded = await client.record(sale(orderId));
	ok(recorded.ok);
	const found = { ok: true, attempts: 1, conversions: [recorded.conversion], nextCursor: null };
	deepEqual(await client.conversions({ orderId }), found);
});

const REFUSALS: readonly (readonly [
	what: string,
	call: () => Promise<object>,
	refused: Partial<CallFailure> & object,
	detail: RegExp,
])[] = [
	[
		"an order nobody reported",
		() => client.approve({ orderId: "none" }),
		{ code: "unknown_order", status: 404, field: "orderId" },
		/\w.*\.$/,
	],
	[
		"another brand",
		() => live.createClient({ brand: "Acme" }).record(sale("none")),
		{ code: "missing_signature_header", status: 401 },
		/X-Service-.* Check that brand is /,
	],
	// The answer's Date has whole seconds, and a busy machine needs some time.
	[
		"a shop whose clock is 400 s late",
		() => live.createClient({ now: () => Date.now() - 400_000 }).record(sale("none")),
		{ code: "stale_timestamp", status: 401 },
		/this machine: it is about (39|40|41)\d s behind the service's\.$/,
	],
];

for (const [what, call, refused, said] of REFUSALS) {
	test(`${what} is refused with the service's code and a sentence, asked once, and nothing is stored`, async () => {
		const before = (await live.inboundOutcomes()).length;
		const { detail, ...result } = { detail: "", ...(await call()) };
		const kind = "status" in refused && refused.status === 401 ? "misconfigured" : "refused";
		deepEqual(result, { ok: false, kind, retryable: kind === "misconfigured", attempts: 1, ...refused });
		match(detail, said);
		ok((await live.inboundOutcomes()).length <= before + 1);
		equal((await live.countRows("none")).conversions, 0);
	});
}

test("a request that is duplicated on the way is processed once, and the client learns the result", async () => {
	let copies = 0;
	const twice: typeof fetch = async (input, init) => {
		const first = await fetch(input, init);
		if (copies++ > 0) return first;
		await first.arrayBuffer();
		return fetch(input, init);
	};
	const result = await live.createClient({ fetch: twice, retry }).record(sale("A-twice"));
	deepEqual([result.ok && result.outcome, result.attempts], ["DUPLICATE", 2]);
	deepEqual((await live.inboundOutcomes()).slice(-3), ["RECORDED", "replayed_nonce", "DUPLICATE"]);
	equal((await live.countRows("A-twice")).conversions, 1);
});

test("a request signed with signRequest is accepted, and its signature is valid for nothing else", async () => {
	const { apiKey, secret } = live.account;
	const path = "/v1/conversions?orderId=B%C3%BCcher+1%2F2&limit=10";
	const { headers } = await signRequest({ method: "GET", path, secret, apiKey });
	const ask = async (target: string) => {
		const response = await fetch(live.service.url + target, { headers });
		await response.arrayBuffer();
		return response.status;
	};
	deepEqual([await ask(path.replace("10", "11")), await ask(path), await ask(path)], [401, 200, 401]);
	deepEqual((await live.inboundOutcomes()).slice(-3), ["bad_signature", "LISTED", "replayed_nonce"]);
});

test("a call that was processed but not answered is processed once, and the next try reports it", async () => {
	answersToDrop = 1;
	const recorded = await cutOff.record(sale("L-0"));
	deepEqual([recorded.ok && recorded.outcome, recorded.attempts], ["DUPLICATE", 2]);
	answersToDrop = 3;
	const reversed = await cutOff.reverse({ orderId: "L-0", reason: "RETURN" });
	deepEqual([reversed.ok && reversed.outcome, reversed.attempts], ["REVERSED", 4]);
	deepEqual(await live.countRows("L-0"), { conversions: 1, moves: 2 });
	answersToDrop = 4;
	const unheard = await cutOff.record(sale("L-unheard"));
	deepEqual([!unheard.ok && unheard.kind, unheard.attempts], ["unreachable", 4]);
	equal((await live.countRows("L-unheard")).conversions, 1, "it is stored all the same");

	answersToDrop = 1;
	const many = await cutOff.recordMany([sale("L-1"), sale("L-2")]);
	deepEqual([many.ok && many.results.map(wordOf), many.attempts], [["DUPLICATE", "DUPLICATE"], 2]);
	// The case that the README warns of: the approval was made, and is not open any more when it is requested
	// again.
	answersToDrop = 1;
	const decided = await cutOff.decideMany([
		{ decision: "approve", orderId: "L-1" },
		{ decision: "reverse", orderId: "L-1", reason: "RETURN" },
		{ decision: "approve", orderId: "L-2" },
	]);
	deepEqual(decided.ok && decided.results.map(wordOf), ["move_not_allowed", "REVERSED", "APPROVED"]);
	deepEqual(await live.countRows("L-1"), { conversions: 1, moves: 3 });
});

test("the client reads the programme's terms, and a keeper of click IDs uses them", async () => {
	const result = await client.programme();
	ok(result.ok, JSON.stringify(result));
	const { currency, clickDays, clickParameter, creditsPartners } = result.programme;
	deepEqual([currency, clickDays, clickParameter, creditsPartners], ["EUR", 30, "rbclick", false]);
	const keeper = keepClick({ client, days: 1 });
	const cookie = () => keeper.cookieFor({ url: "/?rbclick=AV1", headers: {} }) ?? "";
	await until(() => cookie().includes("Max-Age=2592000"), cookie);
});

test("a sale with several coupon codes is accepted, and one with too many is refused and not recorded", async () => {
	const codes = await client.record({ ...sale("C-1"), couponCodes: ["WELCOME5", "SUMMER10"] });
	equal(codes.ok && codes.credit, "NOT_CREDITING");
	const many = await client.record({ ...sale("C-2"), couponCodes: Array(11).fill("SUMMER10") });
	deepEqual(!many.ok && [many.kind, many.retryable, many.code], ["refused", false, "too_many_coupon_codes"]);
	equal((await live.countRows("C-2")).conversions, 0);
});

test("reconcile finds what differs between a shop's orders and the service", async () => {
	const since = new Date().toISOString();
	for (const orderId of ["D-same", "D-refunded", "D-unknown"]) await client.record(sale(orderId));
	const refund = { orderId: "D-refunded", refundId: "R-1", amount: "4.00", reason: "RETURN" } as const;
	equal((await client.refund(refund)).ok, true);
	const orders = [
		{ orderId: "D-same", status: "RECORDED", basketValue: "10", commission: "0.80", currency: "EUR" },
		{ orderId: "D-refunded", status: "RECORDED", basketValue: "10.00" },
		{ orderId: "D-never-sent" },
	];
	const result = await reconcile({ client, orders, since });
	ok(result.ok, JSON.stringify(result));
	deepEqual(
		result.differences.map((one) => [
			one.kind,
			one.kind === "missing_at_shop" ? one.conversion.orderId : one.order.orderId,
		]),
		[
			["differs", "D-refunded"],
			["missing_at_service", "D-never-sent"],
			["missing_at_shop", "D-unknown"],
		],
	);
	ok(Date.parse(result.nextSince) < Date.now());
});

test("an outbox keeps its calls while the service is stopped, and each is processed once afterwards", async () => {
	const rows: { id: number; call: OutboxCall; state: string }[] = [
		{ id: 1, call: { call: "record", ...sale("O-1") }, state: "open" },
		{ id: 2, call: { call: "approve", orderId: "O-1" }, state: "open" },
	];
	const outbox = createOutbox({
		client: live.createClient({ retry: { maxAttempts: 1 } }),
		load: (afterId) =>
			rows
				.filter(({ id, state }) => state === "open" && id > afterId)
				.map(({ id, call }) => ({ id, call, attempts: 0, dueAtMs: 0 })),
		save({ id }, { state }) {
			for (const row of rows) if (row.id === id) row.state = state;
		},
		onProblem: () => undefined,
	});
	await live.stop();
	deepEqual(await outbox.drain(), { done: 0, refused: 0, failed: 1, isPaused: false });
	await live.startAgain();
	deepEqual(await outbox.drain(), { done: 2, refused: 0, failed: 0, isPaused: false });
	deepEqual(await live.countRows("O-1"), { conversions: 1, moves: 2 });
});

test("a call made while the service restarts succeeds when it is back", async () => {
	await live.stop();
	let tries = 0;
	const patient = live.createClient({
		retry: { maxAttempts: 20, firstDelayMs: 50, maxDelayMs: 500 },
		fetch: (input, init) => {
			tries++;
			return fetch(input, init);
		},
	});
	const call = patient.record(sale("R-1"));
	await until(() => tries >= 2);
	await live.startAgain();
	const result = await call;
	equal(result.ok && result.outcome, "RECORDED");
	ok(result.attempts > 1);
	equal((await live.countRows("R-1")).conversions, 1);
});
