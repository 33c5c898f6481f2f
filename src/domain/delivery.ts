// The life of a delivery: one event on its way to the shop.
//
//   pending ──attempt: delivered──────────────────────────▶ delivered (final)
//   pending ──attempt: retry, fewer than seven counted────▶ pending, due after the next delay
//   pending ──attempt: retry, the seventh─────────────────▶ failed (final)
//   pending ──attempt: refused, redirect, forbidden───────▶ failed (final)
//   pending ──the URL was removed─────────────────────────▶ cancelled (final)
//   pending, due later ──sent now by hand────────────────▶ pending, due now: the next of the seven comes early
//   delivered | failed ──resent by hand──────────────────▶ pending, a new run of up to seven attempts
//
// An attempt whose process died before its result was stored is not counted: the delivery stays pending
// and is sent again when another engine has taken over.

import { MAX_ATTEMPTS, nextDueAtMs } from "./retry.ts";
import type { Verdict } from "./verdict.ts";

export type DeliveryState = "pending" | "delivered" | "failed" | "cancelled";

export type Conclusion = { state: "delivered" } | { state: "failed" } | { state: "pending"; dueAtMs: number };

/** `countedAttempts` includes the one that has just ended. */
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
