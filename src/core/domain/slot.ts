// Slots decide which engine sends callbacks to which receiver. Each receiver belongs to a slot, and each slot is
// owned by one engine.

import type { ReceiverId } from "./receiver.ts";

/**
 * Number of slots. It is large enough for each engine of a large installation to get a fair share, and small
 * enough to read all slots in one query.
 */
export const SLOTS = 64;

/**
 * Distance between the slots of two receivers with consecutive ids. Engines own ranges of consecutive slots, and a small
 * installation has consecutive receiver ids, so this distance spreads the receivers over all engines. It is odd, so that
 * every slot is used, and near SLOTS divided by the golden ratio, so that the slots of a few receivers are far apart.
 */
export const SLOT_STEP = 39;

export function slotOf(receiverId: ReceiverId): number {
	return (receiverId * SLOT_STEP) % SLOTS;
}

export function fairShare(engines: number): number {
	return Math.ceil(SLOTS / Math.max(1, engines));
}
