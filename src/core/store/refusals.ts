// Rolls back a transaction whose work returns a refusal, and still returns the refusal to the caller. A use case may
// therefore refuse at any point, even after it has written something.

import type { Db } from "./store.ts";

/** Refusals whose transactions are committed nevertheless. */
const kept = new WeakSet<object>();

/**
 * Marks a refusal whose transaction must be committed, for example because it ends the sign-in that it refuses. The
 * mark belongs to this object, so a copy of the refusal rolls back.
 */
export function commitRefusal<Refusal extends { ok: false }>(refusal: Refusal): Refusal {
	kept.add(refusal);
	return refusal;
}

/** Thrown inside the transaction of a refusal to roll it back. Outside, the refusal becomes the result again. */
class RolledBack extends Error {
	readonly result: object;

	constructor(result: object) {
		super("the transaction was refused and rolled back");
		this.result = result;
	}
}

/** Runs a transaction that is rolled back if its work returns a refusal. `run` begins and ends the transaction. */
export async function rollBackRefusals<Value>(
	work: (trx: Db) => Promise<Value>,
	run: (work: (trx: Db) => Promise<Value>) => Promise<Value>,
): Promise<Value> {
	try {
		return await run(async (trx) => {
			const value = await work(trx);
			if (isRefusal(value) && !kept.has(value)) throw new RolledBack(value);
			return value;
		});
	} catch (error) {
		// The cast is safe, because the work above returned this very value.
		if (error instanceof RolledBack) return error.result as Value;
		throw error;
	}
}

function isRefusal(value: unknown): value is { ok: false } {
	return typeof value === "object" && value !== null && "ok" in value && value.ok === false;
}
