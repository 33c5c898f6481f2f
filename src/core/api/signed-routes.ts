// The calls of the signed API. Modules add theirs (site-modules.ts).

import { LIST_CONVERSIONS, SHOW_CONVERSION } from "./get-conversions.ts";
import { SHOW_PROGRAMME } from "./get-programme.ts";
import { RECORD_CONVERSION, RECORD_CONVERSIONS } from "./post-conversions.ts";
import { DECIDE_CONVERSIONS, DECISIONS } from "./post-decisions.ts";
import type { SignedRoute } from "./route.ts";

/** The order counts: the first call whose path and method match is used, and the header Allow lists methods in this order. */
export const CORE_SIGNED_ROUTES: readonly SignedRoute[] = [
	LIST_CONVERSIONS,
	RECORD_CONVERSION,
	RECORD_CONVERSIONS,
	// It follows the batch of conversions, which would otherwise be taken for the id of one.
	SHOW_CONVERSION,
	SHOW_PROGRAMME,
	...DECISIONS,
	DECIDE_CONVERSIONS,
];
