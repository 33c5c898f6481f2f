// Provides a real OpenID Connect provider on a loopback port. People sign in on its page by the name of their account
// alone. A test can change the tokens that the provider hands out, and can turn the provider off.

import { strict as assert } from "node:assert";
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { Provider } from "oidc-provider";
import type { Certificates } from "../../demo/certificate.ts";
import { portOf } from "./port-of.ts";

/** The claims of an account at the provider. */
export interface Account {
	email?: string;
	email_verified?: boolean;
}

export type ProviderState =
	| "up"
	/** Closes every connection without an answer. */
	| "down"
	/** Accepts every request and never answers. */
	| "silent"
	/** Answers every request with a 503. */
	| "failing";

export interface TestProviderOptions {
	/** Host name in the issuer. If the service has another host name, browsers treat the provider as another site. */
	host?: "127.0.0.1" | "localhost";
	/** Certificates for HTTPS. By default the provider uses plain HTTP. */
	certificates?: Certificates;
	/**
	 * True if ID tokens contain the email address. By default the service must request the address with the access
	 * token.
	 */
	isEmailInToken?: boolean;
}

export type TestProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

export const CLIENT_ID = "ringback";
export const CLIENT_SECRET = "a secret of the service at the provider";
/** Id of a client of the same provider that is not this service. */
export const OTHER_CLIENT_ID = "another-service";
const KEY_ID = "key-1";
const HOUR_SECONDS = 3_600;
/** Maximum number of redirects and forms on the way through the provider. */
const MOST_STEPS = 10;

const signingKey = makeSigningKey();

export async function startIdentityProvider({
	host = "127.0.0.1",
	certificates,
	isEmailInToken = false,
}: TestProviderOptions = {}) {
	const accounts = new Map<string, Account>();
	let provider: Provider | null = null;
	let answer: ReturnType<Provider["callback"]> | null = null;
	let state: ProviderState = "up";
	let changeClaims: Record<string, unknown> = {};
	let otherKey: string | null = null;
	const paths: string[] = [];

	const listener = (request: IncomingMessage, response: ServerResponse): void => {
		paths.push(request.url ?? "");
		if (state === "silent") return;
		if (state === "down" || provider === null || answer === null) {
			request.socket.destroy();
		} else if (state === "failing") {
			response.writeHead(503).end();
		} else if (request.url?.startsWith("/interaction/") === true) {
			void showSignIn(provider, request, response);
		} else {
			answer(request, response);
		}
	};
	const server =
		certificates === undefined
			? createServer(listener)
			: createHttpsServer({ cert: certificates.certPem, key: certificates.keyPem }, listener);
	await once(server.listen(0, "127.0.0.1"), "listening");
	const issuer = `${certificates === undefined ? "http" : "https"}://${host}:${portOf(server)}`;

	/** Replaces the ID token in the answer of the token endpoint, if a test asks for it. */
	function tamper(body: unknown): unknown {
		const isChanged = Object.keys(changeClaims).length > 0 || otherKey !== null;
		if (!isChanged || typeof body !== "object" || body === null || !("id_token" in body)) return body;
		const [, payload = ""] = String(body.id_token).split(".");
		const claims: object = JSON.parse(Buffer.from(payload, "base64url").toString());
		return { ...body, id_token: signToken({ ...claims, ...changeClaims }, otherKey ?? signingKey) };
	}

	return {
		issuer,
		/** Settings of a service that uses this provider. */
		settings: {
			RINGBACK_OIDC_ISSUER: issuer,
			RINGBACK_OIDC_CLIENT_ID: CLIENT_ID,
			RINGBACK_OIDC_CLIENT_SECRET: CLIENT_SECRET,
		},
		accounts,
		/** Addresses that were requested so far. */
		paths,
		/** Registers the service. Until then the provider refuses every request. */
		register(redirectUri: string): void {
			provider = createProvider({ issuer, redirectUri, accounts, isEmailInToken });
			provider.use(async (context, next) => {
				await next();
				if (context.path === "/token") context.body = tamper(context.body);
			});
			answer = provider.callback();
		},
		turn(to: ProviderState): void {
			state = to;
		},
		/** Replaces claims in all later ID tokens, which are signed with the provider's own key. */
		changeTokens(claims: Record<string, unknown>): void {
			changeClaims = claims;
		},
		/** Signs all later ID tokens with a key that the provider does not publish. */
		signWithOtherKey(): void {
			otherKey = makeSigningKey();
		},
		/** Ends the faults that a test has caused, so that the provider answers correctly. */
		reset(): void {
			accounts.clear();
			paths.length = 0;
			state = "up";
			changeClaims = {};
			otherKey = null;
		},
		/**
		 * Goes through the provider's pages like a browser, from the address to which the service leads. Resolves to the
		 * address to which the provider sends the browser back. If `accountId` is null, the person presses "Cancel".
		 */
		walk: (start: string, accountId: string | null) => walk(issuer, start, accountId),
		async close(): Promise<void> {
			const closed = once(server, "close");
			server.close();
			server.closeAllConnections();
			await closed;
		},
	};
}

