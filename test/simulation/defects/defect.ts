// A defect to be planted: edits of sources as they are loaded, and the promise that it breaks.

import type { PromiseName } from "../../support/broken.ts";

export interface Defect {
	name: string;
	edits: readonly Edit[];
	/** Any of these shows that it was seen. */
	breaks: readonly PromiseName[];
	/** A seed that shows it: it is tried first, so that the others need not be. The first, if none is named. */
	seenWith?: number;
}

export interface Edit {
	/** Below src/, or below test/ where the simulation stands in for a database. */
	file: string;
	/** Occurs exactly once. */
	find: string;
	put: string;
}
