// How many files may be made at once: each reads page after page for as long as its reader takes.

/** One that runs, and one that was started over. */
export const MAX_EXPORTS_A_PERSON = 2;
/** For all in this process: a few megabytes at most, and pages for everybody else in between. */
export const MAX_EXPORTS = 16;

export interface ExportPlaces {
	/** A function that gives the place back, however often it is called; undefined when none is left. */
	take(personId: number): (() => void) | undefined;
}

export function createExportPlaces(): ExportPlaces {
	const taken = new Map<symbol, number>();
	return {
		take(personId) {
			const ofPerson = [...taken.values()].filter((holder) => holder === personId).length;
			if (taken.size >= MAX_EXPORTS || ofPerson >= MAX_EXPORTS_A_PERSON) return undefined;
			const place = Symbol("export");
			taken.set(place, personId);
			return () => void taken.delete(place);
		},
	};
}
