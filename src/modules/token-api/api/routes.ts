// The calls of the network's and the partners' APIs. Later modules add theirs to TOKEN_CALLS in site-modules.ts.

import { CONVERSION_ROUTES } from "./conversion-calls.ts";
import { LINK_ROUTES } from "./link-calls.ts";
import { MONEY_ROUTES } from "./money-calls.ts";
import { OWN_ROUTES } from "./own-calls.ts";
import { PARTNER_ROUTES } from "./partner-calls.ts";
import { PARTNERSHIP_ROUTES } from "./partnership-calls.ts";
import { PROGRAMME_ROUTES } from "./programme-calls.ts";
import type { TokenRoute } from "./route.ts";

export const TOKEN_ROUTES: readonly TokenRoute[] = [
	...PROGRAMME_ROUTES,
	...PARTNER_ROUTES,
	...PARTNERSHIP_ROUTES,
	...LINK_ROUTES,
	...CONVERSION_ROUTES,
	...MONEY_ROUTES,
	...OWN_ROUTES,
];
