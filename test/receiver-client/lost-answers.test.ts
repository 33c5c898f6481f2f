// What the shop is told when the network or the service breaks in the middle: the truth, and one conversion.

import { deepEqual, equal, ok } from "node:assert/strict";
import { createServer, request as forward } from "node:http";
import { after, test } from "node:test";
import { portOf } from "../support/port-of.ts";
import { until } from "../support/until.ts";
import { startLiveService } from "./live-service.ts";

const live = await startLiveService();
const retry = { firstDelayMs: 1, maxDelayMs: 10 };

/** How many answers the proxy still keeps to itself. */
let answersToDrop = 0;
/** Passes everything on, and hangs up on the shop where it was to hand the service's answer back. */
const proxy = createServer((incoming, outgoing) => {
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
await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
after(
	() =>
		new Promise<void>((resolve) => {
			proxy.close(() => resolve());
			proxy.closeAllConnections();
		}),
);
const client = live.createClient({ url: `http://127.0.0.1:${portOf(proxy)}`, retry });

test("a sale whose answer is lost is a duplicate on the next try, and there is one conversion", async () => {
	answersToDrop = 1;
	const result = await client.record({ orderId: "A-1", basketValue: "10.00" });
	ok(result.ok);
	deepEqual([result.outcome, result.attempts, result.conversion.basketValue], ["DUPLICATE", 2, "10.00"]);
	equal((await live.countRows("A-1")).conversions, 1);
	deepEqual((await live.inboundOutcomes()).slice(-2), ["RECORDED", "DUPLICATE"]);
});

test("a decision whose answers are lost is taken once and told in the end", async () => {
	const before = await live.countRows("A-1");
	answersToDrop = 3;
	const result = await client.reverse({ orderId: "A-1", reason: "RETURN" });
	ok(result.ok);
	deepEqual([result.outcome, result.attempts, result.conversion.reason], ["REVERSED", 4, "RETURN"]);
	equal((await live.countRows("A-1")).moves, before.moves + 1);
});

test("a sale whose answers are all lost is told as unreachable, though it is stored", async () => {
	answersToDrop = 4;
	const result = await client.record({ orderId: "A-2", basketValue: "10.00" });
	deepEqual([!result.ok && result.kind, result.attempts], ["unreachable", 4]);
	equal(answersToDrop, 0);
	equal((await live.countRows("A-2")).conversions, 1);
});

test("a list whose answer is lost is done once, and the next try tells what became of each", async () => {
	answersToDrop = 1;
	const sales = ["L-1", "L-2"].map((orderId) => ({ orderId, basketValue: "10.00" }));
	const recorded = await client.recordMany(sales);
	ok(recorded.ok, JSON.stringify(recorded));
	equal(recorded.attempts, 2);
	deepEqual(
		recorded.results.map((one) => one.ok && one.outcome),
		["DUPLICATE", "DUPLICATE"],
	);

	// What the README warns of: the approval was taken, and is not open any more when it is asked for again.
	answersToDrop = 1;
	const decided = await client.decideMany([
		{ decision: "approve", orderId: "L-1" },
		{ decision: "reverse", orderId: "L-1", reason: "RETURN" },
		{ decision: "approve", orderId: "L-2" },
	]);
	ok(decided.ok, JSON.stringify(decided));
	equal(decided.attempts, 2);
	deepEqual(
		decided.results.map((one) => (one.ok ? one.outcome : one.code)),
		["move_not_allowed", "REVERSED", "APPROVED"],
	);
	deepEqual(await live.countRows("L-1"), { conversions: 1, moves: 3 });
	deepEqual(await live.countRows("L-2"), { conversions: 1, moves: 2 });
});

test("a call made while the service restarts is done once it is back", async () => {
	await live.stop();
	const tries: number[] = [];
	const patient = live.createClient({
		retry: { maxAttempts: 20, firstDelayMs: 50, maxDelayMs: 500 },
		fetch: (input, init) => {
			tries.push(performance.now());
			return fetch(input, init);
		},
	});
	const call = patient.record({ orderId: "A-3", basketValue: "10.00" });
	await until(() => tries.length >= 2);
	await live.startAgain();
	const result = await call;
	ok(result.ok, JSON.stringify(result));
	equal(result.outcome, "RECORDED");
	ok(result.attempts > 1);
	equal((await live.countRows("A-3")).conversions, 1);
});

test("a service that is not there is told as unreachable", async () => {
	await live.stop();
	const result = await live.createClient({ retry }).record({ orderId: "A-4", basketValue: "10.00" });
	deepEqual([!result.ok && result.kind, result.attempts], ["unreachable", 4]);
});
