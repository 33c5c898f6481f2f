// better-auth on our own tables: passwords, sessions, authenticator codes. Its HTTP routes are not mounted; our pages
// call them from inside, so that its checks hold. How often one may try is for people/limits. No other file knows it.

import { hkdfSync } from "node:crypto";
import { type BetterAuthPlugin, betterAuth, type Session } from "better-auth";
import { createAuthEndpoint, isAPIError } from "better-auth/api";
import { setSessionCookie } from "better-auth/cookies";
// Not from "better-auth/plugins", which loads all of them.
import { twoFactor } from "better-auth/plugins/two-factor";
import { sql } from "kysely";
import { z } from "zod";
import { BACKUP_CODES, makeBackupCode } from "../domain/authenticator.ts";
import { areCookiesSecure } from "../domain/cookie-name.ts";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import type { Log, Random } from "../ports.ts";
import { endSession, findPasswordHash, MAX_SESSION_DAYS } from "../store/queries/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";

export const MIN_PASSWORD_LENGTH = 10;
/** scrypt reads all of it: very long ones would keep the machine busy. */
export const MAX_PASSWORD_LENGTH = 128;
const DAY_SECONDS = DAY_MS / SECOND_MS;
export const IDLE_SESSION_DAYS = 7;
/** How old a session may be before using it makes it last longer. */
const SESSION_RENEWAL_SECONDS = DAY_SECONDS;

const BASE_PATH = "/auth";
/** Set by us on every request inside, so that nobody outside can. */
const ADDRESS_HEADER = "x-ringback-client-address";

export interface AuthDeps extends AccountsDeps {
	log: Log;
	publicUrl: string;
}

/** What of a visitor's request better-auth has to see. */
export interface Visitor {
	cookies: string;
	address: string;
	userAgent: string;
	/** The device cookie, as it came; empty when there was none. See people/signed-cookies. */
	device: string;
}

export interface AuthAnswer {
	status: number;
	/** better-auth's word for what is wrong. */
	code: string | null;
	body: unknown;
	/** To be handed on to the visitor's browser, whole. */
	setCookies: readonly string[];
}

export interface AuthSession {
	id: string;
	token: string;
	personPublicId: string;
	hasAuthenticator: boolean;
	createdAtMs: number;
	lastUsedAtMs: number;
	address: string;
	userAgent: string;
}

export interface Auth {
	post(path: string, body: object, visitor: Visitor): Promise<AuthAnswer>;
	findSession(visitor: Visitor): Promise<{ session: AuthSession; setCookies: readonly string[] } | null>;
	/** Of the person whose session the visitor has; the newest first. */
	listSessions(visitor: Visitor): Promise<AuthSession[]>;
	/** Whose second step the visitor is at; null without a first one. */
	findChallenge(visitor: Visitor): Promise<string | null>;
	hashPassword(password: string): Promise<string>;
	/** For a session that we gave another token. */
	sessionCookies(token: string, visitor: Visitor): Promise<readonly string[]>;
	isPassword(email: string, password: string): Promise<boolean>;
}

export function createAuth(deps: AuthDeps): Auth {
	const auth = betterAuth(authOptions(deps));
	const origin = new URL(deps.publicUrl).origin;
	return {
		async post(path, body, visitor) {
			const headers = new Headers({ "content-type": "application/json", origin });
			for (const [name, value] of visitorHeaders(visitor)) headers.set(name, value);
			const request = new Request(`${origin}${BASE_PATH}${path}`, {
				method: "POST",
				headers,
				body: JSON.stringify(body),
			});
			return readAnswer(await auth.handler(request), path);
		},
		async findSession(visitor) {
			const headers = visitorHeaders(visitor);
			const found = await auth.api.getSession({ headers, returnHeaders: true }).catch(async (error) => {
				// It keeps to itself what failed. If it was the database, any question shows it.
				await sql`select 1`.execute(deps.store.db);
				throw error;
			});
			if (found.response === null) return null;
			const { session, user } = found.response;
			if (isOver(session, deps.clock.nowMs())) {
				await endSession(deps.store.db, session.token);
				return null;
			}
			return { session: describeSession(session, user), setCookies: found.headers.getSetCookie() };
		},
		async listSessions(visitor) {
			const headers = visitorHeaders(visitor);
			const own = await auth.api.getSession({ headers });
			if (own === null) return [];
			const sessions = await auth.api.listSessions({ headers });
			const nowMs = deps.clock.nowMs();
			return sessions
				.filter((session) => !isOver(session, nowMs))
				.map((session) => describeSession(session, own.user))
				.sort((one, other) => other.lastUsedAtMs - one.lastUsedAtMs);
		},
		async findChallenge(visitor) {
			return (await auth.api.findChallenge({ headers: visitorHeaders(visitor) })).personPublicId;
		},
		async isPassword(email, password) {
			const hash = await findPasswordHash(deps.store.db, email);
			if (hash === undefined) return false;
			return (await auth.$context).password.verify({ hash, password });
		},
		async hashPassword(password) {
			return (await auth.$context).password.hash(password);
		},
		async sessionCookies(token, visitor) {
			const options = { body: { token }, headers: visitorHeaders(visitor), returnHeaders: true } as const;
			return (await auth.api.handOverSession(options)).headers.getSetCookie();
		},
	};
}

/**
 * Exported for the test that holds our tables against what better-auth asks for. It takes no clock: sessions and
 * authenticator codes go by this machine's.
 */
