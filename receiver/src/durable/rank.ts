// The rank of a conversion's statuses. A conversion only moves forward, but its callbacks arrive in any order.

import type { ConversionStatus } from "../words.ts";

const recordedRank = 1;
const finalRank = 3;
const ranks: ReadonlyMap<string, number> = new Map([
	["PARKED", 0],
	["EXPIRED", 0],
	["RECORDED", recordedRank],
	["APPROVED", 2],
	["REJECTED", finalRank],
	["REVERSED", finalRank],
]);

/**
 * Returns true if a callback with `status` is newer than the status that the shop has stored, which is null
 * or undefined if the shop has stored none. Returns false for an equal or lower rank. The shop then keeps its
 * stored values, because its amounts may come from the answer to a later call.
 *
 * A status that is unknown today counts as newer than RECORDED and APPROVED, but never replaces a final one.
 * RECORDED is the first status of every conversion, so it does not replace an unknown one.
 */
export function outranks(status: ConversionStatus, stored: ConversionStatus | null | undefined): boolean {
	if (stored === null || stored === undefined) return true;
	const rank = ranks.get(status);
	const storedRank = ranks.get(stored);
	if (rank !== undefined && storedRank !== undefined) return rank > storedRank;
	if (status === stored || storedRank === finalRank) return false;
	return rank === undefined || rank > recordedRank;
}
