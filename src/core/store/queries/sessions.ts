// The sessions of people who are signed in, and the challenges of people who have entered their password and must still
// enter an authenticator code.

import type { Db } from "../store.ts";

/** Maximum age of a session, however much it is used, so that a stolen session ends even if the thief uses it. */
export const MAX_SESSION_DAYS = 30;

export interface Session {
	id: string;
	personId: number;
	hasAuthenticator: boolean;
	/** Time at which the person signed in. It does not change when the session gets a new id and token. */
	createdAtMs: number;
	lastUsedAtMs: number;
	expiresAtMs: number;
	address: string;
	userAgent: string;
}

export async function findSessionByToken(db: Db, tokenHash: string): Promise<Session | undefined> {
	const row = await sessions(db).where("sessions.token_hash", "=", tokenHash).executeTakeFirst();
	return row && describe(row);
}

export async function findSessionById(db: Db, id: string): Promise<Session | undefined> {
	const row = await sessions(db).where("sessions.id", "=", id).executeTakeFirst();
	return row && describe(row);
}

export async function listSessions(db: Db, personId: number): Promise<Session[]> {
	const rows = await sessions(db).where("sessions.person_id", "=", personId).execute();
	return rows.map(describe);
}

function sessions(db: Db) {
	return db
		.selectFrom("sessions")
		.leftJoin("authenticators", "authenticators.person_id", "sessions.person_id")
		.select([
			"sessions.id",
			"sessions.person_id as personId",
			"sessions.created_at_ms as createdAtMs",
			"sessions.last_used_at_ms as lastUsedAtMs",
			"sessions.expires_at_ms as expiresAtMs",
			"sessions.address",
			"sessions.user_agent as userAgent",
			"authenticators.turned_on_at_ms as authenticatorOnAtMs",
		]);
}

function describe({
	authenticatorOnAtMs,
	...session
}: Omit<Session, "hasAuthenticator"> & { authenticatorOnAtMs: number | null }): Session {
	return { ...session, hasAuthenticator: authenticatorOnAtMs !== null };
}

export async function insertSession(
	trx: Db,
	session: Omit<Session, "hasAuthenticator"> & { tokenHash: string },
): Promise<void> {
	await trx
		.insertInto("sessions")
		.values({
			id: session.id,
			token_hash: session.tokenHash,
			person_id: session.personId,
			created_at_ms: session.createdAtMs,
			last_used_at_ms: session.lastUsedAtMs,
			expires_at_ms: session.expiresAtMs,
			address: session.address,
			user_agent: session.userAgent,
		})
		.execute();
}

export async function storeSessionUse(
	db: Db,
	id: string,
	{ nowMs, expiresAtMs }: { nowMs: number; expiresAtMs: number },
): Promise<void> {
	await db
		.updateTable("sessions")
		.set({ last_used_at_ms: nowMs, expires_at_ms: expiresAtMs })
		.where("id", "=", id)
		.execute();
}

/** Returns whether the session still exists and belongs to the person, so that they have not been signed out. */
export async function isSessionOf(trx: Db, id: string, personId: number): Promise<boolean> {
	const row = await trx
		.selectFrom("sessions")
		.select("id")
		.where("id", "=", id)
		.where("person_id", "=", personId)
		.executeTakeFirst();
	return row !== undefined;
}

export async function endSession(trx: Db, id: string): Promise<void> {
	await trx.deleteFrom("sessions").where("id", "=", id).execute();
}

/** Ends all sessions of a person, except the one with the given id. Returns the number of sessions that ended. */
export async function endSessions(trx: Db, personId: number, exceptId = ""): Promise<number> {
	const { numDeletedRows } = await trx
		.deleteFrom("sessions")
		.where("person_id", "=", personId)
		.where("id", "<>", exceptId)
		.executeTakeFirst();
	return Number(numDeletedRows);
}

/** Stores a sign-in with the right password that still needs an authenticator code. */
export async function insertChallenge(
	trx: Db,
	challenge: { tokenHash: string; personId: number; expiresAtMs: number },
): Promise<void> {
	await trx
		.insertInto("sign_in_challenges")
		.values({
			token_hash: challenge.tokenHash,
			person_id: challenge.personId,
			expires_at_ms: challenge.expiresAtMs,
		})
		.execute();
}

/** Returns the person who must enter a code, or undefined if the sign-in has expired or ended. */
export async function findChallengedPerson(
	db: Db,
	tokenHash: string,
	nowMs: number,
): Promise<number | undefined> {
	const row = await db
		.selectFrom("sign_in_challenges")
		.select("person_id")
		.where("token_hash", "=", tokenHash)
		.where("expires_at_ms", ">", nowMs)
		.executeTakeFirst();
	return row?.person_id;
}

export async function endChallenge(trx: Db, tokenHash: string): Promise<void> {
	await trx.deleteFrom("sign_in_challenges").where("token_hash", "=", tokenHash).execute();
}

/** Ends all sign-ins of a person that wait for a code, because they were begun with only a password. */
export async function endChallenges(trx: Db, personId: number): Promise<void> {
	await trx.deleteFrom("sign_in_challenges").where("person_id", "=", personId).execute();
}
