// POST /v1/refunds reports that a part of an order's value was refunded.

import { single } from "#core/api/post-conversions.ts";
import type { SignedRoute } from "#core/api/signed-call.ts";
import { parseRefund } from "./refund-request.ts";

export const REFUND_ROUTE: SignedRoute = {
	method: "POST",
	path: "/v1/refunds",
	create: () => single(parseRefund),
};
