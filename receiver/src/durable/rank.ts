// The rank of a conversion's statuses. A conversion only moves forward, but its callbacks arrive in any order.

import type { ConversionStatus } from "../words.ts";

const ranks: ReadonlyMap<string, number> = new Map([
	["RECORDED", 1],
	["APPROVED", 2],
	["REJECTED", 3],
	["REVERSED", 3],
]);

/**
 * Returns true if a callback with `status` is newer than the status that the shop has stored, which is null or
 * undefined if it has none. For an equal or lower rank it returns false, and the shop keeps what it has: its
 * amounts may come from the answer to a later call. A status that is unknown today counts as newer.
 */
export function outranks(status: ConversionStatus, stored: ConversionStatus | null | undefined): boolean {
	if (stored === null || stored === undefined) return true;
	const rank = ranks.get(status);
	const storedRank = ranks.get(stored);
	if (rank === undefined || storedRank === undefined) return status !== stored;
	return rank > storedRank;
}
