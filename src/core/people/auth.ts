// Manages sessions and checks passwords. A session is a row in the database, and its token is in a signed cookie. The
// token never leaves the cookie, so pages refer to a session by its id. The number of attempts is limited in
// people/limits.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { hashPassword, isRightPassword, PASSWORD_SALT_BYTES } from "../domain/password-hash.ts";
import { sha256Hex } from "../domain/signature.ts";
import { DAY_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPasswordHash } from "../store/queries/passwords.ts";
import {
	endSession,
	endSessions,
	findSessionById,
	findSessionByToken,
	insertSession,
	listSessions,
	MAX_SESSION_DAYS,
	type Session,
	storeSessionUse,
} from "../store/queries/sessions.ts";
import type { Db } from "../store/store.ts";
import { SIGNED_IN, type SignedInPerson, transactAs } from "./actor.ts";
import type { AccountsDeps } from "./deps.ts";
import { findDevice, makeDeviceCookie, sharedDeviceId } from "./device-cookie.ts";
import { readTokenCookie, type TokenCookie, tokenCookie } from "./signed-cookies.ts";

export const MIN_PASSWORD_LENGTH = 10;
/**
 * Maximum length of a password. scrypt reads the whole password, so a very long one would keep the machine
 * busy.
 */
export const MAX_PASSWORD_LENGTH = 128;
/**
 * Maximum length of a password that is checked. If a keyboard writes accents as separate characters, a valid password
 * may have several times as many characters as it was chosen with. The limit is needed because a check normalizes the
 * password, which takes quadratic time.
 */
const MAX_COMPARED_LENGTH = 4 * MAX_PASSWORD_LENGTH;
export const IDLE_SESSION_DAYS = 7;
const IDLE_SESSION_MS = IDLE_SESSION_DAYS * DAY_MS;
/** Minimum time between two renewals of a session that is in use, because each renewal is a write. */
const SESSION_RENEWAL_MS = DAY_MS;
const SESSION_ID_BYTES = 16;
const TOKEN_BYTES = 32;

export const SESSION_COOKIE: TokenCookie = { name: "session", lifeMs: IDLE_SESSION_MS };

export interface AuthDeps extends AccountsDeps {
	log: Log;
	publicUrl: string;
}

export interface SignInDeps extends AuthDeps {
	auth: Auth;
}

/** The parts of a request that identify the person who sent it. */
export interface Visitor {
	cookies: string;
	address: string;
	userAgent: string;
	/** Value of the device cookie (see people/device-cookie), or an empty string if the request has none. */
	device: string;
}

export interface Auth {
	findSession(visitor: Visitor): Promise<{ session: Session; setCookies: readonly string[] } | null>;
	hashPassword(password: string): Promise<string>;
	/**
	 * Checks a password. Returns its stored hash if the password is right, otherwise null. The check takes the
	 * same time if there is no such account, so that the time of the answer does not reveal whether the account
	 * exists.
	 */
	judgePassword(email: string, password: string): Promise<string | null>;
}

export function createAuth(deps: Omit<AuthDeps, "log">): Auth {
	const { store, clock, random } = deps;
	const hashWithNewSalt = (password: string) => hashPassword(password, random.bytes(PASSWORD_SALT_BYTES));
	return {
		async findSession({ cookies }) {
			const token = readTokenCookie(deps, SESSION_COOKIE, cookies);
			const session = token === null ? undefined : await findSessionByToken(store.db, sha256Hex(token));
			if (token === null || session === undefined) return null;
			const nowMs = clock.nowMs();
			if (isOver(session, nowMs)) {
				await endSession(store.db, session.id);
				return null;
			}
			if (nowMs - session.lastUsedAtMs < SESSION_RENEWAL_MS) return { session, setCookies: [] };
			await storeSessionUse(store.db, session.id, { nowMs, expiresAtMs: nowMs + IDLE_SESSION_MS });
			return { session, setCookies: [tokenCookie(deps, SESSION_COOKIE, token)] };
		},
		hashPassword: hashWithNewSalt,
		async judgePassword(email, typed) {
			// A password that is too long is checked as the empty password, which nobody has. This check takes the same time
			// as any other.
			const password = typed.length <= MAX_COMPARED_LENGTH ? typed : "";
			const stored = await findPasswordHash(store.db, email);
			if (stored !== undefined) return (await isRightPassword(stored, password)) ? stored : null;
			await hashWithNewSalt(password);
			return null;
		},
	};
}

