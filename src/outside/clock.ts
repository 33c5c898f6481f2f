// The machine's clock. Like everything in this directory it implements an interface of ports.ts, and only the
// service imports it.

import type { Clock } from "../ports.ts";

/**
 * Longest delay that Node accepts. It fires longer timers at once, so callers that wait longer are woken
 * early, which is harmless.
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
