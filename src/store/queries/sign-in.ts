// Who can sign in, and who has: passwords, sessions, sign-ins that wait for a code. The tables have the names and the camel
// case of better-auth, which kept them in 1.0.0.

import type { Selectable } from "kysely";
import { isoTime } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import type { AuthSessionsTable, AuthTwoFactorsTable, AuthUsersTable } from "../tables/people.ts";
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

/** The sign-in has its own copy of both. Nothing for somebody who has no password yet. */
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
export async function markCodeSpent(
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
export async function endSessions(trx: Db, personPublicId: string, exceptId = ""): Promise<number> {
	const { numDeletedRows } = await trx
		.deleteFrom("auth_sessions")
		.where("userId", "=", personPublicId)
		.where("id", "<>", exceptId)
		.executeTakeFirst();
	return Number(numDeletedRows);
}

/** Sign-ins that wait for an authenticator's code: a password was enough to begin them. */
export async function endChallenges(trx: Db, personPublicId: string): Promise<void> {
	await trx.deleteFrom("auth_verifications").where("value", "=", personPublicId).execute();
}

export interface StoredSession {
	id: string;
	token: string;
	personPublicId: string;
	hasAuthenticator: boolean;
	/** When they signed in, also where it goes on under another token. */
	createdAtMs: number;
	lastUsedAtMs: number;
	expiresAtMs: number;
	address: string;
	userAgent: string;
}

export async function findSession(
	db: Db,
	by: "id" | "token",
	value: string,
): Promise<StoredSession | undefined> {
	const row = await sessions(db).where(`auth_sessions.${by}`, "=", value).executeTakeFirst();
	return row && describeSession(row);
}

export async function listSessions(db: Db, personPublicId: string): Promise<StoredSession[]> {
	const rows = await sessions(db).where("auth_sessions.userId", "=", personPublicId).execute();
	return rows.map(describeSession);
}

function sessions(db: Db) {
	return db
		.selectFrom("auth_sessions")
		.innerJoin("auth_users", "auth_users.id", "auth_sessions.userId")
		.selectAll("auth_sessions")
		.select("auth_users.twoFactorEnabled");
}

function describeSession(
	row: Selectable<AuthSessionsTable> & Pick<Selectable<AuthUsersTable>, "twoFactorEnabled">,
): StoredSession {
	return {
		id: row.id,
		token: row.token,
		personPublicId: row.userId,
		hasAuthenticator: Boolean(row.twoFactorEnabled),
		createdAtMs: new Date(row.createdAt).getTime(),
		lastUsedAtMs: new Date(row.updatedAt).getTime(),
		expiresAtMs: new Date(row.expiresAt).getTime(),
		address: row.ipAddress ?? "",
		userAgent: row.userAgent ?? "",
	};
}

export async function insertSession(
	trx: Db,
	session: Omit<StoredSession, "hasAuthenticator">,
): Promise<void> {
	await trx
		.insertInto("auth_sessions")
		.values({
			id: session.id,
			token: session.token,
			userId: session.personPublicId,
			createdAt: isoTime(session.createdAtMs),
			updatedAt: isoTime(session.lastUsedAtMs),
			expiresAt: isoTime(session.expiresAtMs),
			ipAddress: session.address,
			userAgent: session.userAgent,
		})
		.execute();
}

export async function noteSessionUse(
	db: Db,
	sessionId: string,
	{ nowMs, expiresAtMs }: { nowMs: number; expiresAtMs: number },
): Promise<void> {
	await db
		.updateTable("auth_sessions")
		.set({ updatedAt: isoTime(nowMs), expiresAt: isoTime(expiresAtMs) })
		.where("id", "=", sessionId)
		.execute();
}

/** A sign-in that waits for an authenticator's code. `tokenHash` is of what its cookie holds. */
export async function insertChallenge(
	trx: Db,
	challenge: { id: string; tokenHash: string; personPublicId: string },
	{ nowMs, expiresAtMs }: { nowMs: number; expiresAtMs: number },
): Promise<void> {
	const now = isoTime(nowMs);
	await trx
		.insertInto("auth_verifications")
		.values({
			id: challenge.id,
			identifier: challenge.tokenHash,
			value: challenge.personPublicId,
			createdAt: now,
			updatedAt: now,
			expiresAt: isoTime(expiresAtMs),
		})
		.execute();
}

/** Whose it is; undefined when it has ended. */
export async function findChallenge(
	db: Db,
	tokenHash: string,
	nowMs: number,
): Promise<{ id: string; personPublicId: string } | undefined> {
	return db
		.selectFrom("auth_verifications")
		.select(["id", "value as personPublicId"])
		.where("identifier", "=", tokenHash)
		.where("expiresAt", ">", isoTime(nowMs))
		.executeTakeFirst();
}

export async function endChallenge(trx: Db, id: string): Promise<void> {
	await trx.deleteFrom("auth_verifications").where("id", "=", id).execute();
}

/** Password, authenticator and sessions go with it: their rows refer to this one. */
export async function removeSignIn(trx: Db, personPublicId: string): Promise<void> {
	await trx.deleteFrom("auth_users").where("id", "=", personPublicId).execute();
}

// An authenticator: made by a set-up, on once a code has shown that it works. Whether it is on stands with the user.

export type Authenticator = Selectable<AuthTwoFactorsTable>;

/** In place of the one before, which was never turned on. */
export async function replaceSetup(
	trx: Db,
	setup: Pick<Authenticator, "id" | "userId" | "secret" | "backupCodes">,
): Promise<void> {
	await trx.deleteFrom("auth_two_factors").where("userId", "=", setup.userId).execute();
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
