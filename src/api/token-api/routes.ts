// All calls of the network's and the partners' APIs. This table drives the routing (app.ts), the OpenAPI document
// (openapi/token-operations.ts) and the test of rights.

import { CONVERSION_ROUTES } from "./conversion-calls.ts";
import { MONEY_ROUTES } from "./money-calls.ts";
import { OWN_ROUTES } from "./own-calls.ts";
import { PARTNER_ROUTES } from "./partner-calls.ts";
import { PROGRAMME_ROUTES } from "./programme-calls.ts";
import type { TokenRoute } from "./route.ts";

export const TOKEN_ROUTES: readonly TokenRoute[] = [
	...PROGRAMME_ROUTES,
	...PARTNER_ROUTES,
	...CONVERSION_ROUTES,
	...MONEY_ROUTES,
	...OWN_ROUTES,
];
