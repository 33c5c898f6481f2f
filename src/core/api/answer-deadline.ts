// Answers each API call before a deadline, however slow the database is. If the deadline passes, the caller
// gets a 503. The call's transaction may still succeed, so the 503 does not say whether anything was stored.
// The caller can safely repeat the call, because a repeated call is recognized and nothing is recorded twice.

import { fault } from "../domain/fault.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import type { AppContext, AppEnv } from "./deps.ts";

/**
 * Time after which a call is answered, counted from the last byte of its body. Callers are promised an answer
 * within five seconds. The remaining half second is for the network and a busy process.
 */
export const ANSWER_WITHIN_MS = 4.5 * SECOND_MS;

/**
 * Time between two checks whether the body has arrived. Node does not report the arrival while nobody reads the body.
 * The key is looked up before the body is read, which takes seconds on a slow database.
 */
export const BODY_CHECK_MS = 250;

export const TOO_SLOW = fault(
	"unavailable",
	"The database is too slow at the moment. Send the request again in a few seconds, signed anew: nothing is recorded twice.",
);

/** Resolves to the answer of `work`, or to that of `answerLate` if the deadline passes first. */
export function answerInTime(
	c: AppContext,
	clock: Pick<Clock, "after">,
	work: () => Promise<Response>,
	answerLate: () => Response,
): Promise<Response> {
	const { promise, resolve, reject } = Promise.withResolvers<Response>();
	const incoming = incomingOf(c);
	let isOver = false;
	let cancel = clock.after(BODY_CHECK_MS, checkBody);

	/** Starts the time limit once the body has arrived, so that a caller with a slow connection is not cut off. */
	function checkBody(): void {
		const hasArrived = incoming?.complete !== false;
		cancel = hasArrived
			? clock.after(ANSWER_WITHIN_MS - BODY_CHECK_MS, pass)
			: clock.after(BODY_CHECK_MS, checkBody);
	}

	function pass(): void {
		isOver = true;
		resolve(answerLate());
	}

	work().then(
		(response) => {
			cancel();
			// The caller already got the late answer. The stream in this answer is closed, because nobody would read it.
			if (isOver) void response.body?.cancel();
			isOver = true;
			resolve(response);
		},
		(error: unknown) => {
			cancel();
			isOver = true;
			reject(error);
		},
	);
	return promise;
}

function incomingOf(c: AppContext): AppEnv["Bindings"]["incoming"] {
	const bindings: AppEnv["Bindings"] | undefined = c.env;
	return bindings?.incoming;
}
