// Listens for the signals that ask the process to stop. SIGTERM lets it drain first, SIGINT comes from a terminal, where
// there is no load balancer that would have to notice. A later SIGINT is of a person who insists: it ends the process the
// hard way, and what is in flight is sent again after the next start. Nothing that was answered is ever lost.

import { SECOND_MS } from "../domain/time.ts";
import { realClock } from "../outside/clock.ts";

export type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Where a whole process group is signalled, as terminals and service managers do, npm gets the signal too and hands on
 * its own copy. It comes within milliseconds, on a busy machine within some hundred; a person who insists needs longer.
 */
export const COPY_WINDOW_MS = SECOND_MS;

/**
 * Resolves when the process is asked to stop; `onAsked` is called at once, also while the service is still starting.
 * Signals are heard until the process has ended: a copy that comes late must not end the hard way what has ended well.
 */
export function listenForStop(onAsked: (signal: StopSignal) => void): Promise<StopSignal> {
	return new Promise((resolve) => {
		let askedAtMs: number | null = null;
		const hear = (signal: NodeJS.Signals): void => {
			const nowMs = realClock.monotonicMs();
			if (askedAtMs === null) {
				askedAtMs = nowMs;
				const asked = signal === "SIGINT" ? "SIGINT" : "SIGTERM";
				onAsked(asked);
				resolve(asked);
			} else if (signal === "SIGINT" && nowMs - askedAtMs >= COPY_WINDOW_MS) {
				process.off("SIGTERM", hear).off("SIGINT", hear);
				process.kill(process.pid, signal);
			}
		};
		process.on("SIGTERM", hear).on("SIGINT", hear);
	});
}
