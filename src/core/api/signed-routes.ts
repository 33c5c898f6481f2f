// Lists the calls of the core's signed API. site-modules.ts adds those of the modules.

import { LIST_CONVERSIONS, SHOW_CONVERSION } from "./get-conversions.ts";
import { SHOW_PROGRAMME } from "./get-programme.ts";
import { RECORD_CONVERSION, RECORD_CONVERSIONS } from "./post-conversions.ts";
import { DECIDE_CONVERSIONS, DECISIONS } from "./post-decisions.ts";
import type { SignedRoute } from "./route.ts";

/**
 * The order matters. The first call whose path and method match is used, and the header Allow lists methods in this
 * order.
 */
export const CORE_SIGNED_ROUTES: readonly SignedRoute[] = [
	LIST_CONVERSIONS,
	RECORD_CONVERSION,
	RECORD_CONVERSIONS,
	// This call must follow the batch of conversions, because its path would otherwise match the batch's path, too.
	SHOW_CONVERSION,
	SHOW_PROGRAMME,
	...DECISIONS,
	DECIDE_CONVERSIONS,
];
