// Decides whether a delivery may be sent now, and to which target. The decision is a pure function.

import type { DueDelivery } from "../store/queries/queue.ts";
import type { Target, TargetReading } from "./targets.ts";

export type SendJudgement =
	| { kind: "send"; target: Target }
	/** The URL that the delivery was created for has been removed. */
	| { kind: "cancel" }
	/** Nothing is sent now. The engine judges the delivery again at this time. */
	| { kind: "later"; atMs: number };

/** Delay after which a receiver without a usable secret is tried again. Somebody may have set the right key by then. */
const NO_TARGET_RETRY_MS = 5_000;

/**
 * Decides about one delivery. `maySend` must be true only if both the engine's lease and the target are fresh enough
 * for an attempt.
 */
export function judgeSending(
	reading: TargetReading | null,
	delivery: DueDelivery,
	nowMs: number,
	maySend: boolean,
): SendJudgement {
	const { target = null, endpointEpoch = 0 } = reading ?? {};
	if (delivery.endpointEpoch < endpointEpoch) return { kind: "cancel" };
	// The delivery is tried again after the next pass, which renews the lease and reads the target.
	if (!maySend) return { kind: "later", atMs: nowMs };
	// A later epoch means that another process has saved a URL since the target was read. The target is read again next
	// time.
	if (target === null || delivery.endpointEpoch > endpointEpoch)
		return { kind: "later", atMs: nowMs + NO_TARGET_RETRY_MS };
	// The clock was set back since the delivery was read. A delivery is never sent before its due time.
	if (nowMs < delivery.dueAtMs)
		return { kind: "later", atMs: Math.min(delivery.dueAtMs, nowMs + NO_TARGET_RETRY_MS) };
	return { kind: "send", target };
}
