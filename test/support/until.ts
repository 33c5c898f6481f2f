// Waits for real sockets, a real database or another process, and gives up if nothing happens.

import { setTimeout as wait } from "node:timers/promises";
import type { MovableClock } from "./clock.ts";
import { PATIENCE_MS } from "./patience.ts";

export type Condition = () => boolean | Promise<boolean>;

/**
 * Pauses grow to a twentieth of the wait so far, so that a wait of seconds does not poll a hundred times a second.
 */
const FIRST_PAUSE_MS = 1;
const LAST_PAUSE_MS = 50;
/** Largest step by which a clock moves while waiting, so that it does not run ahead of work in real time. */
const LAST_STEP_MS = 10;

/** Waits in real time. It polls, because the awaited condition cannot notify the test. */
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
 * Moves the service's clock, which the test controls, by `tickMs` for each millisecond of waiting, because the engine
 * collects results for some milliseconds of that clock. With zero the clock stands still, and only what is already
 * due happens.
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
