// Conflicts between batches of one or several processes. A batch cannot lock an order that has no conversion yet, or
// a nonce that was not used. If another batch stores that order or nonce first, this batch fails as a whole, and its
// caller judges it again on the present state.

import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";

/**
 * Thrown if another batch has stored an order or a nonce of this batch first, or has removed or replaced one of its
 * conversions.
 */
export class ConflictError extends Error {
	constructor(cause?: unknown) {
		super("an order of this batch was changed by another one meanwhile", { cause });
	}
}

/**
 * Time for which a batch is judged again after conflicts. An order or a nonce causes a conflict only when it is
 * stored for the first time, or when its conversion is removed or replaced. A batch therefore rarely has several
 * conflicts.
 */
const MAX_TURNS_MS = 3 * SECOND_MS;

/**
 * Runs work that judges and writes a batch, and repeats it after a conflict, for some seconds and at most `turns`
 * times in all. Then the promise rejects with the last conflict. The work must be a whole transaction, because a
 * conflict rolls it back.
 */
export async function repeatConflicts<Value>(
	clock: Pick<Clock, "monotonicMs">,
	work: () => Promise<Value>,
	turns: number = Number.POSITIVE_INFINITY,
): Promise<Value> {
	const untilMs = clock.monotonicMs() + MAX_TURNS_MS;
	for (let turn = 1; ; turn++) {
		try {
			return await work();
		} catch (error) {
			if (!(error instanceof ConflictError) || turn >= turns || clock.monotonicMs() >= untilMs) throw error;
		}
	}
}
