// Real time: the event loop of this process is held up on purpose, for fractions of a second.

import { equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Load } from "../ports.ts";
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

test("a loop that is held up is late, from within and afterwards, and each time counts", async (t) => {
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

test("a loop that comes round every few milliseconds is busy, and not late", async (t) => {
	const load = open(t);
	load.busyShare();
	// A machine that takes the core away for so long in every one of these is not what is tested here.
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
