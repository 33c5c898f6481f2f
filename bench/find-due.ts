// How long an engine takes to find what is due, in the three steps in which it does: it reads the agenda when it gets a
// slot, and once a minute to be sure; each pass finds in memory whose turn it is, and reads the first rows of those.

import { Agenda } from "../src/callbacks/agenda.ts";
import { Lanes } from "../src/callbacks/lanes.ts";
import { Slots } from "../src/callbacks/slots.ts";
import { SLOTS } from "../src/domain/slot.ts";
import type { Store } from "../src/store/store.ts";

/** The service's defaults: see config.ts. */
const CAPS = { perProgramme: 8, overall: 512 };
const ALL_SLOTS = Array.from({ length: SLOTS }, (_, slot) => slot);

export interface Look {
	/** Until the first row of each programme of all slots is read. */
	agendaMs: number;
	/** Until it is known in memory which programmes are due, and how much is to be read of each. */
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
		const rows = await store.queue.readAgenda(trx, ALL_SLOTS);
		const agendaAt = performance.now();
		const nowMs = Date.now();
		const { agenda, lanes, slots } = newEngine();
		agenda.learnAll(rows, () => undefined, nowMs);
		const planAt = performance.now();
		const due = agenda.due(nowMs).filter((programmeId) => slots.mayHandOut(programmeId));
		const requests = agenda.requestsFor(lanes.limitsFor(due), (programmeId) => lanes.inHand(programmeId));
		const readAt = performance.now();
		const { deliveries } = await store.queue.readDue(trx, requests, nowMs);
		const endedAt = performance.now();
		if (deliveries.length === 0) throw new Error("nothing was found to be due");
		return {
			agendaMs: agendaAt - startedAt,
			planMs: readAt - planAt,
			readMs: endedAt - readAt,
			read: deliveries.length,
		};
	});
}

/** One that has all slots and nothing in hand. */
function newEngine(): { agenda: Agenda; lanes: Lanes; slots: Slots } {
	const slots = new Slots();
	slots.learn(ALL_SLOTS, SLOTS);
	return { agenda: new Agenda(), lanes: new Lanes(CAPS), slots };
}
