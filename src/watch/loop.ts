// The one way in which something happens again and again: never twice at once, sooner when somebody asks for it, and a
// stop that waits for the run under way.

import type { Clock } from "../ports.ts";

export interface Loop {
	/** Now, or right after the run that is under way. */
	runSoon(): void;
	/** No run begins any more. Resolves when the one under way has come to its end. */
	stop(): Promise<void>;
}

export interface LoopOptions {
	clock: Pick<Clock, "after">;
	/** From the end of one run to the next. */
	everyMs: number | (() => number);
	/** The same after a run that failed; as `everyMs` unless told otherwise. */
	againAfterMs?: number;
	/** Before the first run. */
	firstAfterMs?: number;
	run(isStopping: () => boolean): Promise<unknown>;
	/** The next run comes all the same. */
	onFailure(error: unknown): void;
}

export function startLoop(options: LoopOptions): Loop {
	const { clock, everyMs, againAfterMs, firstAfterMs = 0, run, onFailure } = options;
	let running: Promise<void> | null = null;
	let isWanted = false;
	let isStopping = false;
	let cancel = (): void => undefined;

	function runSoon(): void {
		if (isStopping) return;
		isWanted = true;
		running ??= runWhileWanted();
	}

	async function runWhileWanted(): Promise<void> {
		cancel();
		let hasFailed = false;
		while (isWanted && !isStopping) {
			isWanted = false;
			hasFailed = false;
			try {
				await run(() => isStopping);
			} catch (error) {
				hasFailed = true;
				onFailure(error);
			}
		}
		running = null;
		if (isStopping) return;
		const usualMs = typeof everyMs === "number" ? everyMs : everyMs();
		cancel = clock.after(hasFailed ? (againAfterMs ?? usualMs) : usualMs, runSoon);
	}

	cancel = clock.after(firstAfterMs, runSoon);
	return {
		runSoon,
		async stop() {
			isStopping = true;
			cancel();
			await running;
		},
	};
}
