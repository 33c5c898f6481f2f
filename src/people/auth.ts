// Passwords, and sessions behind a signed cookie.
// How often one may try is for people/limits. Sessions are named by their id: the token never leaves the cookie.

import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { hashPassword, isRightPassword, PASSWORD_SALT_BYTES } from "../domain/password-hash.ts";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import type { Log } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	endSession,
	endSessions,
	findPasswordHash,
	findSession,
	insertSession,
	listSessions,
	MAX_SESSION_DAYS,
	noteSessionUse,
	type StoredSession,
} from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import { type SignedInPerson, transactAs } from "./actor.ts";
import type { AccountsDeps } from "./deps.ts";
import { areCookiesSecure, makeDeviceCookie } from "./signed-cookies.ts";

export const MIN_PASSWORD_LENGTH = 10;
/** scrypt reads all of it: very long ones would keep the machine busy. */
export const MAX_PASSWORD_LENGTH = 128;
export const IDLE_SESSION_DAYS = 7;
const IDLE_SESSION_MS = IDLE_SESSION_DAYS * DAY_MS;
/** How long a session may be in use before that is written down, and makes it last longer. */
const SESSION_RENEWAL_MS = DAY_MS;
const SESSION_ID_BYTES = 16;
const TOKEN_BYTES = 32;

export interface AuthDeps extends AccountsDeps {
	log: Log;
	publicUrl: string;
}

export interface SignInDeps extends AuthDeps {
	auth: Auth;
}

/** What of a visitor's request says who they are. */
export interface Visitor {
	/** The header, as it came. */
	cookies: string;
	address: string;
	userAgent: string;
	/** The device cookie, as it came; empty when there was none. See people/signed-cookies. */
	device: string;
}

export type AuthSession = StoredSession;

export interface Auth {
	findSession(visitor: Visitor): Promise<{ session: AuthSession; setCookies: readonly string[] } | null>;
	hashPassword(password: string): Promise<string>;
	/** The hash that fits; null for a wrong password, and after the same work for somebody who has none. */
	judgePassword(email: string, password: string): Promise<string | null>;
}

export function createAuth(deps: Omit<AuthDeps, "log">): Auth {
	const { store, clock, random } = deps;
	const hash = (password: string) => hashPassword(password, random.bytes(PASSWORD_SALT_BYTES));
	return {
		async findSession(visitor) {
			const token = readTokenCookie(deps, SESSION, visitor);
			const session = token === null ? undefined : await findSession(store.db, "token", token);
			if (session === undefined) return null;
			const nowMs = clock.nowMs();
			if (isOver(session, nowMs)) {
				await endSession(store.db, session.token);
				return null;
			}
			if (nowMs - session.lastUsedAtMs < SESSION_RENEWAL_MS) return { session, setCookies: [] };
			await noteSessionUse(store.db, session.id, { nowMs, expiresAtMs: nowMs + IDLE_SESSION_MS });
			return { session, setCookies: [tokenCookie(deps, SESSION, session.token)] };
		},
		hashPassword: hash,
		async judgePassword(email, password) {
			const stored = await findPasswordHash(store.db, email);
			if (stored !== undefined) return (await isRightPassword(stored, password)) ? stored : null;
			// The answer takes as long as a wrong password, so its time does not show whether the account exists.
			await hash(password);
			return null;
		},
	};
}

/** The one used last first. */
export async function listOpenSessions(
	{ store, clock }: Pick<AuthDeps, "store" | "clock">,
	personPublicId: string,
): Promise<AuthSession[]> {
	const sessions = await listSessions(store.db, personPublicId);
	return sessions
		.filter((session) => !isOver(session, clock.nowMs()))
		.sort((one, other) => other.lastUsedAtMs - one.lastUsedAtMs);
}

/**
 * One of their own sessions, or, without an id, all but the one it is done in. Under the lock that a session holds which
 * goes on under another token: none gets away by that.
 */
export function revokeSessions(
	{ store, clock }: Pick<AuthDeps, "store" | "clock">,
	maker: SignedInPerson,
	sessionId?: string,
): Promise<Result<true>> {
	return transactAs(store, maker, async (trx) => {
		const { personPublicId } = await requireSession(trx, maker);
		if (sessionId === undefined) {
			await endSessions(trx, personPublicId, maker.sessionId);
		} else {
			const found = await findSession(trx, "id", sessionId);
			if (found?.personPublicId !== personPublicId) {
				return refuse("unknown_session", "This session has ended already. Nothing is left to do.");
			}
			await endSession(trx, found.token);
		}
		const detail = sessionId === undefined ? "all others" : "one";
		const note = { personId: maker.personId, action: "sessions.revoked", detail } as const;
		await noteAudit(trx, note, clock.nowMs());
		return succeed(true);
	});
}

