// What `ringback listen` says came of an event on the developer's own machine. It is their word and no callback of ours:
// pages say so, and it settles nothing.

export const LOCAL_OUTCOMES = [
	/** Their endpoint answered with a status. */
	"answered",
	"timeout",
	"no_connection",
	/** There is no endpoint: the listener checked our signature itself. */
	"verified",
	"not_verified",
] as const;
export type LocalOutcome = (typeof LOCAL_OUTCOMES)[number];

export interface LocalAnswer {
	outcome: LocalOutcome;
	/** Of one that answered, and then it is there. */
	httpStatus: number | null;
	/** Why there was no answer, or why the signature is not right: a word for programs. */
	code: string | null;
	tookMs: number | null;
}

/** Where a callback would have counted as delivered, or would have been taken as ours. */
export function isGoodAnswer({ outcome, httpStatus }: Pick<LocalAnswer, "outcome" | "httpStatus">): boolean {
	return outcome === "verified" || (httpStatus !== null && httpStatus >= 200 && httpStatus < 300);
}
