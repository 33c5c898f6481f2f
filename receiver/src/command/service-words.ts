// Describes a failed call to the service and names the setting to check, in the same words for every command.

import type { CallFailure } from "../client/failure.ts";
import type { Connection } from "./event-stream.ts";
import { showPlainly } from "./plain-text.ts";

export type ServiceProblem = Exclude<Connection, { kind: "open" }> | CallFailure;

const checkAddress = "Check RINGBACK_URL or --url";
const checkKey = "Check RINGBACK_API_KEY.";

/**
 * Hints that name the setting to check. The service cannot give them, because it does not know the names of
 * the settings.
 */
const hints: ReadonlyMap<string, string> = new Map([
	["missing_api_key", checkKey],
	["unknown_api_key", checkKey],
	["revoked_api_key", checkKey],
	["bad_signature", "Check RINGBACK_SIGNING_SECRET."],
	["missing_signature_header", "If the network has a brand of its own, set RINGBACK_BRAND to it."],
	["redirected", `${checkAddress}.`],
]);

export function describeProblem(url: string, problem: ServiceProblem): string {
	const detail = showPlainly(problem.detail).replace(/\.$/, "");
	switch (problem.kind) {
		case "unreachable":
			return `Nothing answers at ${url} (${detail}). ${checkAddress}, and that the service runs.`;
		case "unexpected":
			return `${url} does not answer as Ringback does: ${detail}. ${checkAddress}.`;
		case "unavailable":
			return `${url} answers, but is not ready: ${detail}. Try again in a moment.`;
		case "refused":
		case "misconfigured": {
			const hint = hints.get(problem.code);
			return hint === undefined ? `${detail}.` : `${hint} ${detail}.`;
		}
		case "aborted":
			return `${detail}.`;
	}
	problem satisfies never;
}
