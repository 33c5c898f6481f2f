// Answers every call of a program in time, however slow the database is. The caller of a late call gets a 503 although
// its transaction may still succeed, so the answer does not say whether anything was stored. A repeated call is
// recognized, so nothing is recorded twice.

import { fault } from "../domain/fault.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import type { AppContext, AppEnv } from "./deps.ts";

/**
 * Time after which a call is answered, counted from the last byte of its body. Callers are promised an answer within
 * five seconds, and the rest is for the network and a busy process.
 */
export const ANSWER_WITHIN_MS = 4.5 * SECOND_MS;

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
	let cancel = clock.after(ANSWER_WITHIN_MS, pass);

	/** The time that a slow caller needs for its body does not count. */
	function restart(): void {
		cancel();
		if (!isOver) cancel = clock.after(ANSWER_WITHIN_MS, pass);
	}

	function pass(): void {
		if (incoming?.complete === false) {
			restart();
		} else {
			isOver = true;
			resolve(answerLate());
		}
	}

	incoming?.once?.("end", restart);
	work().then(
		(response) => {
			cancel();
			// A stream that nobody reads must not stay open.
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