export interface Changed<Value> {
	value: Value;
	/** Of the session, and of the browser, which was known by what has changed. */
	setCookies: readonly string[];
}

/**
 * For a change that ends sessions, this one among them: it goes on under a new id and token, so that whoever copied its
 * cookie has nothing. All in one transaction, or nothing. Refused by the change itself, or when the session has ended
 * meanwhile.
 */
export function changeWithSession<Value>(
	deps: Omit<AuthDeps, "log">,
	maker: SignedInPerson,
	email: string,
	change: (trx: Db, session: AuthSession) => Promise<Result<Value>>,
): Promise<Result<Changed<Value>>> {
	return transactAs(deps.store, maker, async (trx) => {
		const session = await requireSession(trx, maker);
		const done = await change(trx, session);
		if (!done.ok) return done;
		const own = await resumeSession(trx, deps, session);
		return succeed({ value: done.value, setCookies: [own, await makeDeviceCookie(trx, deps, email)] });
	});
}

async function requireSession(trx: Db, { sessionId }: SignedInPerson): Promise<AuthSession> {
	const session = await findSession(trx, "id", sessionId);
	if (session === undefined) throw new Error("a session that was there a moment ago");
	return session;
}

/** In the caller's transaction. Resolves to its cookie. */
export async function startSession(
	trx: Db,
	deps: Omit<AuthDeps, "log">,
	personPublicId: string,
	{ address, userAgent }: Pick<Visitor, "address" | "userAgent">,
): Promise<string> {
	const nowMs = deps.clock.nowMs();
	const times = { createdAtMs: nowMs, lastUsedAtMs: nowMs, expiresAtMs: nowMs + IDLE_SESSION_MS };
	return resumeSession(trx, deps, { personPublicId, address, userAgent, ...times });
}

/** The same session under a new id and token: whoever copied the old ones has nothing. Its thirty days go on. */
async function resumeSession(
	trx: Db,
	deps: Omit<AuthDeps, "log">,
	session: Omit<AuthSession, "id" | "token" | "hasAuthenticator">,
): Promise<string> {
	const token = deps.random.hex(TOKEN_BYTES);
	await insertSession(trx, { ...session, id: deps.random.hex(SESSION_ID_BYTES), token });
	return tokenCookie(deps, SESSION, token);
}

function isOver({ createdAtMs, expiresAtMs }: AuthSession, nowMs: number): boolean {
	return nowMs >= expiresAtMs || nowMs - createdAtMs >= MAX_SESSION_DAYS * DAY_MS;
}

/** A cookie that holds a token, whose row says what it opens. */
interface TokenCookie {
	name: string;
	lifeMs: number;
}

export const SESSION: TokenCookie = { name: "session_token", lifeMs: IDLE_SESSION_MS };

type CookieDeps = Pick<AuthDeps, "sealingKey" | "publicUrl">;

/** A whole Set-Cookie line; without a token, the one that makes the browser forget it. */
export function tokenCookie(deps: CookieDeps, cookie: TokenCookie, token = ""): string {
	const value = token === "" ? "" : signToken(deps, token);
	const secure = areCookiesSecure(deps.publicUrl) ? "; Secure" : "";
	const maxAge = token === "" ? 0 : cookie.lifeMs / SECOND_MS;
	return `${nameOf(deps, cookie)}=${value}; Max-Age=${maxAge}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

/** Null without one that we signed. */
export function readTokenCookie(
	deps: CookieDeps,
	cookie: TokenCookie,
	{ cookies }: Pick<Visitor, "cookies">,
): string | null {
	const start = `${nameOf(deps, cookie)}=`;
	const pair = cookies.split(/; */).find((one) => one.startsWith(start));
	const value = pair?.slice(start.length) ?? "";
	const [token = ""] = /^[0-9A-Za-z]+/.exec(value) ?? [];
	const [given, right] = [Buffer.from(value), Buffer.from(signToken(deps, token))];
	return token !== "" && given.length === right.length && timingSafeEqual(given, right) ? token : null;
}

function nameOf({ publicUrl }: Pick<CookieDeps, "publicUrl">, { name }: TokenCookie): string {
	return `${areCookiesSecure(publicUrl) ? "__Secure-" : ""}ringback.${name}`;
}

function signToken({ sealingKey }: Pick<CookieDeps, "sealingKey">, token: string): string {
	const signature = createHmac("sha256", signInSecret(sealingKey)).update(token).digest("base64");
	return encodeURIComponent(`${token}.${signature}`);
}

/** The key that signs cookies. It is derived, so that it cannot be used for anything else. */
function signInSecret(sealingKey: Uint8Array): string {
	return Buffer.from(hkdfSync("sha256", sealingKey, "", "ringback sign-in", 32)).toString("hex");
}
