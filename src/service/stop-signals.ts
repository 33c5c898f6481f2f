// Listens for whatever asks the process to stop: signals, and the end of the npm or npx that started it.

import { realClock } from "../outside/clock.ts";
import { watchLauncher } from "../outside/launcher.ts";
import { judgeSignal, type StopSignal, type StopState } from "./stop-signal.ts";

/** "launcher": npm or npx is gone. */
export type StopCause = StopSignal | "launcher";

export interface StopSignals {
	/** Resolves when the process is asked to stop for the first time. */
	asked: Promise<StopCause>;
	/** Aborted when somebody asks once more and means it: there is no waiting for load balancers any more. */
	hurried: AbortSignal;
	/**
	 * The process is about to end. Signals are heard until it has: a copy that comes late must not end the hard way what
	 * has ended well.
	 */
	close(): void;
}

export interface StopListening {
	/** It then ends with it. */
	isStartedByNpm: boolean;
	/** Called at once, also while the service is still starting. */
	onAsked(cause: StopCause): void;
}

export function listenForStop({ isStartedByNpm, onAsked }: StopListening): StopSignals {
	const asked = Promise.withResolvers<StopCause>();
	const hurried = new AbortController();
	let state: StopState = "running";
	let lastAtMs = 0;

	function onSignal(signal: StopSignal): void {
		// Either way: a clock that was set back must not make a copy of everything that follows.
		const sinceMs = Math.abs(realClock.nowMs() - lastAtMs);
		switch (judgeSignal(state, signal, sinceMs)) {
			case "stop":
				stop(signal);
				break;
			case "hurry":
				lastAtMs = realClock.nowMs();
				state = "finishing";
				hurried.abort();
				break;
			case "end":
				process.off("SIGTERM", onTerm).off("SIGINT", onInt);
				process.kill(process.pid, signal);
				break;
			case "nothing":
				break;
		}
	}

	function stop(cause: StopCause): void {
		if (state !== "running") return;
		lastAtMs = realClock.nowMs();
		// At a terminal there is no load balancer that would have to notice.
		state = cause === "SIGINT" ? "finishing" : "draining";
		onAsked(cause);
		asked.resolve(cause);
	}

	const close = isStartedByNpm ? watchLauncher(realClock, () => stop("launcher")) : () => undefined;
	const onTerm = () => onSignal("SIGTERM");
	const onInt = () => onSignal("SIGINT");

	process.on("SIGTERM", onTerm).on("SIGINT", onInt);
	return { asked: asked.promise, hurried: hurried.signal, close };
}