export function authOptions({ store, random, sealingKey, log, publicUrl }: AuthDeps) {
	return {
		appName: "Ringback",
		baseURL: new URL(publicUrl).origin,
		basePath: BASE_PATH,
		secret: deriveSecret(sealingKey),
		// Its Kysely is typed for any tables; ours for these.
		database: { db: store.db as never, type: store.kind },
		user: { modelName: "auth_users" },
		account: { modelName: "auth_accounts" },
		verification: { modelName: "auth_verifications", storeIdentifier: "hashed" as const },
		session: {
			modelName: "auth_sessions",
			expiresIn: IDLE_SESSION_DAYS * DAY_SECONDS,
			updateAge: SESSION_RENEWAL_SECONDS,
			// Our own rule decides when an old session is asked for the password: see domain/recent-password.
			freshAge: 0,
			// A cached session would still be good after it was revoked.
			cookieCache: { enabled: false },
		},
		emailAndPassword: {
			enabled: true,
			disableSignUp: true,
			minPasswordLength: MIN_PASSWORD_LENGTH,
			maxPasswordLength: MAX_PASSWORD_LENGTH,
		},
		// What they would change belongs in a transaction of ours: see accept-link, passwords and authenticator.
		disabledPaths: ["/request-password-reset", "/reset-password", "/change-password", "/two-factor/disable"],
		// Our own (people/limits) count before a password is judged, and write nothing for whoever is refused.
		rateLimit: { enabled: false },
		databaseHooks: { session: { create: { before: keepSignInTime } } },
		advanced: {
			cookiePrefix: "ringback",
			useSecureCookies: areCookiesSecure(publicUrl),
			ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
		},
		plugins: [
			twoFactor({
				issuer: "Ringback",
				twoFactorTable: "auth_two_factors",
				// It counts after judging: many codes sent at once would all be judged.
				accountLockout: { enabled: false },
				backupCodeOptions: { customBackupCodesGenerate: () => makeBackupCodes(random) },
			}),
			ownEndpoints(),
		],
		telemetry: { enabled: false },
		// Its messages, never its details: those may hold what people typed.
		logger: { level: "error" as const, log: (_level: string, message: string) => log.error({}, message) },
		onAPIError: {
			// Refusals are answers; everything else is ours to report, as with any other page.
			onError: (error: unknown) => {
				if (!isAPIError(error)) throw error;
			},
		},
	};
}

/** Only for calls from inside: they have no path. */
function ownEndpoints() {
	return {
		id: "ringback",
		endpoints: { handOverSession, findChallenge },
	} satisfies BetterAuthPlugin;
}

const handOverSession = createAuthEndpoint.serverOnly(
	{ method: "POST", body: z.object({ token: z.string() }) },
	async (ctx) => {
		const found = await ctx.context.internalAdapter.findSession(ctx.body.token);
		if (found === null) throw new Error("a session that is not there");
		await setSessionCookie(ctx, found);
		return ctx.json({});
	},
);

/** Reads the cookie of the second step as better-auth does, without using it up. */
const findChallenge = createAuthEndpoint.serverOnly({ method: "GET", requireHeaders: true }, async (ctx) => {
	const { name } = ctx.context.createAuthCookie("two_factor");
	const cookie = await ctx.getSignedCookie(name, ctx.context.secret);
	const found = cookie ? await ctx.context.internalAdapter.findVerificationValue(cookie) : null;
	return { personPublicId: found?.value ?? null };
});

function makeBackupCodes({ bytes }: Random): string[] {
	return Array.from({ length: BACKUP_CODES }, () => makeBackupCode(bytes));
}

interface WithSession {
	session: { session: { createdAt: Date } } | null;
}

/** A session that takes the place of one in use is no new sign-in: the thirty days go on. */
async function keepSignInTime(_made: object, ctx: { context: WithSession } | null) {
	const before = ctx?.context.session?.session;
	return before === undefined ? undefined : { data: { createdAt: before.createdAt } };
}

function isOver({ createdAt }: { createdAt: Date }, nowMs: number): boolean {
	return nowMs - createdAt.getTime() >= MAX_SESSION_DAYS * DAY_MS;
}

/** Signs cookies and seals authenticator secrets: a key of its own, so that neither can be used for the other. */
function deriveSecret(sealingKey: Uint8Array): string {
	return Buffer.from(hkdfSync("sha256", sealingKey, "", "ringback sign-in", 32)).toString("hex");
}

function visitorHeaders({ cookies, address, userAgent }: Visitor): Headers {
	const headers = new Headers({ [ADDRESS_HEADER]: address });
	if (cookies !== "") headers.set("cookie", cookies);
	if (userAgent !== "") headers.set("user-agent", userAgent);
	return headers;
}

/** A field of the two-factor plugin, which its types do not carry through. */
const USER = z.object({ twoFactorEnabled: z.boolean().nullish() });
const REFUSAL = z.object({ code: z.string().optional() });

async function readAnswer(response: Response, path: string): Promise<AuthAnswer> {
	const text = await response.text();
	const body: unknown = text === "" ? null : JSON.parse(text);
	if (response.status >= 500) throw new Error(`better-auth answered ${response.status} to ${path}`);
	const refusal = response.ok ? undefined : REFUSAL.safeParse(body).data;
	return {
		status: response.status,
		code: refusal?.code ?? null,
		body,
		setCookies: response.headers.getSetCookie(),
	};
}

function describeSession(session: Session, user: object): AuthSession {
	return {
		id: session.id,
		token: session.token,
		personPublicId: session.userId,
		hasAuthenticator: USER.parse(user).twoFactorEnabled === true,
		createdAtMs: session.createdAt.getTime(),
		lastUsedAtMs: session.updatedAt.getTime(),
		address: session.ipAddress ?? "",
		userAgent: session.userAgent ?? "",
	};
}
