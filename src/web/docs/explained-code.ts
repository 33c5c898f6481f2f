// Which codes have a page below /problems, and what such a page says.

import type { ApiFaultCode, FaultCode } from "../../domain/fault.ts";

/** Everything that the API answers, and what else the inbound log can show. */
export type ExplainedCode = ApiFaultCode | Extract<FaultCode, "pixel_limited">;

/** Texts are Markdown, a line each. */
export interface ProblemWords {
	/** As the answer itself has it: test/openapi holds the two against each other. */
	example: { detail: string; field?: string };
	/** The likeliest first. */
	causes: readonly string[];
	cure: readonly string[];
	/** What may be sent again, and what may not. */
	retry: string;
}
