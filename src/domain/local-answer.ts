// The result of an event on a developer's own machine, as `ringback listen` reports it. It is not the result of a callback of
// ours. Pages say so, and it does not change any delivery.

export const LOCAL_OUTCOMES = [
	/** The developer's endpoint answered with a status. */
	"answered",
	"timeout",
	"no_connection",
	/** There is no endpoint, so the listener checked our signature itself. */
	"verified",
	"not_verified",
] as const;
export type LocalOutcome = (typeof LOCAL_OUTCOMES)[number];

export interface LocalAnswer {
	outcome: LocalOutcome;
	/** Status of the answer. Null unless the outcome is "answered". */
	httpStatus: number | null;
	/** Machine-readable reason why there was no answer, or why the signature is wrong. */
	code: string | null;
	tookMs: number | null;
}

/** Returns whether a callback would have counted as delivered, or the signature was verified. */
export function isGoodAnswer({ outcome, httpStatus }: Pick<LocalAnswer, "outcome" | "httpStatus">): boolean {
	return outcome === "verified" || (httpStatus !== null && httpStatus >= 200 && httpStatus < 300);
}
