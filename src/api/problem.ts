// A fault as an answer: RFC 9457, with the fault's stable code beside the standard's members.

import { type Fault, faultOf, problemBody } from "../domain/fault.ts";
import { isDatabaseUnavailable } from "../store/unavailable.ts";
import type { AppDeps } from "./deps.ts";

/**
 * On every answer that has none of its own, also on JSON and the pixel: a browser that is led to one must not make more
 * of it. Pages have their own: web/access.ts.
 */
export const SAFE_HEADERS = {
	"content-security-policy":
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
};

/** For answers that were made without them. What is answered thousands of times a second brings them along instead. */
export function addSafeHeaders({ headers }: Response): void {
	for (const [name, value] of Object.entries(SAFE_HEADERS)) {
		if (!headers.has(name)) headers.set(name, value);
	}
}

/** A database that restarts is back within seconds; asking sooner helps nobody. */
const RETRY_AFTER_SECONDS = 5;

export function problemAnswer(
	deps: Pick<AppDeps, "publicUrl" | "network">,
	found: Fault,
	headers: Readonly<Record<string, string>> = {},
): Response {
	const { httpStatus } = found;
	return new Response(JSON.stringify(problemBody(deps, found)), {
		status: httpStatus,
		headers: {
			"content-type": "application/problem+json",
			"cache-control": "no-store",
			...SAFE_HEADERS,
			// RFC 9110 demands it with every 401.
			...(httpStatus === 401 ? { "www-authenticate": `Bearer realm="${brandOf(deps)}"` } : {}),
			...(httpStatus === 503 ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {}),
			...headers,
		},
	});
}

function brandOf({ network }: Pick<AppDeps, "network">): string {
	return (network.wire.names ?? network.face).brand;
}

/** Says nothing of what was or was not stored: when the connection breaks during the commit, nobody knows. */
export function ourFault(error: unknown): Fault {
	return faultOf(isDatabaseUnavailable(error) ? "unavailable" : "internal", {});
}
