// Conflicts between processes. An order that has no conversion yet, and a nonce that was not used, cannot be locked. If
// another process stores it first, the batch fails as a whole, and its caller judges it again on what is stored now.

import { SECOND_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";

/** Another process has stored an order or a nonce of the batch first, or has removed or replaced a conversion of it. */
export class ConflictError extends Error {
	constructor(cause?: unknown) {
		super("another process has changed an order of this batch meanwhile", { cause });
	}
}

/**
 * Time for which a batch is judged again after conflicts. Each conflict means that another process has stored one of its
 * orders for the first time, so a batch cannot have more conflicts than orders.
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
