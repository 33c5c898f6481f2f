// How many may do something at once that takes the process a while: each person a few, all together some more.

import type { Clock } from "../ports.ts";

export interface SlotLimits {
	aPerson: number;
	/** In this process. */
	inAll: number;
	/** For how long a slot stays taken after it was given back. */
	pauseMs?: number;
}

export interface Slots {
	/** A function that gives the slot back, however often it is called; undefined when none is left. */
	take(personId: number): (() => void) | undefined;
}

interface Slot {
	personId: number;
	/** Compared when the next one asks, because a timer would keep the process. */
	freeAtMs: number;
}

export function createSlots({ aPerson, inAll, pauseMs = 0 }: SlotLimits, clock: Pick<Clock, "nowMs">): Slots {
	let taken: Slot[] = [];
	return {
		take(personId) {
			const nowMs = clock.nowMs();
			taken = taken.filter(({ freeAtMs }) => freeAtMs > nowMs);
			const ofPerson = taken.filter((slot) => slot.personId === personId).length;
			if (taken.length >= inAll || ofPerson >= aPerson) return undefined;
			const slot = { personId, freeAtMs: Number.POSITIVE_INFINITY };
			taken.push(slot);
			return () => {
				slot.freeAtMs = Math.min(slot.freeAtMs, clock.nowMs() + pauseMs);
			};
		},
	};
}
