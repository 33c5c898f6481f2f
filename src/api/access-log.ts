// The access log: one line for each request, when it is over. The route and not the path, because paths hold tokens; no
// query, no cookie, no body.

import type { AnsweredRequest, Log } from "../ports.ts";
import { idsOf } from "../request-notes.ts";

/** Asked every few seconds by machines, and counted all the same: while they are well, nobody reads of them. */
const HEALTH_ROUTES: ReadonlySet<string | null> = new Set(["/healthz", "/readyz"]);

export function writeAccess(log: Log, request: AnsweredRequest): void {
	const { method, route, status, tookMs, sentBytes, programme } = request;
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
			address: request.findAddress(),
		},
		"request",
	);
}
