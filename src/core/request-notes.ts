// Access to the record of a request, which metrics and logs use. Pages and the API share it. A record
// contains the route and never the path, because a path may contain a token, and the number of different
// paths is unlimited.

import type { Context, Env } from "hono";
import { matchedRoutes } from "hono/route";
import type { RequestRecord } from "./ports.ts";

interface Recorded {
	incoming?: { record?: RequestRecord };
}

/** Returns the record of a request, or undefined if the request was made in process, as in tests. */
export function recordOf(c: { env: Recorded | undefined }): RequestRecord | undefined {
	return c.env?.incoming?.record;
}

/** Returns the ids that every log line about a request contains. */
export function idsOf(record: RequestRecord | undefined): { requestId?: string; traceId?: string } {
	if (record === undefined) return {};
	const { id, traceId } = record;
	return traceId === null ? { requestId: id } : { requestId: id, traceId };
}

/**
 * Returns the pattern of the request's route, or null if no route matches. Patterns that end with an asterisk
 * are skipped, because they belong to middleware.
 */
export function routeOf<AppEnv extends Env>(c: Context<AppEnv>): string | null {
	return matchedRoutes(c).find(({ path }) => !path.endsWith("*"))?.path ?? null;
}
