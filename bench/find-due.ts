// Measures the three steps in which an engine finds due deliveries. It reads the first due row of each
// receiver, when it gets a slot and once a minute. In each pass it finds in memory which receivers are due,
// and reads the first rows of those receivers.

import { DueTimes } from "#core/callbacks/due-times.ts";
import { SendBuffer } from "#core/callbacks/send-buffer.ts";
import { Slots } from "#core/callbacks/slots.ts";
import { SLOTS } from "#core/domain/slot.ts";
import type { Store } from "#core/store/store.ts";

/** Limits of requests in flight, with the service's defaults (config.ts). */
const CAPS = { perReceiver: 8, overall: 512 };
const ALL_SLOTS = Array.from({ length: SLOTS }, (_, slot) => slot);

export interface Look {
	/** Time to read the first due row of each receiver in all slots. */
	firstDueMs: number;
	/** Time to find in memory which receivers are due, and how many rows to read of each. */
	planMs: number;
	/** Time to read the rows that a pass has chosen, including the bodies. */
	readMs: number;
	/** Number of deliveries that were read. */
	read: number;
}

/** Measures one search for due deliveries. It writes nothing, so that every call finds the same rows. */
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

/** Returns the memory of an engine that owns all slots and has nothing in flight. */
function newEngine(): { dueTimes: DueTimes; buffer: SendBuffer; slots: Slots } {
	const slots = new Slots();
	slots.update(ALL_SLOTS, SLOTS);
	const buffer = new SendBuffer(CAPS);
	const dueTimes = new DueTimes((receiverId) => buffer.inProgress(receiverId));
	return { dueTimes, buffer, slots };
}
