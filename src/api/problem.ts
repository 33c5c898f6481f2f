// A fault as an answer: RFC 9457, with the fault's stable code beside the standard's members.

import type * as z from "zod";
import { type Fault, type FaultCode, fault, titleOfFault } from "../domain/fault.ts";
import { isDatabaseUnavailable } from "../store/unavailable.ts";
import type { PROBLEM } from "./answers.ts";
import type { AppDeps } from "./deps.ts";
import { SAFE_HEADERS } from "./safe-headers.ts";

/** A database that restarts is back within seconds; asking sooner helps nobody. */
const RETRY_AFTER_SECONDS = 5;

/** As the API's problems are described; people at pages meet codes that the API does not answer. */
export type Problem = Omit<z.output<typeof PROBLEM>, "code"> & { code: FaultCode };

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

export function problemBody(
	{ publicUrl }: Pick<AppDeps, "publicUrl">,
	{ code, httpStatus, detail, field }: Fault,
): Problem {
	return {
		type: `${publicUrl}/problems/${code}`,
		title: titleOfFault(code),
		status: httpStatus,
		detail,
		code,
		...(field === undefined ? {} : { field }),
	};
}

/** Says nothing of what was or was not stored: when the connection breaks during the commit, nobody knows. */
export function ourFault(error: unknown): Fault {
	const advice = "Send the request again, signed anew: nothing is recorded twice.";
	return isDatabaseUnavailable(error)
		? fault("unavailable", `The database cannot be used just now. ${advice}`)
		: fault("internal", `Something failed on our side, and we have a record of it. ${advice}`);
}
