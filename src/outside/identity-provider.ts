// Talks to the company's identity provider over OpenID Connect. The operator chooses the provider, so the provider may
// have a private address, unlike a shop. Its certificate is checked against the same authorities as a shop's.

import { getCACertificates } from "node:tls";
import * as oidc from "openid-client";
import { Agent, fetch, Response } from "undici";
import { HOUR_MS, SECOND_MS } from "#core/domain/time.ts";
import type { Identity, IdentityProvider, ProviderAnswer } from "#core/ports.ts";
import { createCachedValue } from "../concurrency/cached-value.ts";

export interface IdentityProviderOptions {
	issuer: string;
	clientId: string;
	clientSecret: string;
	/** Certificate authorities in PEM form that are trusted in addition to Node's roots. */
	trustedCa?: string | undefined;
	deadlineMs?: number | undefined;
}

/**
 * Time for all requests of one step of a sign-in. The person's browser gets an answer within five seconds, like
 * every other caller.
 */
const DEADLINE_MS = 4 * SECOND_MS;
/** Time after which the provider's description of itself is read again. */
const DESCRIPTION_FRESH_MS = HOUR_MS;
/** Maximum size of an answer. The largest answer, the list of the provider's keys, has a few kilobytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_REASON_LENGTH = 500;

/** Error if the provider's description of itself could not be read, or is not that of the configured provider. */
class DescriptionError extends Error {}
class DeadlineError extends Error {}

export function createIdentityProvider(options: IdentityProviderOptions): IdentityProvider {
	const { issuer, clientId, clientSecret, trustedCa, deadlineMs = DEADLINE_MS } = options;
	const agent = new Agent({
		maxResponseSize: MAX_ANSWER_BYTES,
		connect: {
			rejectUnauthorized: true,
			// `ca` replaces the default root certificates, so they are listed again.
			...(trustedCa === undefined ? {} : { ca: [...getCACertificates("default"), trustedCa] }),
		},
	});
	const description = createCachedValue({
		clock: { monotonicMs: () => performance.now() },
		freshForMs: DESCRIPTION_FRESH_MS,
		load: readDescription,
	});

	async function readDescription(): Promise<oidc.Configuration> {
		const configuration = await oidc
			.discovery(new URL(issuer), clientId, {}, authenticateWith(clientSecret), {
				// Without this option, the library would not check the signature of an ID token that comes directly from the
				// provider.
				execute: [
					oidc.enableNonRepudiationChecks,
					...(issuer.startsWith("http:") ? [oidc.allowInsecureRequests] : []),
				],
				timeout: deadlineMs / SECOND_MS,
				[oidc.customFetch]: (url, init) =>
					fetch(url, { ...init, body: init.body ?? null, dispatcher: agent }),
			})
			.catch((error: unknown) => {
				throw new DescriptionError(`${issuer} does not describe itself`, { cause: error });
			});
		const named = configuration.serverMetadata().issuer;
		// The library accepts another issuer from providers that sign in people of any company. Such providers would let
		// strangers in.
		if (new URL(named).href !== new URL(issuer).href) {
			throw new DescriptionError(`the provider at ${issuer} calls itself ${named}`);
		}
		return configuration;
	}

	/** Runs one step of a sign-in within the deadline. A request that is abandoned ends by its own timeout. */
	async function step<Value>(
		work: (configuration: oidc.Configuration) => Promise<Value>,
	): Promise<ProviderAnswer<Value>> {
		const late = Promise.withResolvers<never>();
		const timer = setTimeout(() => late.reject(new DeadlineError("the provider is too slow")), deadlineMs);
		try {
			return { ok: true, value: await Promise.race([description.get().then(work), late.promise]) };
		} catch (error) {
			return { ok: false, problem: problemOf(error), reason: reasonOf(error) };
		} finally {
			clearTimeout(timer);
		}
	}

	return {
		issuer,
		check: () => step(async () => true as const),
		signInUrl: ({ redirectUri, state, nonce, codeVerifier }) =>
			step(async (configuration) => {
				const url = oidc.buildAuthorizationUrl(configuration, {
					redirect_uri: redirectUri,
					scope: "openid email",
					state,
					nonce,
					code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
					code_challenge_method: "S256",
				});
				return url.href;
			}),
		identify: (returnedTo, { state, nonce, codeVerifier }) =>
			step(async (configuration) => {
				const tokens = await oidc.authorizationCodeGrant(configuration, new URL(returnedTo), {
					expectedState: state,
					expectedNonce: nonce,
					pkceCodeVerifier: codeVerifier,
				});
				return readIdentity(configuration, tokens);
			}),
		close: () => agent.destroy(),
	};
}