export async function listOpenSessions(
	{ store, clock }: Pick<AuthDeps, "store" | "clock">,
	personId: number,
): Promise<Session[]> {
	const sessions = await listSessions(store.db, personId);
	return sessions
		.filter((session) => !isOver(session, clock.nowMs()))
		.sort((one, other) => other.lastUsedAtMs - one.lastUsedAtMs);
}

/**
 * Ends one of the actor's own sessions or, if no id is given, all of them except the one in use. The function holds
 * the access lock, which the renewal of a session also takes, so no session can survive by being renewed at the same
 * moment.
 */
export function revokeSessions(
	{ store, clock }: Pick<AuthDeps, "store" | "clock">,
	actor: SignedInPerson,
	sessionId?: string,
): Promise<Result<true>> {
	const { personId } = actor;
	return transactAs(store, actor, SIGNED_IN, async (trx) => {
		if (sessionId === undefined) {
			await endSessions(trx, personId, actor.sessionId);
		} else {
			const session = await findSessionById(trx, sessionId);
			if (session?.personId !== personId) {
				return refuse("unknown_session", "This session has ended already. Nothing is left to do.");
			}
			await endSession(trx, session.id);
		}
		const detail = sessionId === undefined ? "all others" : "one";
		await noteAudit(trx, { personId, action: "sessions.revoked", detail }, clock.nowMs());
		return succeed(true);
	});
}

export interface Changed<Value> {
	value: Value;
	/** New Set-Cookie lines for the session and the device. */
	setCookies: readonly string[];
}

/**
 * Makes a change that ends the actor's sessions, and continues the current session with a new id and token, so that a
 * copied cookie becomes worthless. Everything happens in one transaction, which is refused if the change is refused or
 * the session has ended. `device` is the device cookie. The browser keeps its id in that cookie, because a new id
 * would allow new guesses.
 */
export function changeWithSession<Value>(
	deps: Omit<AuthDeps, "log">,
	actor: SignedInPerson,
	{ email, device }: { email: string; device: string },
	change: (trx: Db, session: Session) => Promise<Result<Value>>,
): Promise<Result<Changed<Value>>> {
	return transactAs(deps.store, actor, SIGNED_IN, async (trx) => {
		const session = await findSessionById(trx, actor.sessionId);
		if (session === undefined) throw new Error("transactAs found the session, and it is gone");
		const deviceId = await findDevice({ ...deps, store: { db: trx } }, email, device);
		const done = await change(trx, session);
		if (!done.ok) return done;
		const sessionCookie = await resumeSession(trx, deps, session);
		const deviceCookie = await makeDeviceCookie(trx, deps, email, deviceId ?? sharedDeviceId(deps, email));
		return succeed({ value: done.value, setCookies: [sessionCookie, deviceCookie] });
	});
}

/** Starts a session in the caller's transaction, and returns its Set-Cookie line. */
export async function startSession(
	trx: Db,
	deps: Omit<AuthDeps, "log">,
	personId: number,
	{ address, userAgent }: Pick<Visitor, "address" | "userAgent">,
): Promise<string> {
	const nowMs = deps.clock.nowMs();
	const times = { createdAtMs: nowMs, lastUsedAtMs: nowMs, expiresAtMs: nowMs + IDLE_SESSION_MS };
	return resumeSession(trx, deps, { personId, address, userAgent, ...times });
}

/**
 * Stores a session under a new id and token, and returns its Set-Cookie line. The session's maximum age still
 * counts from the first sign-in.
 */
async function resumeSession(
	trx: Db,
	deps: Omit<AuthDeps, "log">,
	session: Omit<Session, "id" | "hasAuthenticator">,
): Promise<string> {
	const token = deps.random.hex(TOKEN_BYTES);
	const id = deps.random.hex(SESSION_ID_BYTES);
	await insertSession(trx, { ...session, id, tokenHash: sha256Hex(token) });
	return tokenCookie(deps, SESSION_COOKIE, token);
}

function isOver({ createdAtMs, expiresAtMs }: Session, nowMs: number): boolean {
	return nowMs >= expiresAtMs || nowMs - createdAtMs >= MAX_SESSION_DAYS * DAY_MS;
}
