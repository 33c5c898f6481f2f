// better-auth on our own tables: passwords, sessions, authenticator codes and their limits. Its HTTP routes are
// not mounted; our pages call them from inside, so that its checks and limits hold. The only file that knows it.

import { hkdfSync } from "node:crypto";
import { betterAuth } from "better-auth";
import { createAuthEndpoint, isAPIError } from "better-auth/api";
import { setSessionCookie } from "better-auth/cookies";
import { twoFactor } from "better-auth/plugins";
import { z } from "zod";
import type { Log } from "../ports.ts";
import type { AccountsDeps } from "./deps.ts";

export const MIN_PASSWORD_LENGTH = 10;
/** scrypt reads all of it: a book must not be a way to keep the machine busy. */
export const MAX_PASSWORD_LENGTH = 128;
const SESSION_SECONDS = 7 * 86_400;
/** How old a session may be before using it makes it last longer. */
const SESSION_RENEWAL_SECONDS = 86_400;
/** For each address and kind of request. The window begins anew with each that is let through. */
const LIMIT = { window: 60, max: 60 };
/** A person mistypes a few times a minute; a program that guesses would not be content with it. */
const SIGN_IN_LIMIT = { window: 60, max: 10 };
/** Five go with one sign-in. What keeps codes from being guessed is the account's own lock, below. */
const CODE_LIMIT = { window: 10, max: 10 };
const CODE_LOCK = { maxFailedAttempts: 10, durationSeconds: 15 * 60 };
export const CODE_LOCK_MINUTES = CODE_LOCK.durationSeconds / 60;

const BASE_PATH = "/auth";
/** Set by us on every request inside, so that nobody outside can. */
const ADDRESS_HEADER = "x-ringback-client-address";

export interface AuthDeps extends Pick<AccountsDeps, "store" | "clock" | "sealingKey"> {
	log: Log;
	publicUrl: string;
}

/** What of a visitor's request better-auth has to see. */
export interface Visitor {
	cookies: string;
	address: string;
	userAgent: string;
}

export interface AuthAnswer {
	status: number;
	/** better-auth's word for what is wrong. */
	code: string | null;
	body: unknown;
	/** To be handed on to the visitor's browser, whole. */
	setCookies: readonly string[];
	/** With a 429 of a limit; null where only a lock's end is waited for. */
	retryAfterSeconds: number | null;
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
	hashPassword(password: string): Promise<string>;
	/** For a session that we gave another token. */
	sessionCookies(token: string, visitor: Visitor): Promise<readonly string[]>;
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
			const found = await auth.api.getSession({ headers: visitorHeaders(visitor), returnHeaders: true });
			if (found.response === null) return null;
			const { session, user } = found.response;
			return { session: describeSession(session, user), setCookies: found.headers.getSetCookie() };
		},
		async listSessions(visitor) {
			const headers = visitorHeaders(visitor);
			const own = await auth.api.getSession({ headers });
			if (own === null) return [];
			const sessions = await auth.api.listSessions({ headers });
			return sessions
				.map((session) => describeSession(session, own.user))
				.sort((one, other) => other.lastUsedAtMs - one.lastUsedAtMs);
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

/** Exported for the test that holds our tables against what better-auth asks for. */
export function authOptions({ store, sealingKey, log, publicUrl }: AuthDeps) {
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
			expiresIn: SESSION_SECONDS,
			updateAge: SESSION_RENEWAL_SECONDS,
			// A cached session would still be good after it was revoked.
			cookieCache: { enabled: false },
		},
		emailAndPassword: {
			enabled: true,
			disableSignUp: true,
			minPasswordLength: MIN_PASSWORD_LENGTH,
			maxPasswordLength: MAX_PASSWORD_LENGTH,
		},
		// New passwords are chosen by our own links and in our own transactions: see accept-link and passwords.
		disabledPaths: ["/request-password-reset", "/reset-password", "/change-password"],
		rateLimit: {
			enabled: true,
			storage: "database" as const,
			modelName: "auth_rate_limits",
			...LIMIT,
			customRules: {
				"/sign-in/email": SIGN_IN_LIMIT,
				"/verify-password": SIGN_IN_LIMIT,
				"/two-factor/*": CODE_LIMIT,
			},
		},
		advanced: {
			cookiePrefix: "ringback",
			useSecureCookies: publicUrl.startsWith("https:"),
			ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
		},
		plugins: [
			twoFactor({ issuer: "Ringback", twoFactorTable: "auth_two_factors", accountLockout: CODE_LOCK }),
			{ id: "ringback", endpoints: { handOverSession } },
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

/** Only for calls from inside: it has no path. */
const handOverSession = createAuthEndpoint.serverOnly(
	{ method: "POST", body: z.object({ token: z.string() }) },
	async (ctx) => {
		const found = await ctx.context.internalAdapter.findSession(ctx.body.token);
		if (found === null) throw new Error("a session that is not there");
		await setSessionCookie(ctx, found);
		return ctx.json({});
	},
);

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
		retryAfterSeconds: readSeconds(response.headers.get("x-retry-after")),
	};
}

function readSeconds(text: string | null): number | null {
	return text !== null && /^\d+$/.test(text) ? Math.max(1, Number(text)) : null;
}

function describeSession(
	session: {
		id: string;
		token: string;
		userId: string;
		createdAt: Date;
		updatedAt: Date;
		ipAddress?: string | null | undefined;
		userAgent?: string | null | undefined;
	},
	user: object,
): AuthSession {
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
