// Conflicts between processes. An order that has no conversion yet, and a nonce that was not used, cannot be locked. If
// another process stores it first, the batch fails as a whole, and its caller judges it again on what is stored now.

/** Another process has stored an order or a nonce of the batch first, or has removed or replaced a conversion of it. */
export class ConflictError extends Error {
	constructor(cause?: unknown) {
		super("another process has changed an order of this batch meanwhile", { cause });
	}
}

/**
 * Maximum number of times that a batch is judged and written. Each conflict means that another process has stored
 * something, so a batch does not fail often in a row.
 */
const MAX_TURNS = 6;

/**
 * Runs work that judges and writes a batch, again if there was a conflict. It rejects with the last conflict. The work must
 * be a whole transaction, because a conflict ends it.
 */
export async function repeatConflicts<Value>(work: () => Promise<Value>, turns = MAX_TURNS): Promise<Value> {
	for (let turn = 1; ; turn++) {
		try {
			return await work();
		} catch (error) {
			if (!(error instanceof ConflictError) || turn >= turns) throw error;
		}
	}
}
