// An authenticator: made by a set-up, on once a code has shown that it works. Whether it is on stands with the user.

import type { Selectable } from "kysely";
import type { Db } from "../store.ts";
import type { AuthTwoFactorsTable } from "../tables/sign-in.ts";

export type Authenticator = Selectable<AuthTwoFactorsTable>;

/** In place of the one before, which was never turned on. */
export async function replaceSetup(
	trx: Db,
	setup: Pick<Authenticator, "id" | "userId" | "secret" | "backupCodes">,
): Promise<void> {
	await trx.deleteFrom("auth_two_factors").where("userId", "=", setup.userId).execute();
	// Processes of 1.0.0 would turn on themselves what is not verified.
	await trx
		.insertInto("auth_two_factors")
		.values({ ...setup, verified: 1 })
		.execute();
}

export async function findAuthenticator(db: Db, personPublicId: string): Promise<Authenticator | undefined> {
	return db
		.selectFrom("auth_two_factors")
		.select(["id", "userId", "secret", "backupCodes", "verified"])
		.where("userId", "=", personPublicId)
		.executeTakeFirst();
}

export async function setBackupCodes(trx: Db, id: string, backupCodes: string): Promise<void> {
	await trx.updateTable("auth_two_factors").set({ backupCodes }).where("id", "=", id).execute();
}

export async function turnAuthenticatorOn(trx: Db, personPublicId: string): Promise<void> {
	await trx.updateTable("auth_users").set({ twoFactorEnabled: 1 }).where("id", "=", personPublicId).execute();
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
