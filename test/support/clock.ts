// A clock that stands still until a test moves it. Timers fire in the order of their time, and each gets
// to finish what it started before the next one fires.

import type { Clock } from "../../src/ports.ts";

export interface MovableClock extends Clock {
	moveBy(ms: number): Promise<void>;
	moveTo(atMs: number): Promise<void>;
	/** Timers set and neither fired nor cancelled: zero after a clean stop. */
	readonly waitingTimers: number;
}

/** Any fixed moment would do; this one is easy to recognise in a failed assertion. */
export const START_MS = Date.UTC(2026, 0, 15, 12);

/** Each round lets every promise settle and one stage of real I/O come in. */
const SETTLE_ROUNDS = 5;

interface Timer {
	atMs: number;
	run: () => void;
}

export interface ClockOptions {
	/**
	 * How far it leaps at a time: what was to fire in between fires late, as on a machine that was suspended. Without it
	 * a timer sees the time it was set for; but walking through a day of the engine's polls takes seconds.
	 */
	leapMs?: number;
	/** It is sure of the time unless told. */
	isSure?: () => boolean;
}

export function createClock(
	startMs: number = START_MS,
	{ leapMs = 0, isSure = () => true }: ClockOptions = {},
): MovableClock {
	// In the order of setting, so that among equal times the first set fires first.
	const timers = new Set<Timer>();
	let nowMs = startMs;

	async function moveTo(atMs: number): Promise<void> {
		if (atMs < nowMs) throw new RangeError(`the clock is at ${nowMs} and cannot go back to ${atMs}`);
		await settle();
		if (leapMs === 0) return walkTo(atMs);
		// Others may have moved it on meanwhile.
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
		// From a zero of its own, as the machine's has.
		monotonicMs: () => nowMs - startMs,
		isSure,
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

/** Tells a time, and runs nothing. */
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
