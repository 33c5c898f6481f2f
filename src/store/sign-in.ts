// The few rows of better-auth's tables that we write or ask for ourselves, so that accepting an invitation is
// one transaction. Everything else in them is better-auth's business.

import type { Person } from "./people.ts";
import type { Db } from "./store.ts";

/** better-auth's word for an account with a password. */
const PASSWORD_PROVIDER = "credential";

/**
 * A new password for somebody new, or in place of the one they had. Ends every session of theirs, and every link
 * they asked for: the mailbox may be in other hands.
 */
export async function setPassword(
	trx: Db,
	person: Pick<Person, "public_id" | "email" | "name">,
	passwordHash: string,
	nowMs: number,
): Promise<void> {
	const { public_id: userId, email, name } = person;
	const now = new Date(nowMs).toISOString();
	await trx
		.insertInto("auth_users")
		.values({
			id: userId,
			name,
			email,
			emailVerified: 1,
			twoFactorEnabled: 0,
			createdAt: now,
			updatedAt: now,
		})
		.onConflict((conflict) => conflict.column("id").doUpdateSet({ name, updatedAt: now }))
		.execute();
	await trx
		.insertInto("auth_accounts")
		.values({
			id: userId,
			accountId: userId,
			providerId: PASSWORD_PROVIDER,
			userId,
			password: passwordHash,
			createdAt: now,
			updatedAt: now,
		})
		.onConflict((conflict) =>
			conflict.columns(["userId", "providerId"]).doUpdateSet({ password: passwordHash, updatedAt: now }),
		)
		.execute();
	await trx.deleteFrom("auth_sessions").where("userId", "=", userId).execute();
	await trx.deleteFrom("auth_verifications").where("value", "=", userId).execute();
}

export async function hasPassword(db: Db, personPublicId: string): Promise<boolean> {
	const row = await db
		.selectFrom("auth_accounts")
		.select("id")
		.where("userId", "=", personPublicId)
		.where("providerId", "=", PASSWORD_PROVIDER)
		.executeTakeFirst();
	return row !== undefined;
}

/** Whether the network has anybody who can sign in and invite others. */
export async function hasStaffWithPassword(db: Db): Promise<boolean> {
	const row = await db
		.selectFrom("auth_accounts")
		.innerJoin("people", "people.public_id", "auth_accounts.userId")
		.select("people.id")
		.where("people.role", "=", "staff")
		.where("people.deactivated_at_ms", "is", null)
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}

/** False when this person has used this code before. */
export async function spendCode(
	trx: Db,
	personId: number,
	codeHash: string,
	nowMs: number,
	expiresAtMs: number,
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

export async function endSession(trx: Db, token: string): Promise<void> {
	await trx.deleteFrom("auth_sessions").where("token", "=", token).execute();
}

/** Password, authenticator and sessions: all of them hang on this row. */
export async function removeSignIn(trx: Db, personPublicId: string): Promise<void> {
	await trx.deleteFrom("auth_users").where("id", "=", personPublicId).execute();
}

/** Where this person is signed in at this moment; an address a session. */
export async function listSessionAddresses(db: Db, email: string, limit: number): Promise<string[]> {
	const rows = await db
		.selectFrom("auth_sessions")
		.innerJoin("auth_users", "auth_users.id", "auth_sessions.userId")
		.select("auth_sessions.ipAddress")
		.where("auth_users.email", "=", email)
		.limit(limit)
		.execute();
	return rows.flatMap(({ ipAddress }) => ipAddress ?? []);
}

/** How long an owner's invitation stays on the list after its link has ended, to be sent again. */
const EXPIRED_SHOWN_MS = 30 * 86_400_000;

/** What has expired opens nothing any more; it would only pile up. */
export async function pruneSignIn(db: Db, nowMs: number): Promise<void> {
	const now = new Date(nowMs).toISOString();
	await db.deleteFrom("auth_sessions").where("expiresAt", "<", now).execute();
	await db.deleteFrom("auth_verifications").where("expiresAt", "<", now).execute();
	await db.deleteFrom("invitations").where("expires_at_ms", "<", nowMs).execute();
	await db
		.deleteFrom("owner_invitations")
		.where("expires_at_ms", "<", nowMs - EXPIRED_SHOWN_MS)
		.execute();
	await db.deleteFrom("limit_counts").where("ends_at_ms", "<", nowMs).execute();
}
