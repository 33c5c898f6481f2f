// Whether an attempt ran out of time because of us. It is stored and retried like any other timeout, because the shop
// may have read it; but it is counted, so that somebody gives us fewer requests at once or more cores.

import { SECOND_MS } from "../domain/time.ts";
import type { PostbackAnswer } from "../ports.ts";

/** A fifth of the deadline: the shop had less than four of its five seconds, for our loop was late. */
const LOST_MS = SECOND_MS;
/** Of a name server, and of one of several addresses. */
const TIMEOUT_CODES: ReadonlySet<string> = new Set(["ETIMEOUT", "ETIMEDOUT"]);

/**
 * `lateMs` is for how long the event loop was late meanwhile. Only what was late before the request was written
 * counts: after that nothing but the answer is waited for, and one that came in time is read however late we are.
 */
export function isLostToLateness(
	{ outcome, timings }: PostbackAnswer,
	tookMs: number,
	lateMs: number,
): boolean {
	const ranOut =
		outcome.kind === "timeout" || (outcome.kind === "network-error" && TIMEOUT_CODES.has(outcome.code));
	return ranOut && lateMs >= LOST_MS && tookMs - (timings.answerMs ?? 0) >= LOST_MS;
}
