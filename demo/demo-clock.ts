// The machine's clock with a function that skips time, because nobody wants to wait for a retry in a demo.

import type { Clock } from "#core/ports.ts";

export interface DemoClock extends Clock {
	/** Moves the clock forward by this time, and runs the timers that are due. */
	skip(ms: number): void;
}

interface Waiting {
	atMs: number;
	run: () => void;
	timer: NodeJS.Timeout;
}

export function createDemoClock(): DemoClock {
	let skippedMs = 0;
	const waiting = new Set<Waiting>();
	const nowMs = (): number => Date.now() + skippedMs;

	function arm(entry: Waiting): void {
		clearTimeout(entry.timer);
		entry.timer = setTimeout(
			() => {
				waiting.delete(entry);
				entry.run();
			},
			Math.max(0, entry.atMs - nowMs()),
		);
	}

	return {
		nowMs,
		monotonicMs: () => performance.now() + skippedMs,
		isSure: () => true,
		yieldLoop: () => new Promise((resolve) => setImmediate(resolve)),
		after(delayMs, run) {
			const entry: Waiting = { atMs: nowMs() + delayMs, run, timer: setTimeout(() => undefined, 0) };
			waiting.add(entry);
			arm(entry);
			return () => {
				clearTimeout(entry.timer);
				waiting.delete(entry);
			};
		},
		skip(ms) {
			skippedMs += ms;
			for (const entry of waiting) arm(entry);
		},
	};
}
