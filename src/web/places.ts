// How many may do something at once that takes the process a while: each person a few, all together some more.

import type { Clock } from "../ports.ts";

export interface PlaceLimits {
	aPerson: number;
	/** In this process. */
	inAll: number;
	/** For how long a place stays taken after it was given back. */
	pauseMs?: number;
}

export interface Places {
	/** A function that gives the place back, however often it is called; undefined when none is left. */
	take(personId: number): (() => void) | undefined;
}

interface Place {
	personId: number;
	/** Compared when the next one asks, because a timer would keep the process. */
	freeAtMs: number;
}

export function createPlaces(
	{ aPerson, inAll, pauseMs = 0 }: PlaceLimits,
	clock: Pick<Clock, "nowMs">,
): Places {
	let taken: Place[] = [];
	return {
		take(personId) {
			const nowMs = clock.nowMs();
			taken = taken.filter(({ freeAtMs }) => freeAtMs > nowMs);
			const ofPerson = taken.filter((place) => place.personId === personId).length;
			if (taken.length >= inAll || ofPerson >= aPerson) return undefined;
			const place = { personId, freeAtMs: Number.POSITIVE_INFINITY };
			taken.push(place);
			return () => {
				place.freeAtMs = Math.min(place.freeAtMs, clock.nowMs() + pauseMs);
			};
		},
	};
}
