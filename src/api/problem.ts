// A fault as an answer: RFC 9457, with the fault's stable code beside the standard's members.

import { type Fault, faultOf, problemBody } from "../domain/fault.ts";
import { isDatabaseUnavailable } from "../store/unavailable.ts";
import type { AppDeps } from "./deps.ts";
import { SAFE_HEADERS } from "./safe-headers.ts";

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
