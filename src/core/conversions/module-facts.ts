// Types of the facts that modules know. A module is a capability beyond the contract, such as refunds or credits of
// partners. Each module adds its part to these types by declaration merging, and the core passes that part on without
// reading it.

/** Facts about a request from which the modules know what to read. */
export interface RequestNeeds {
	programmeId: number;
	orderId: string;
}

/** Data that a step gives to the modules in addition to its move. */
export interface StepParts {
	personId?: number | null;
}

export interface BatchFacts {
	nowMs: number;
}

/** Facts that the modules know of one conversion, after the requests judged so far. */
export interface ConversionFacts {
	/**
	 * False if the conversion was read without a lock. The batch does not change it then, so nothing that depends on it
	 * was read.
	 */
	isLocked: boolean;
}

/**
 * Data that modules add to the outcome of a request, for the answer to it. A part is missing if the module has
 * nothing to add.
 */
// biome-ignore lint/suspicious/noEmptyInterface: only modules have something to add.
export interface DecidedParts {}
