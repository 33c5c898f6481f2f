// Authenticators of people, and the codes that were used. An authenticator is set up first, and is turned on when a
// code has shown that the app works. The caller of these functions must hold the access lock.

import type { Db } from "../store.ts";

export interface SealedAuthenticator {
	secret: string;
	backupCodes: string;
}

/** Stores a new set-up of an authenticator. It replaces an earlier set-up that was never turned on. */
export async function replaceSetup(
	trx: Db,
	personId: number,
	{ secret, backupCodes }: SealedAuthenticator,
): Promise<void> {
	const setup = { secret, backup_codes: backupCodes, turned_on_at_ms: null };
	await trx
		.insertInto("authenticators")
		.values({ person_id: personId, ...setup })
		.onConflict((conflict) => conflict.column("person_id").doUpdateSet(setup))
		.execute();
}

/** Returns the person's authenticator, whether or not it is turned on yet. */
export async function findAuthenticator(db: Db, personId: number): Promise<SealedAuthenticator | undefined> {
	return db
		.selectFrom("authenticators")
		.select(["secret", "backup_codes as backupCodes"])
		.where("person_id", "=", personId)
		.executeTakeFirst();
}

export async function isAuthenticatorOn(db: Db, personId: number): Promise<boolean> {
	const row = await db
		.selectFrom("authenticators")
		.select("person_id")
		.where("person_id", "=", personId)
		.where("turned_on_at_ms", "is not", null)
		.executeTakeFirst();
	return row !== undefined;
}

/**
 * Returns the encrypted secret of the person's authenticator, or null if none is turned on. The encrypted secret is
 * different for every set-up, so a signature can use it to identify the set-up.
 */
export async function findActiveAuthenticatorSecret(db: Db, email: string): Promise<string | null> {
	const row = await db
		.selectFrom("people")
		.innerJoin("authenticators", "authenticators.person_id", "people.id")
		.select("authenticators.secret")
		.where("people.email", "=", email)
		.where("authenticators.turned_on_at_ms", "is not", null)
		.executeTakeFirst();
	return row?.secret ?? null;
}

export async function turnAuthenticatorOn(trx: Db, personId: number, nowMs: number): Promise<void> {
	await trx
		.updateTable("authenticators")
		.set({ turned_on_at_ms: nowMs })
		.where("person_id", "=", personId)
		.execute();
}

export async function discardSetup(trx: Db, personId: number): Promise<void> {
	await trx
		.deleteFrom("authenticators")
		.where("person_id", "=", personId)
		.where("turned_on_at_ms", "is", null)
		.execute();
}

export async function removeAuthenticator(trx: Db, personId: number): Promise<void> {
	await trx.deleteFrom("authenticators").where("person_id", "=", personId).execute();
}

export async function setBackupCodes(trx: Db, personId: number, backupCodes: string): Promise<void> {
	await trx
		.updateTable("authenticators")
		.set({ backup_codes: backupCodes })
		.where("person_id", "=", personId)
		.execute();
}

/**
 * Stores that the person has used a code, until `expiresAtMs`. Returns false if the person has used this code before.
 */
export async function markCodeSpent(
	trx: Db,
	personId: number,
	codeHash: string,
	{ nowMs, expiresAtMs }: { nowMs: number; expiresAtMs: number },
): Promise<boolean> {
	await trx
		.deleteFrom("spent_codes")
		.where("person_id", "=", personId)
		.where("expires_at_ms", "<", nowMs)
		.execute();
	const { numInsertedOrUpdatedRows } = await trx
		.insertInto("spent_codes")
		.values({ person_id: personId, code_hash: codeHash, expires_at_ms: expiresAtMs })
		.onConflict((conflict) => conflict.doNothing())
		.executeTakeFirst();
	return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}
