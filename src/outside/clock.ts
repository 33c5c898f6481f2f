// Implements the machine's clock. Like everything in this directory, it implements an interface of ports.ts, and only
// the service imports it.

import type { Clock } from "#core/ports.ts";

/**
 * Longest delay that Node's timers support. Node runs a timer with a longer delay at once, so longer delays are
 * shortened to this one, and callers accept being woken early.
 */
const MAX_TIMER_MS = 2_147_483_647;

export const realClock: Clock = {
	nowMs: () => Date.now(),
	monotonicMs: () => performance.now(),
	isSure: () => true,
	after(delayMs, run) {
		const timer = setTimeout(run, Math.min(Math.max(0, delayMs), MAX_TIMER_MS));
		return () => clearTimeout(timer);
	},
	yieldLoop: () => new Promise((resolve) => setImmediate(resolve)),
};
