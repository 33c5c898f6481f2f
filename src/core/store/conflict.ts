// Conflicts between batches, of one process or of several. An order that has no conversion yet, and a nonce that was not
// used, cannot be locked. If another batch stores it first, this one fails as a whole, and its caller judges it again on
// what is stored now.

import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";

/** Another batch has stored an order or a nonce of this one first, or has removed or replaced a conversion of it. */
export class ConflictError extends Error {
	constructor(cause?: unknown) {
		super("an order of this batch was changed by another one meanwhile", { cause });
	}
}

/**
 * Time for which a batch is judged again after conflicts. An order or a nonce causes a conflict only while it is stored for
 * the first time, or when its conversion is removed or replaced. So a batch rarely has several conflicts.
 */
const MAX_TURNS_MS = 3 * SECOND_MS;

/**
 * Runs work that judges and writes a batch, again if there was a conflict. It rejects with the last conflict. The work must
 * be a whole transaction, because a conflict ends it. Without `turns` it is repeated for some seconds.
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
