// The states of a delivery, which is the sending of one event to a shop.
//
//   pending ──attempt: delivered──────────────────────────▶ delivered (final)
//   pending ──attempt: retry, fewer than seven counted────▶ pending, due after the next delay
//   pending ──attempt: retry, the seventh─────────────────▶ failed (final)
//   pending ──attempt: refused, redirect, forbidden───────▶ failed (final)
//   pending ──the URL was removed─────────────────────────▶ cancelled (final)
//   pending, due later ──sent now by hand────────────────▶ pending, due now (the next of the seven attempts comes early)
//   delivered | failed ──resent by hand──────────────────▶ pending, a new run of up to seven attempts
//
// If a process dies before the result of an attempt is stored, that attempt is not counted. The delivery stays pending, and
// another engine sends it again.

import { MAX_ATTEMPTS, nextDueAtMs } from "./retry.ts";
import type { Verdict } from "./verdict.ts";

export type DeliveryState = "pending" | "delivered" | "failed" | "cancelled";

export type Conclusion = { state: "delivered" } | { state: "failed" } | { state: "pending"; dueAtMs: number };

/**
 * Returns the delivery's next state after an attempt. `countedAttempts` includes the attempt that has just
 * ended.
 */
export function concludeAttempt(verdict: Verdict, countedAttempts: number, endedAtMs: number): Conclusion {
	switch (verdict) {
		case "delivered":
			return { state: "delivered" };
		case "refused":
		case "redirect":
		case "forbidden address":
			return { state: "failed" };
		case "retry": {
			const dueAtMs = countedAttempts >= MAX_ATTEMPTS ? null : nextDueAtMs(countedAttempts, endedAtMs);
			return dueAtMs === null ? { state: "failed" } : { state: "pending", dueAtMs };
		}
		default:
			return verdict satisfies never;
	}
}
