// Owing an event: written in the same transaction as the status change it announces, so that neither
// exists without the other.

import { hotWrites, type OwedEvent, type OwedProgramme } from "./hot-writes.ts";
import type { Db } from "./store.ts";

export type { OwedEvent } from "./hot-writes.ts";

/**
 * At most one for each conversion, and no more than conversions/make-moves takes at once. Their receivers' lanes are
 * marked by `markDue` at the end of the transaction.
 */
export async function insertOwedEvents(trx: Db, owed: readonly OwedEvent[], nowMs: number): Promise<void> {
	if (owed.length === 0) return;
	await hotWrites(trx).insertOwedEvents(trx, owed, nowMs);
}

/** Of these programmes, those that have a Postback URL and an active signing secret now: contract section 1, rule 4. */
export async function programmesOwedEvents(
	trx: Db,
	programmeIds: readonly number[],
): Promise<Map<number, OwedProgramme>> {
	if (programmeIds.length === 0) return new Map();
	const rows = await hotWrites(trx).readOwedProgrammes(trx, programmeIds);
	return new Map(rows.map((row) => [row.id, row]));
}
