// How many may do something at once that takes the process a while: each person a few, all together some more.

export interface PlaceLimits {
	aPerson: number;
	/** In this process. */
	inAll: number;
}

export interface Places {
	/** A function that gives the place back, however often it is called; undefined when none is left. */
	take(personId: number): (() => void) | undefined;
}

export function createPlaces({ aPerson, inAll }: PlaceLimits): Places {
	const taken = new Map<symbol, number>();
	return {
		take(personId) {
			const ofPerson = [...taken.values()].filter((holder) => holder === personId).length;
			if (taken.size >= inAll || ofPerson >= aPerson) return undefined;
			const place = Symbol("place");
			taken.set(place, personId);
			return () => void taken.delete(place);
		},
	};
}
