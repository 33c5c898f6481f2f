// The routes of the signed API. Modules add theirs (site-modules.ts).

import { createGetConversions, getConversion } from "./get-conversions.ts";
import { getProgramme } from "./get-programme.ts";
import { POST_ROUTES } from "./post-conversions.ts";
import type { SignedRoute } from "./signed-call.ts";

export const CORE_SIGNED_ROUTES: readonly SignedRoute[] = [
	{ method: "GET", path: "/v1/conversions", create: createGetConversions },
	...POST_ROUTES,
	// It follows the batch of conversions, which would otherwise be taken for the id of one.
	{ method: "GET", path: "/v1/conversions/:id", create: () => getConversion },
	{ method: "GET", path: "/v1/programme", create: () => getProgramme },
];
