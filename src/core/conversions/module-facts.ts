// What modules know. A module is a capability beyond the contract, such as refunds or credits of partners. Each module adds
// its part to these types by declaration merging, and the core passes that part on without looking into it.

/** What a request tells the modules, so that they read what it needs. */
export interface RequestNeeds {
	programmeId: number;
	orderId: string;
}

/** What a step tells the modules besides its move. */
export interface StepParts {
	personId?: number | null;
}

/** What the modules have read for a whole batch. */
export interface BatchFacts {
	nowMs: number;
}

/** What the modules know of one conversion, as the requests so far leave it. */
export interface ConversionFacts {
	/** False if the conversion was only looked at. Nothing that depends on it was read then, and it does not change. */
	isLocked: boolean;
}

/** What modules add to the outcome of a request, for its answer. Each part is missing if there is nothing to say. */
// biome-ignore lint/suspicious/noEmptyInterface: only modules have something to add.
export interface DecidedParts {}
