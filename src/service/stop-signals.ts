// Handles the signals that ask the process to stop. SIGTERM lets it drain first. SIGINT comes from a terminal, where
// no load balancer has to notice the stop. A second SIGINT ends the process at once. Callbacks in flight are then
// sent again after the next start. Acknowledged data is never lost.

import { SECOND_MS } from "#core/domain/time.ts";
import { realClock } from "../outside/clock.ts";

export type StopSignal = "SIGTERM" | "SIGINT";

/**
 * Time within which a repeated signal counts as a copy of the first. If a terminal or a service manager
 * signals a whole process group, npm forwards its own copy of the signal. The copy arrives within
 * milliseconds, or a few hundred on a busy machine, while a person needs longer to press the keys again.
 */
export const COPY_WINDOW_MS = SECOND_MS;

/**
 * Resolves when the process is asked to stop. `onAsked` is called at once, even while the service is still
 * starting. The handlers stay until the process has ended, because a late copy of the signal must not kill a
 * process that is already stopping.
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
