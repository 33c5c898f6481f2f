// Provides a clock that moves only if a test moves it. Timers fire in the order of their time, and each finishes the
// work it started before the next one fires.

import type { Clock } from "#core/ports.ts";

export interface MovableClock extends Clock {
	moveBy(ms: number): Promise<void>;
	moveTo(atMs: number): Promise<void>;
	/**
	 * Number of timers that have neither fired nor been cancelled, which is zero after a clean stop. A test must not
	 * wait until this number grows, because another timer than the expected one may cause that.
	 */
	readonly waitingTimers: number;
}

export interface TestClock extends MovableClock {
	/**
	 * Returns the number of timers that are due after exactly this time. With it a test waits for the timer that it
	 * knows by its delay.
	 */
	timersDueIn(ms: number): number;
	/**
	 * Suspends the machine for this time and resumes it. The time of day continues, but the monotonic clock and the
	 * timers stand still, as on Linux.
	 */
	suspend(ms: number): void;
}

/** An arbitrary fixed time that is easy to recognise in a failed assertion. */
export const START_MS = Date.UTC(2026, 0, 15, 12);

/**
 * Number of rounds of the event loop to wait after a timer. In each round, promises settle and one stage of
 * real I/O can arrive.
 */
const SETTLE_ROUNDS = 5;

interface Timer {
	atMs: number;
	run: () => void;
}

export interface ClockOptions {
	/**
	 * Largest step by which the clock jumps. Timers in between fire late, as on a machine that was suspended. By default
	 * each timer sees the exact time it was set for, but then moving through a day takes seconds, because the engine
	 * polls often.
	 */
	leapMs?: number;
	/** Returns whether the process may rely on the time; true by default. */
	isSure?: () => boolean;
}

export function createClock(
	startMs: number = START_MS,
	{ leapMs = 0, isSure = () => true }: ClockOptions = {},
): TestClock {
	// Timers are stored in the order in which they were set. Among timers for the same time, the first one set
	// fires first.
	const timers = new Set<Timer>();
	let nowMs = startMs;
	let suspendedMs = 0;

	async function moveTo(atMs: number): Promise<void> {
		if (atMs < nowMs) throw new RangeError(`the clock is at ${nowMs} and cannot go back to ${atMs}`);
		await settle();
		if (leapMs === 0) return walkTo(atMs);
		// Another caller may have moved the clock while this one waited.
		do {
			nowMs = Math.max(nowMs, Math.min(atMs, nowMs + leapMs));
			await walkTo(nowMs);
		} while (nowMs < atMs);
	}

	async function walkTo(atMs: number): Promise<void> {
		const next = () => firstUntil(timers, Math.max(nowMs, atMs));
		for (let timer = next(); timer !== undefined; timer = next()) {
			timers.delete(timer);
			nowMs = Math.max(nowMs, timer.atMs);
			timer.run();
			await settle();
		}
		nowMs = Math.max(nowMs, atMs);
	}

	return {
		nowMs: () => nowMs,
		// Like the machine's monotonic clock, this one does not start at the Unix epoch.
		monotonicMs: () => nowMs - startMs - suspendedMs,
		isSure,
		yieldLoop: () => new Promise((resolve) => setImmediate(resolve)),
		after(delayMs, run) {
			const timer = { atMs: nowMs + delayMs, run };
			timers.add(timer);
			return () => timers.delete(timer);
		},
		moveTo,
		moveBy: (ms) => moveTo(nowMs + ms),
		suspend(ms) {
			nowMs += ms;
			suspendedMs += ms;
			for (const timer of timers) timer.atMs += ms;
		},
		get waitingTimers() {
			return timers.size;
		},
		timersDueIn: (ms) => [...timers].filter((timer) => timer.atMs === nowMs + ms).length,
	};
}

/** Returns a clock that shows the given time and runs no timers. */
export function makeStillClock(nowMs: () => number): Clock {
	return {
		nowMs,
		monotonicMs: nowMs,
		isSure: () => true,
		after: () => () => undefined,
		yieldLoop: async () => undefined,
	};
}

function firstUntil(timers: ReadonlySet<Timer>, atMs: number): Timer | undefined {
	let first: Timer | undefined;
	for (const timer of timers) {
		if (timer.atMs <= atMs && (first === undefined || timer.atMs < first.atMs)) first = timer;
	}
	return first;
}

export async function settle(): Promise<void> {
	for (let round = 0; round < SETTLE_ROUNDS; round++) {
		await new Promise<void>((resolve) => setImmediate(resolve));
	}
}
