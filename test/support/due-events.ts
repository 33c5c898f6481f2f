// Events that are owed and due, as the transaction of a status change leaves them.

import { markDue } from "../../src/store/lanes.ts";
import { insertOwedEvents, type OwedEvent } from "../../src/store/outbox.ts";
import type { Db } from "../../src/store/store.ts";

export async function insertDueEvents(trx: Db, owed: readonly OwedEvent[], nowMs: number): Promise<void> {
	await insertOwedEvents(trx, owed, nowMs);
	await markDue(
		trx,
		owed.map(({ programmeId }) => programmeId),
		nowMs,
	);
}
