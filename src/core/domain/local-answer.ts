// The result of an event that `ringback listen` passed on to a developer's own machine. It is not the result
// of a callback. Pages say so, and no delivery changes because of it.

export const LOCAL_OUTCOMES = [
	/** The developer's endpoint answered with a status. */
	"answered",
	"timeout",
	"no_connection",
	/** The listener had no endpoint to pass the event on to, so it only checked our signature. */
	"verified",
	"not_verified",
] as const;
export type LocalOutcome = (typeof LOCAL_OUTCOMES)[number];

export interface LocalAnswer {
	outcome: LocalOutcome;
	/** HTTP status of the endpoint's answer, or null if the outcome is not "answered". */
	httpStatus: number | null;
	/** Machine-readable reason why the endpoint did not answer, or why the signature is wrong. */
	code: string | null;
	tookMs: number | null;
}

/** Returns whether the outcome is a success: a 2xx answer, or a verified signature. */
export function isGoodAnswer({ outcome, httpStatus }: Pick<LocalAnswer, "outcome" | "httpStatus">): boolean {
	return outcome === "verified" || (httpStatus !== null && httpStatus >= 200 && httpStatus < 300);
}
