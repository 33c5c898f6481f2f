// A clock that leaps: what was to fire in between fires late, as on a machine that was suspended. Walking
// through a day of the engine's polls, as test/support/clock.ts does, would take seconds for each delay.

import { type MovableClock, START_MS, settle } from "./clock.ts";

interface Timer {
	atMs: number;
	run: () => void;
}

export function createLeapingClock(startMs: number = START_MS): MovableClock {
	// In the order of setting, so that among equal times the first set fires first.
	const timers = new Set<Timer>();
	let nowMs = startMs;

	async function moveTo(atMs: number): Promise<void> {
		if (atMs < nowMs) throw new RangeError(`the clock is at ${nowMs} and cannot go back to ${atMs}`);
		await settle();
		// Others may have moved it on meanwhile.
		nowMs = Math.max(nowMs, atMs);
		for (let timer = firstDue(timers, nowMs); timer !== undefined; timer = firstDue(timers, nowMs)) {
			timers.delete(timer);
			timer.run();
			await settle();
		}
	}

	return {
		nowMs: () => nowMs,
		yieldLoop: () => new Promise((resolve) => setImmediate(resolve)),
		after(delayMs, run) {
			const timer = { atMs: nowMs + delayMs, run };
			timers.add(timer);
			return () => timers.delete(timer);
		},
		moveTo,
		moveBy: (ms) => moveTo(nowMs + ms),
		get waitingTimers() {
			return timers.size;
		},
	};
}

function firstDue(timers: ReadonlySet<Timer>, nowMs: number): Timer | undefined {
	let first: Timer | undefined;
	for (const timer of timers) {
		if (timer.atMs <= nowMs && (first === undefined || timer.atMs < first.atMs)) first = timer;
	}
	return first;
}
