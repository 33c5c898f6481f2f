// Creates answers for faults in the format of RFC 9457. The fault's stable code is an additional member.

import { type Fault, faultOf, problemBody } from "../domain/fault.ts";
import { isDatabaseUnavailable } from "../store/unavailable.ts";
import type { AppDeps } from "./deps.ts";

/**
 * Security headers of every answer that does not set its own. JSON and the pixel have these headers too, because
 * somebody may lead a browser to them. Pages have other headers (web/access.ts).
 */
export const SAFE_HEADERS = {
	"content-security-policy":
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
};

/**
 * Adds the security headers to an answer that was created without them. Frequent answers are created with
 * these headers, which is faster.
 */
export function addSafeHeaders({ headers }: Response): void {
	for (const [name, value] of Object.entries(SAFE_HEADERS)) {
		if (!headers.has(name)) headers.set(name, value);
	}
}

/** Value of the Retry-After header. A database that restarts is available again within seconds. */
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
			// RFC 9110 requires the header WWW-Authenticate with every 401.
			...(httpStatus === 401 ? { "www-authenticate": `Bearer realm="${brandOf(deps)}"` } : {}),
			...(httpStatus === 503 ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {}),
			...headers,
		},
	});
}

function brandOf({ network }: Pick<AppDeps, "network">): string {
	return (network.wire.names ?? network.face).brand;
}

/**
 * Returns the fault for a failure on our side. Its sentence does not say whether anything was stored, because
 * that is unknown after a failed commit.
 */
export function ourFault(error: unknown): Fault {
	return faultOf(isDatabaseUnavailable(error) ? "unavailable" : "internal", {});
}
