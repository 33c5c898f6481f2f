// Waits for what real sockets, a real database or another process has to do, and gives up when it is stuck.

import { setTimeout as wait } from "node:timers/promises";
import type { MovableClock } from "./clock.ts";
import { PATIENCE_MS } from "./patience.ts";

export type Condition = () => boolean | Promise<boolean>;

/** Each is a twentieth of the wait so far: whoever waits for a deadline of seconds need not ask a hundred times in each. */
const FIRST_PAUSE_MS = 1;
const LAST_PAUSE_MS = 50;
/** In which a clock moves along: what is on its way in real time must not be left behind. */
const LAST_STEP_MS = 10;

/** In real time. It asks again and again: what is waited for has no way to call us. */
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
 * Moves the service's clock, which is in the test's hand, by `tickMs` for each millisecond of waiting, because
 * the engine gathers results for some milliseconds of it. With zero the clock stands, and only what is due
 * already happens.
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