/**
 * Sends the client's secret in a way that the provider supports. A provider that lists no way gets the secret in the
 * header, as the specification of discovery says.
 */
function authenticateWith(clientSecret: string): oidc.ClientAuth {
	const inHeader = oidc.ClientSecretBasic(clientSecret);
	const inBody = oidc.ClientSecretPost(clientSecret);
	return (server, ...request) => {
		const ways = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
		const authenticate = ways.includes("client_secret_basic") ? inHeader : inBody;
		return authenticate(server, ...request);
	};
}

/**
 * Reads the email address from the ID token. If the token has none, the address is read from the provider's UserInfo
 * endpoint.
 */
async function readIdentity(
	configuration: oidc.Configuration,
	tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
): Promise<Identity> {
	const inToken = tokens.claims();
	if (inToken === undefined) throw new Error("the provider sent no ID token");
	const isComplete = inToken["email"] !== undefined && inToken["email_verified"] !== undefined;
	const hasEndpoint = configuration.serverMetadata().userinfo_endpoint !== undefined;
	const claims =
		isComplete || !hasEndpoint
			? inToken
			: await oidc.fetchUserInfo(configuration, tokens.access_token, inToken.sub);
	const { email, email_verified: isVerified } = claims;
	return { email: typeof email === "string" ? email : null, isEmailVerified: isVerified === true };
}

function problemOf(error: unknown): "unavailable" | "declined" | "refused" {
	if (error instanceof oidc.AuthorizationResponseError) {
		return OWN_FAILURES.includes(error.error) ? "unavailable" : "declined";
	}
	return isUnavailable(error) ? "unavailable" : "refused";
}

/** Error codes by which a provider says that the provider itself has failed (RFC 6749 section 4.1.2.1). */
const OWN_FAILURES: readonly string[] = ["server_error", "temporarily_unavailable"];
/** Codes by which the library reports its own timeouts. */
const TIMEOUT_CODES: readonly (string | undefined)[] = ["OAUTH_TIMEOUT", "OAUTH_ABORT"];

function isUnavailable(error: unknown): boolean {
	if (error instanceof DescriptionError || error instanceof DeadlineError) return true;
	if (error instanceof oidc.ResponseBodyError) return error.status >= 500;
	if (error instanceof oidc.ClientError) {
		const isFailure = error.cause instanceof Response && error.cause.status >= 500;
		return isFailure || TIMEOUT_CODES.includes(error.code);
	}
	// This is how undici reports a failed connection.
	return error instanceof TypeError && error.message === "fetch failed";
}

/** Returns the messages of an error and of its causes. They contain no code, token or secret. */
function reasonOf(error: unknown): string {
	const messages: string[] = [];
	for (let current = error; current instanceof Error; current = current.cause) {
		messages.push(current.message);
		if (current instanceof oidc.ResponseBodyError || current instanceof oidc.AuthorizationResponseError) {
			messages.push(current.error, current.error_description ?? "");
		}
	}
	return messages
		.filter((message) => message !== "")
		.join(": ")
		.slice(0, MAX_REASON_LENGTH);
}
