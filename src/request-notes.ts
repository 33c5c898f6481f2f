// Notes in a request's record what it turns out to be, for pages and API alike. The route and never the path: a path may
// hold a token, and there is no end of paths.

import type { Context, Env } from "hono";
import { matchedRoutes } from "hono/route";
import type { RequestRecord } from "./ports.ts";

interface Recorded {
	incoming?: { record?: RequestRecord };
}

/** Undefined where a request is made in process. */
export function recordOf(c: { env: Recorded | undefined }): RequestRecord | undefined {
	return c.env?.incoming?.record;
}

/** For log lines about a request. */
export function idsOf(record: RequestRecord | undefined): { requestId?: string; traceId?: string } {
	if (record === undefined) return {};
	const { id, traceId } = record;
	return traceId === null ? { requestId: id } : { requestId: id, traceId };
}

/** As it stands in the table of routes; null for an address that is in none. Guards stand before whole trees of them. */
export function routeOf<AppEnv extends Env>(c: Context<AppEnv>): string | null {
	return matchedRoutes(c).find(({ path }) => !path.endsWith("*"))?.path ?? null;
}
