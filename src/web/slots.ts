// How many may do something at once that takes the process a while: each person a few, all together some more.

export interface SlotLimits {
	aPerson: number;
	/** In this process. */
	inAll: number;
}

export interface Slots {
	/** A function that gives the slot back, however often it is called; undefined when none is left. */
	take(personId: number): (() => void) | undefined;
}

export function createSlots({ aPerson, inAll }: SlotLimits): Slots {
	const taken = new Set<{ personId: number }>();
	return {
		take(personId) {
			const ofPerson = [...taken].filter((slot) => slot.personId === personId).length;
			if (taken.size >= inAll || ofPerson >= aPerson) return undefined;
			const slot = { personId };
			taken.add(slot);
			return () => taken.delete(slot);
		},
	};
}