function createProvider({
	issuer,
	redirectUri,
	accounts,
	isEmailInToken,
}: {
	issuer: string;
	redirectUri: string;
	accounts: ReadonlyMap<string, Account>;
	isEmailInToken: boolean;
}): Provider {
	const { kty, n, e, d, p, q, dp, dq, qi } = createPrivateKey(signingKey).export({ format: "jwk" });
	return new Provider(issuer, {
		clients: [
			{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [redirectUri] },
			{ client_id: OTHER_CLIENT_ID, client_secret: "another secret", redirect_uris: [redirectUri] },
		],
		jwks: { keys: [{ kty, n, e, d, p, q, dp, dq, qi, kid: KEY_ID, alg: "RS256", use: "sig" }] },
		cookies: { keys: ["a key for the provider's cookies"] },
		claims: { openid: ["sub"], email: ["email", "email_verified"] },
		conformIdTokenClaims: !isEmailInToken,
		features: { devInteractions: { enabled: false } },
		interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
		ttl: {
			AccessToken: HOUR_SECONDS,
			AuthorizationCode: 60,
			IdToken: HOUR_SECONDS,
			Interaction: HOUR_SECONDS,
			Session: HOUR_SECONDS,
			Grant: HOUR_SECONDS,
		},
		findAccount(_context, id) {
			const account = accounts.get(id);
			return account === undefined ? undefined : { accountId: id, claims: () => ({ sub: id, ...account }) };
		},
		// The provider asks nobody for their consent, like in a company that has given consent for its people.
		async loadExistingGrant({ oidc: { provider, client, session } }) {
			const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
			grant.addOIDCScope("openid email");
			await grant.save();
			return grant;
		},
	});
}

/** Shows the form for the name of an account. When the form is sent, finishes the sign-in. */
async function showSignIn(
	provider: Provider,
	request: IncomingMessage,
	response: ServerResponse,
): Promise<void> {
	if (request.method === "GET") {
		response.writeHead(200, { "content-type": "text/html" });
		response.end(FORM);
		return;
	}
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk);
	const fields = new URLSearchParams(Buffer.concat(chunks).toString());
	const accountId = fields.get("account") ?? "";
	const result = accountId === "" ? { error: "access_denied" } : { login: { accountId } };
	await provider.interactionFinished(request, response, result);
}

const FORM = `<!doctype html><html lang="en"><title>Company account</title><link rel="icon" href="data:,"><h1>Company account</h1>
<form method="post"><label>Account <input name="account"></label> <button>Sign in</button></form></html>`;

async function walk(issuer: string, start: string, accountId: string | null): Promise<string> {
	const cookies = new Map<string, string>();
	let url = start;
	let form: URLSearchParams | null = null;
	for (let step = 0; step < MOST_STEPS; step++) {
		const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
		const response: Response = await fetch(url, {
			redirect: "manual",
			headers: { cookie },
			...(form === null ? {} : { method: "POST", body: form }),
		});
		for (const line of response.headers.getSetCookie()) {
			const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
			cookies.set(name, value);
		}
		const text = await response.text();
		const location = response.headers.get("location");
		if (location === null) {
			assert.equal(response.status, 200, text);
			form = new URLSearchParams({ account: accountId ?? "" });
			continue;
		}
		form = null;
		url = new URL(location, url).href;
		if (!url.startsWith(issuer)) return url;
	}
	throw new Error(`the provider does not come to an end: ${url}`);
}

function makeSigningKey(): string {
	const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
	return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

function signToken(claims: object, key: string): string {
	const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
	const text = `${encode({ alg: "RS256", kid: KEY_ID })}.${encode(claims)}`;
	return `${text}.${sign("RSA-SHA256", Buffer.from(text), key).toString("base64url")}`;
}
