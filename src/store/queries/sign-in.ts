// The few rows of better-auth's tables that we write or ask for ourselves, so that using a link and
// ending somebody's access are one transaction each. Everything else in them is better-auth's business.

import type { Selectable } from "kysely";
import { DAY_MS, isoTime } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import type { AuthSessionsTable } from "../tables/people.ts";
import { pruneLinks } from "./links.ts";
import type { Person } from "./people.ts";

/** better-auth's word for an account with a password. */
export const PASSWORD_PROVIDER = "credential";
/** From the sign-in on, however much it is used: a session that was taken unnoticed ends by itself. */
export const MAX_SESSION_DAYS = 30;

/** For somebody new, or in place of the one they had: then `endAccess` has to end what the old one opened. */
export async function setPassword(
	trx: Db,
	person: Pick<Person, "public_id" | "email" | "name">,
	passwordHash: string,
	nowMs: number,
): Promise<void> {
	const { public_id: userId, email, name } = person;
	const now = isoTime(nowMs);
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
}

/** better-auth keeps both, and finds people by their address. Nothing for somebody who has no password yet. */
export async function updateSignIn(
	trx: Db,
	personPublicId: string,
	change: { email: string } | { name: string },
	nowMs: number,
): Promise<void> {
	const changed = { ...change, updatedAt: isoTime(nowMs) };
	await trx.updateTable("auth_users").set(changed).where("id", "=", personPublicId).execute();
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

/** Undefined for somebody who has no password, or no account. */
export async function findPasswordHash(db: Db, email: string): Promise<string | undefined> {
	const row = await db
		.selectFrom("auth_accounts")
		.innerJoin("auth_users", "auth_users.id", "auth_accounts.userId")
		.select("auth_accounts.password")
		.where("auth_users.email", "=", email)
		.where("auth_accounts.providerId", "=", PASSWORD_PROVIDER)
		.executeTakeFirst();
	return row?.password;
}

/** Whether the network has anybody who can sign in and invite others. */
export async function hasStaffWithPassword(db: Db): Promise<boolean> {
	const row = await db
		.selectFrom("auth_accounts")
		.innerJoin("people", "people.public_id", "auth_accounts.userId")
		.select("people.id")
		.where("people.kind", "=", "staff")
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

/** Whether the person whose request this is has not been signed out since it came. */
export async function isSessionOf(trx: Db, sessionId: string, personId: number): Promise<boolean> {
	const row = await trx
		.selectFrom("auth_sessions")
		.innerJoin("people", "people.public_id", "auth_sessions.userId")
		.select("auth_sessions.id")
		.where("auth_sessions.id", "=", sessionId)
		.where("people.id", "=", personId)
		.executeTakeFirst();
	return row !== undefined;
}

/** Resolves to how many there were. */
export async function endSessions(trx: Db, personPublicId: string): Promise<number> {
	const { numDeletedRows } = await trx
		.deleteFrom("auth_sessions")
		.where("userId", "=", personPublicId)
		.executeTakeFirst();
	return Number(numDeletedRows);
}

/** Sign-ins that wait for an authenticator's code: a password was enough to begin them. */
export async function endChallenges(trx: Db, personPublicId: string): Promise<number> {
	const { numDeletedRows } = await trx
		.deleteFrom("auth_verifications")
		.where("value", "=", personPublicId)
		.executeTakeFirst();
	return Number(numDeletedRows);
}

export type SessionRow = Selectable<AuthSessionsTable>;

export async function findSessionRow(trx: Db, sessionId: string): Promise<SessionRow | undefined> {
	return trx.selectFrom("auth_sessions").selectAll().where("id", "=", sessionId).executeTakeFirst();
}

/** The same session under a new id and token: whoever copied the old ones has nothing. */
export async function resumeSession(
	trx: Db,
	session: SessionRow,
	renewed: { id: string; token: string },
): Promise<void> {
	const { expiresAt, createdAt, updatedAt } = session;
	await trx
		.insertInto("auth_sessions")
		.values({
			...session,
			...renewed,
			expiresAt: new Date(expiresAt).toISOString(),
			createdAt: new Date(createdAt).toISOString(),
			updatedAt: new Date(updatedAt).toISOString(),
		})
		.execute();
}

/** Password, authenticator and sessions go with it: their rows refer to this one. */
export async function removeSignIn(trx: Db, personPublicId: string): Promise<void> {
	await trx.deleteFrom("auth_users").where("id", "=", personPublicId).execute();
}

/** Of those who have given their password and owe a code: all but the newest `count`. */
export async function endOldChallenges(db: Db, personPublicId: string, count: number): Promise<void> {
	await db
		.deleteFrom("auth_verifications")
		.where("value", "=", personPublicId)
		.where("id", "not in", (eb) =>
			eb
				.selectFrom("auth_verifications")
				.select("id")
				.where("value", "=", personPublicId)
				.orderBy("createdAt", "desc")
				.orderBy("id", "desc")
				.limit(count),
		)
		.execute();
}

/** What has expired opens nothing any more; it would only pile up. */
export async function pruneSignIn(db: Db, nowMs: number): Promise<void> {
	const now = isoTime(nowMs);
	const oldestSession = isoTime(nowMs - MAX_SESSION_DAYS * DAY_MS);
	await db
		.deleteFrom("auth_sessions")
		.where((eb) => eb.or([eb("expiresAt", "<", now), eb("createdAt", "<=", oldestSession)]))
		.execute();
	await db.deleteFrom("auth_verifications").where("expiresAt", "<", now).execute();
	await pruneLinks(db, nowMs);
}

// Whether somebody's authenticator is on, written by us alone: better-auth makes the set-up and judges codes, and the
// change itself belongs in the transaction that notes it.

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
