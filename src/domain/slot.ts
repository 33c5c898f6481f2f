// Which engine sends to which shop: programmes are divided into slots, and an engine owns slots.

/** Enough for every engine of a large installation to have a fair share, few enough to read all of them at once. */
export const SLOTS = 64;

/**
 * Engines own stretches of neighbouring slots, and a small installation has neighbouring programmes: with this between them
 * they are spread over all engines. Odd, so that every slot is used; SLOTS times the golden ratio, so that any few are apart.
 */
export const SLOT_STEP = 39;

export function slotOf(programmeId: number): number {
	return (programmeId * SLOT_STEP) % SLOTS;
}

/** How many slots one of so many engines has at most. */
export function fairShare(engines: number): number {
	return Math.ceil(SLOTS / Math.max(1, engines));
}
