// Repeats background work at an interval. Runs never overlap, and a caller can ask for an earlier run.

import type { Clock } from "#core/ports.ts";
import { createSingleFlight } from "../concurrency/single-flight.ts";

export interface Loop {
	/** Starts a run now. If a run is in progress, another one starts right after it. */
	runSoon(): void;
	/** Prevents further runs. Resolves when the run in progress has ended. */
	stop(): Promise<void>;
}

export interface LoopOptions {
	clock: Pick<Clock, "after">;
	everyMs: number | (() => number);
	/** Time from the end of a failed run to the start of the next. The default is `everyMs`. */
	againAfterMs?: number;
	/** Time before the first run. The default is 0. */
	firstAfterMs?: number;
	run(isStopping: () => boolean): Promise<unknown>;
	/** Handles the error of a run. The next run follows as usual. */
	onFailure(error: unknown): void;
}

export function startLoop(options: LoopOptions): Loop {
	const { clock, everyMs, againAfterMs, firstAfterMs = 0, run, onFailure } = options;
	const usualMs = () => (typeof everyMs === "number" ? everyMs : everyMs());
	let isStopping = false;
	let cancelNext = (): void => undefined;

	const flight = createSingleFlight({
		async run() {
			cancelNext();
			await run(() => isStopping);
			scheduleNext(usualMs());
		},
		onError(error) {
			onFailure(error);
			scheduleNext(againAfterMs ?? usualMs());
		},
	});

	function scheduleNext(delayMs: number): void {
		if (!isStopping) cancelNext = clock.after(delayMs, flight.request);
	}

	scheduleNext(firstAfterMs);
	return {
		runSoon: flight.request,
		async stop() {
			isStopping = true;
			cancelNext();
			await flight.stop();
		},
	};
}
