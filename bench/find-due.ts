// How long an engine takes to find due deliveries, in three steps. It reads the first due row of each receiver when it
// gets a slot, and once a minute as a check. Each pass finds in memory whose turn it is, and reads the first rows of those.

import { DueTimes } from "../src/callbacks/due-times.ts";
import { SendBuffer } from "../src/callbacks/send-buffer.ts";
import { Slots } from "../src/callbacks/slots.ts";
import { SLOTS } from "../src/domain/slot.ts";
import type { Store } from "../src/store/store.ts";

/** The service's defaults: see config.ts. */
const CAPS = { perReceiver: 8, overall: 512 };
const ALL_SLOTS = Array.from({ length: SLOTS }, (_, slot) => slot);

export interface Look {
	/** Until the first row of each receiver of all slots is read. */
	firstDueMs: number;
	/** Until it is known in memory which receivers are due, and how much is to be read of each. */
	planMs: number;
	/** Until that is read, with the bodies. */
	readMs: number;
	/** How many deliveries that were. */
	read: number;
}

/** Writes nothing, so that every look finds the same. */
export function findDue(store: Store): Promise<Look> {
	return store.transact(async (trx) => {
		const startedAt = performance.now();
		const rows = await store.queue.readFirstDue(trx, ALL_SLOTS);
		const firstDueAt = performance.now();
		const nowMs = Date.now();
		const { dueTimes, buffer, slots } = newEngine();
		dueTimes.noteFirstRows(rows, nowMs);
		const planAt = performance.now();
		const due = dueTimes.due(nowMs).filter((receiverId) => slots.maySendTo(receiverId));
		const requests = dueTimes.beginReads(buffer.limitsFor(due));
		const readAt = performance.now();
		const { deliveries } = await store.queue.readDue(trx, requests, nowMs);
		const endedAt = performance.now();
		if (deliveries.length === 0) throw new Error("nothing was found to be due");
		return {
			firstDueMs: firstDueAt - startedAt,
			planMs: readAt - planAt,
			readMs: endedAt - readAt,
			read: deliveries.length,
		};
	});
}

/** Returns the memory of an engine that owns all slots and has nothing in progress. */
function newEngine(): { dueTimes: DueTimes; buffer: SendBuffer; slots: Slots } {
	const slots = new Slots();
	slots.update(ALL_SLOTS, SLOTS);
	const buffer = new SendBuffer(CAPS);
	const dueTimes = new DueTimes((receiverId) => buffer.inProgress(receiverId));
	return { dueTimes, buffer, slots };
}
