import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "../../test/support/clock.ts";
import { createPixelTurns, MAX_AT_ONCE, MAX_WAITING } from "./pixel-turns.ts";

const TURNING = { yieldLoop: () => new Promise<void>((resolve) => setImmediate(resolve)) };

test("few work at once, the others in the order of their coming, and one too many is not taken", async () => {
	const turns = createPixelTurns(TURNING);
	const started: number[] = [];
	const finish: (() => void)[] = [];
	const work = (call: number) => () => {
		started.push(call);
		return new Promise<number>((resolve) => finish.push(() => resolve(call)));
	};
	const room = MAX_AT_ONCE + MAX_WAITING;
	const taken = Array.from({ length: room }, (_, call) => turns.take(work(call)));
	await settle();
	assert.equal(started.length, MAX_AT_ONCE);
	assert.equal(turns.take(work(room)), undefined);
	for (let call = 0; call < room; call++) {
		while (finish.length <= call) await settle();
		finish[call]?.();
	}
	assert.deepEqual(
		await Promise.all(taken),
		Array.from({ length: room }, (_, call) => call),
	);
	assert.deepEqual(
		started,
		[...started].sort((one, other) => one - other),
	);
});

test("between two of them whoever else has come in gets on", async () => {
	const turns = createPixelTurns(TURNING);
	const order: string[] = [];
	// Ready at once, as a file database is: everything happens without going back to the event loop.
	const calls = Array.from({ length: 3 * MAX_AT_ONCE }, () =>
		turns.take(async () => void order.push("pixel")),
	);
	setImmediate(() => order.push("other"));
	await Promise.all(calls);
	assert.equal(order.indexOf("other"), MAX_AT_ONCE);
});

test("one that fails gives its turn back", async () => {
	const turns = createPixelTurns(TURNING);
	for (let call = 0; call < 3 * MAX_AT_ONCE; call++) {
		await assert.rejects(turns.take(() => Promise.reject(new Error("no"))) ?? Promise.resolve());
	}
	assert.equal(await turns.take(async () => "done"), "done");
});
