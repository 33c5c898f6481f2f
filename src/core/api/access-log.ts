// Writes the access log. Each request gets one line when it has been answered. The line has the route and not the
// path, because paths may contain tokens. The line has no query, no cookie and no body, but names the order and the
// conversion, so that a request id leads to them.

import type { AnsweredRequest, Log } from "../ports.ts";
import { idsOf } from "../request-notes.ts";

/**
 * Routes of health checks, which machines request every few seconds. Successful requests to them are counted,
 * but not logged.
 */
const HEALTH_ROUTES: ReadonlySet<string | null> = new Set(["/healthz", "/readyz"]);

export function writeAccess(log: Log, request: AnsweredRequest): void {
	const { method, route, status, tookMs, sentBytes, programme, order, conversion } = request;
	if (status === 200 && HEALTH_ROUTES.has(route)) return;
	log.info(
		{
			...idsOf(request),
			method,
			route,
			status,
			ms: Math.round(tookMs * 10) / 10,
			bytes: sentBytes,
			programme,
			...(order === null ? {} : { order }),
			...(conversion === null ? {} : { conversion }),
			address: request.findAddress(),
		},
		"request",
	);
}
