// These tests use real time. They block the event loop of this process for fractions of a second.

import { equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Load } from "#core/ports.ts";
import { createLoad } from "./load.ts";

function open(t: TestContext): Load {
	const load = createLoad();
	t.after(() => load.stop());
	return load;
}

function holdUp(forMs: number): void {
	const endMs = performance.now() + forMs;
	while (performance.now() < endMs);
}

const nextRound = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

test("a blocked loop is late during the block and afterwards, and each block counts", async (t) => {
	const load = open(t);
	equal(load.lateMs(), 0);
	holdUp(500);
	const duringMs = load.lateMs();
	ok(duringMs >= 400, `${duringMs} ms`);
	await nextRound();
	const afterMs = load.lateMs();
	ok(afterMs >= duringMs, `${afterMs} ms`);
	holdUp(500);
	await nextRound();
	ok(load.lateMs() >= afterMs + 300, `${load.lateMs()} ms`);
});

test("a loop that runs every few milliseconds is busy, and not late", async (t) => {
	const load = open(t);
	load.busyShare();
	// The lowest value of several runs is used, because in some of them the system may run other processes on
	// this core.
	let leastLateMs = Number.POSITIVE_INFINITY;
	for (let time = 0; time < 5; time++) {
		const beforeMs = load.lateMs();
		for (let round = 0; round < 15; round++) {
			holdUp(10);
			await new Promise((resolve) => setImmediate(resolve));
		}
		leastLateMs = Math.min(leastLateMs, load.lateMs() - beforeMs);
	}
	equal(leastLateMs, 0);
	ok(load.busyShare() > 0.85);
});
