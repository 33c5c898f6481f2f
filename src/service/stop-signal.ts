// What a signal means to a service that may have had one before.
//
//   running ──SIGTERM──▶ draining: unready, and still answering ──the time is up, or another signal──▶ finishing
//   running ──SIGINT──▶ finishing: takes nothing new, finishes what is in flight
//   finishing ──SIGINT──▶ ended the hard way: what is in flight is sent again after the next start
//
// Nothing that was answered is ever lost, whichever way it goes.

import { SECOND_MS } from "../domain/time.ts";

export type StopSignal = "SIGTERM" | "SIGINT";
export type StopState = "running" | "draining" | "finishing";
export type SignalMeaning = "stop" | "hurry" | "end" | "nothing";

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
