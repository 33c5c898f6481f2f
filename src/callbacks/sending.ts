// May a claimed delivery go out now, and where to; or why its claim ends without anything being sent.

import { CLAIM_LAPSE_MS, type ClaimedDelivery, type Settlement } from "../store/queue.ts";
import type { Lane, LaneTarget } from "./lanes.ts";

/** An attempt takes at most five seconds; a claim older than this might lapse before its result is stored. */
const SENDABLE_FOR_MS = CLAIM_LAPSE_MS - 10_000;
/** A secret that cannot be opened is looked at again after this: somebody may have set the right key. */
const NO_TARGET_RETRY_MS = 5_000;

export type Sending = { target: LaneTarget; unsent: null } | { target: null; unsent: Settlement };

export function judgeSending(
	lane: Lane,
	delivery: ClaimedDelivery,
	nowMs: number,
	isStopping: boolean,
): Sending {
	if (delivery.endpointEpoch < lane.endpointEpoch) {
		return { target: null, unsent: { kind: "cancelled", delivery, endedAtMs: nowMs } };
	}
	const { target } = lane;
	// Ahead of its lane: another process has saved a URL since the lane's was read. Next time it is read again.
	if (target === null || delivery.endpointEpoch > lane.endpointEpoch) {
		return { target: null, unsent: { kind: "released", delivery, dueAtMs: nowMs + NO_TARGET_RETRY_MS } };
	}
	const isTooOld = nowMs - delivery.claimedAtMs > SENDABLE_FOR_MS;
	if (isStopping || isTooOld) return { target: null, unsent: { kind: "released", delivery, dueAtMs: nowMs } };
	return { target, unsent: null };
}
