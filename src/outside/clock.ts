// The machine's clock. Like everything in this room it is the real thing behind an interface of ports.ts, and only the
// service imports it.

import type { Clock } from "../ports.ts";

/** Node fires a longer timer at once; an early wake-up is harmless to whoever waits that long. */
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
