// Waits for real sockets, a real database or another process, and gives up if nothing happens.

import { setTimeout as wait } from "node:timers/promises";
import type { MovableClock } from "./clock.ts";
import { PATIENCE_MS } from "./patience.ts";

export type Condition = () => boolean | Promise<boolean>;

/**
 * First pause between two polls. Later pauses are a twentieth of the time waited so far, so that a wait of seconds
 * does not poll a hundred times a second.
 */
const FIRST_PAUSE_MS = 1;
const LAST_PAUSE_MS = 50;
/**
 * Largest step by which a test's clock moves while it waits, so that the clock does not run ahead of work in
 * real time.
 */
const LAST_STEP_MS = 10;

/** Waits in real time until the condition holds. The condition is polled, because it cannot notify the test. */
export async function until(
	condition: Condition,
	describe: () => string = () => "it never came true",
	pause: (pauseMs: number) => Promise<unknown> = wait,
): Promise<void> {
	const giveUpAtMs = performance.now() + PATIENCE_MS;
	let pauseMs = FIRST_PAUSE_MS;
	while (!(await condition())) {
		if (performance.now() > giveUpAtMs) throw new Error(`waited ${PATIENCE_MS} ms; ${describe()}`);
		await pause(pauseMs);
		pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 1.05);
	}
}

/**
 * Waits until the condition holds, and moves the test's clock by `tickMs` for each millisecond of waiting. The clock
 * must move, because the engine collects results for some milliseconds. If `tickMs` is zero, the clock does not move,
 * and only work that is already due is done.
 */
export function untilOnClock(
	clock: MovableClock,
	what: string,
	condition: Condition,
	tickMs = 1,
): Promise<void> {
	return until(
		condition,
		() => `in vain until ${what}`,
		async (pauseMs) => {
			const stepMs = Math.min(LAST_STEP_MS, pauseMs);
			await clock.moveBy(tickMs * Math.floor(stepMs));
			await wait(stepMs);
		},
	);
}
