// An answer that nobody hurries for: whoever floods with one call after the other is slowed down to one call a second
// and connection, and the process has its time for others.

import type { Clock } from "../ports.ts";

/** A customer never sees the pixel, so that one of theirs may be late too. */
export const LATE_MS = 1_000;
/** Each holds a connection and some kilobytes; beyond it answers come at once. Half of the connections there may be. */
export const MAX_LATE = 1_000;

export function createLateAnswer(
	clock: Pick<Clock, "after">,
	stopSignal: AbortSignal | undefined,
): () => Promise<void> {
	const waiting = new Set<() => void>();
	// A service that stops does not wait for them.
	const answerAll = (): void => {
		for (const answer of waiting) answer();
	};
	stopSignal?.addEventListener("abort", answerAll, { once: true });
	return () => {
		if (waiting.size >= MAX_LATE || stopSignal?.aborted === true) return Promise.resolve();
		return new Promise((resolve) => {
			const answer = (): void => {
				cancel();
				waiting.delete(answer);
				resolve();
			};
			const cancel = clock.after(LATE_MS, answer);
			waiting.add(answer);
		});
	};
}
