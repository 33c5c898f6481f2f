// Reads and fills the record of a request, which metrics and logs use, for pages and API alike. A record has the route
// and never the path, because a path may contain a token and there is no limit to the number of paths.

import type { Context, Env } from "hono";
import { matchedRoutes } from "hono/route";
import type { RequestRecord } from "./ports.ts";

interface Recorded {
	incoming?: { record?: RequestRecord };
}

/** Returns undefined for a request that was made in process, as in tests. */
export function recordOf(c: { env: Recorded | undefined }): RequestRecord | undefined {
	return c.env?.incoming?.record;
}

/** Returns the ids that log lines about a request carry. */
export function idsOf(record: RequestRecord | undefined): { requestId?: string; traceId?: string } {
	if (record === undefined) return {};
	const { id, traceId } = record;
	return traceId === null ? { requestId: id } : { requestId: id, traceId };
}

/**
 * Returns the pattern of the request's route, or null if no route matches. Patterns that end with an asterisk belong to
 * guards.
 */
export function routeOf<AppEnv extends Env>(c: Context<AppEnv>): string | null {
	return matchedRoutes(c).find(({ path }) => !path.endsWith("*"))?.path ?? null;
}
