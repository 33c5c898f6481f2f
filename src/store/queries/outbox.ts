// Owing an event: written in the same transaction as the status change it announces, so that neither
// exists without the other.

import { hotWrites, type OwedEvent } from "../hot-writes.ts";
import type { Db } from "../store.ts";
import type { CallbackTarget, DueDelivery } from "./queue.ts";

export type { OwedEvent } from "../hot-writes.ts";

/**
 * At most one for each conversion, and no more than conversions/make-moves takes at once. Resolves to the deliveries,
 * which are due at once.
 */
export async function insertOwedEvents(
	trx: Db,
	owed: readonly OwedEvent[],
	nowMs: number,
): Promise<DueDelivery[]> {
	if (owed.length === 0) return [];
	const ids = await hotWrites(trx).insertOwedEvents(trx, owed, nowMs);
	return owed.flatMap(({ conversionId, programmeId, endpointEpoch, name, body }) => {
		const id = ids.get(conversionId);
		if (id === undefined) throw new Error("an owed event was not stored");
		const first = { run: 1, counted: 0, seq: 0 };
		return { id, programmeId, dueAtMs: nowMs, ...first, endpointEpoch, eventName: name, eventBody: body };
	});
}

/** Of these programmes, those that have a Postback URL and an active signing secret now: contract section 1, rule 4. */
export async function programmesOwedEvents(
	trx: Db,
	programmeIds: readonly number[],
): Promise<Map<number, CallbackTarget>> {
	if (programmeIds.length === 0) return new Map();
	const rows = await hotWrites(trx).readOwedProgrammes(trx, programmeIds);
	return new Map(rows.map((row) => [row.programmeId, row]));
}
