// Whether somebody's authenticator is on, written by us alone: better-auth makes the set-up and judges codes, and the
// change itself belongs in the transaction that notes it.

import type { Db } from "../store.ts";

/**
 * Marks the set-up verified before its first code is judged. An unverified set-up better-auth would turn on itself,
 * outside our transaction; of a verified one it only judges the code. Resolves to the set-up's id; undefined when there
 * is none, or more than one, since nobody could say whose code is judged.
 */
export async function leaveSetupToUs(db: Db, personPublicId: string): Promise<string | undefined> {
	const [setup, ...others] = await db
		.updateTable("auth_two_factors")
		.set({ verified: 1 })
		.where("userId", "=", personPublicId)
		.returning("id")
		.execute();
	return others.length === 0 ? setup?.id : undefined;
}

/** False: another set-up has taken the place of the one whose code was right. */
export async function turnAuthenticatorOn(
	trx: Db,
	personPublicId: string,
	setupId: string,
): Promise<boolean> {
	const { numUpdatedRows } = await trx
		.updateTable("auth_users")
		.set({ twoFactorEnabled: 1 })
		.where("id", "=", personPublicId)
		.where("id", "in", (eb) =>
			eb.selectFrom("auth_two_factors").select("userId").where("auth_two_factors.id", "=", setupId),
		)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

/** The secret and the backup codes go with it. */
export async function turnAuthenticatorOff(trx: Db, personPublicId: string): Promise<void> {
	await trx.updateTable("auth_users").set({ twoFactorEnabled: 0 }).where("id", "=", personPublicId).execute();
	await trx.deleteFrom("auth_two_factors").where("userId", "=", personPublicId).execute();
}

/** Of the authenticator that is on; null without one. */
export async function findAuthenticatorId(db: Db, email: string): Promise<string | null> {
	const row = await db
		.selectFrom("auth_two_factors")
		.innerJoin("auth_users", "auth_users.id", "auth_two_factors.userId")
		.select(["auth_two_factors.id", "auth_users.twoFactorEnabled"])
		.where("auth_users.email", "=", email)
		.executeTakeFirst();
	return row?.twoFactorEnabled ? row.id : null;
}

export async function isAuthenticatorOn(trx: Db, personPublicId: string): Promise<boolean> {
	const user = await trx
		.selectFrom("auth_users")
		.select("twoFactorEnabled")
		.where("id", "=", personPublicId)
		.executeTakeFirst();
	return Boolean(user?.twoFactorEnabled);
}
