// Waits for what real sockets and a real database have to do, while the service's clock is in the test's hand.

import type { MovableClock } from "./clock.ts";

/** Milliseconds on an idle machine; a delivery that hangs ends after five seconds. */
const GIVE_UP_AFTER_MS = 20_000;
/** Short at first; whoever waits for a five-second deadline need not ask a thousand times a second. */
const FIRST_PAUSE_MS = 1;
const LAST_PAUSE_MS = 10;

/**
 * Moves the clock by `tickMs` for each millisecond of waiting, because the engine gathers results for some
 * milliseconds of it. With zero the clock stands, and only what is due already happens.
 */
export async function until(
	clock: MovableClock,
	what: string,
	condition: () => boolean | Promise<boolean>,
	tickMs = 1,
): Promise<void> {
	const giveUpAtMs = performance.now() + GIVE_UP_AFTER_MS;
	for (
		let pauseMs = FIRST_PAUSE_MS;
		!(await condition());
		pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 1.05)
	) {
		if (performance.now() > giveUpAtMs) throw new Error(`waited in vain until ${what}`);
		await clock.moveBy(tickMs * Math.floor(pauseMs));
		await new Promise((resolve) => setTimeout(resolve, pauseMs));
	}
}
