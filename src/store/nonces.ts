// Nonces of the shops' signed requests: each is accepted once within the timestamp's window.

import type { Db } from "./store.ts";

/** False when the nonce was used before. */
export async function spendNonce(
	db: Db,
	programmeId: number,
	nonce: string,
	expiresAtMs: number,
): Promise<boolean> {
	const { numInsertedOrUpdatedRows } = await db
		.insertInto("nonces")
		.values({ programme_id: programmeId, nonce, expires_at_ms: expiresAtMs })
		.onConflict((conflict) => conflict.doNothing())
		.executeTakeFirst();
	return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}
