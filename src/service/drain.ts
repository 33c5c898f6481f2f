// The time in which a process that is to stop goes on answering, until load balancers have noticed.

import type { Clock } from "../ports.ts";
import type { StopCause } from "./stop-signals.ts";

export interface StopOptions {
	/** For the log. */
	cause?: StopCause | "outdated";
	/** Unready for so long before it is closed to newcomers. Not in a worker: nobody sends it requests. */
	drainMs?: number;
	/** Aborted when there is no time for that after all. */
	hurried?: AbortSignal;
}

/** Resolves when it is over, or somebody hurries. */
export function passDrain(clock: Clock, drainMs: number, hurried: AbortSignal | undefined): Promise<void> {
	const over = Promise.withResolvers<void>();
	const cancel = clock.after(drainMs, over.resolve);
	hurried?.addEventListener("abort", () => over.resolve());
	if (hurried?.aborted === true) over.resolve();
	return over.promise.finally(cancel);
}
