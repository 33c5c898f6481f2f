// Listens for whatever asks the process to stop: signals, and the end of the npm or npx that started it.
//
//   running ──SIGTERM──▶ draining: unready, and still answering ──the time is up, or another signal──▶ finishing
//   running ──SIGINT──▶ finishing: takes nothing new, finishes what is in flight
//   finishing ──SIGINT──▶ ended the hard way: what is in flight is sent again after the next start
//
// Nothing that was answered is ever lost, whichever way it goes.

import { SECOND_MS } from "../domain/time.ts";
import { realClock } from "../outside/clock.ts";
import { watchLauncher } from "../outside/launcher.ts";
import type { Clock } from "../ports.ts";

export type StopSignal = "SIGTERM" | "SIGINT";
type StopState = "running" | "draining" | "finishing";
type SignalMeaning = "stop" | "hurry" | "end" | "nothing";
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

/**
 * Where a whole process group is signalled, as terminals and service managers do, npm gets the signal too and hands on
 * its own copy. It comes within milliseconds, on a busy machine within some hundred; a person who insists needs longer.
 */
export const COPY_WINDOW_MS = SECOND_MS;

/** `sinceMs`: since the last one that meant something; counts for nothing while it runs. */
export function judgeSignal(state: StopState, signal: StopSignal, sinceMs: number): SignalMeaning {
	if (state === "running") return "stop";
	if (sinceMs < COPY_WINDOW_MS) return "nothing";
	if (state === "draining") return "hurry";
	// A service manager that has waited for long enough uses SIGKILL; until then it may as well be finished.
	return signal === "SIGINT" ? "end" : "nothing";
}

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
