// The form of an entry in the catalogue of faults (fault-catalogue.ts).

export interface ExplainedFault {
	status: number;
	/**
	 * Meaning of the fault, in one line of Markdown. It uses the brand "Service", which pages replace by the
	 * real brand.
	 */
	meaning: string;
	/** Sentence of the answer. A placeholder such as `{name:example}` is filled in by the code that refuses. */
	detail: string;
	/**
	 * The input field at fault, if it is always the same one. Otherwise the sentence has the placeholder
	 * `field`.
	 */
	field?: string;
}
