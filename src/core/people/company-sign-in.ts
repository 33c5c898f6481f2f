// Signing in with the company's account, at an identity provider over OpenID Connect. The provider vouches for a
// verified email address, and the person with that address is let in. Nobody is created. The provider is also
// trusted for the second factor, so no code of an authenticator is asked for. People of shops and partners are let in
// only if a setting says so, because the provider's administrators could otherwise decide for the shops.
//
//   start ─▶ the browser goes to the provider ─▶ it comes back with a code ─▶ finish
//
// Nothing is stored between the two steps. A cookie with a random token marks the browser. The state, the nonce
// and the PKCE verifier are computed from that token, so an answer is accepted only from the browser that started.

import { foldMailAddress, isMailAddress } from "../domain/display-name.ts";
import { type FaultCode, type Result, refuse, succeed } from "../domain/fault.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { ProviderAnswer, ProviderSignIn } from "../ports.ts";
import { hasPassword } from "../store/queries/passwords.ts";
import { findPersonByEmail } from "../store/queries/people.ts";
import { lockAccess } from "../store/queries/sign-in-links.ts";
import type { SignInDeps, Visitor } from "./auth.ts";
import type { CompanySignIn } from "./deps.ts";
import { triesFrom, useLimits } from "./limits.ts";
import { letIn } from "./sign-in.ts";
import { createSigner, deletedTokenCookie, readTokenCookie, tokenCookie } from "./signed-cookies.ts";

type Refusal = ReturnType<typeof refuse>;

export interface CompanySignInDeps extends SignInDeps {
	companySignIn: CompanySignIn;
}

/**
 * Cookie that connects the browser with its sign-in while the person is on the provider's page. It lives for minutes,
 * because the person may have to find a phone to sign in there.
 */
const COMPANY_COOKIE = { name: "company-sign-in", lifeMs: 10 * MINUTE_MS };
const TOKEN_BYTES = 32;
const ATTEMPT_BYTES = 16;
/** Maximum length of the path that is opened after the sign-in. A longer one is dropped, because providers limit the state. */
const MAX_NEXT_LENGTH = 500;
/** Form of the state: its expiry, random digits, the path to open, and the signature over these and the token. */
const STATE_SHAPE = /^((\d{1,16})\.[0-9a-f]{32}\.([\w-]*))\.([\w-]{43})$/;

/**
 * Returns the address at the identity provider to which the browser is sent. `next` is the path to open after the
 * sign-in, or empty. `redirectUri` is the address to which the provider sends the browser back.
 */
export async function startCompanySignIn(
	deps: CompanySignInDeps,
	{ next, redirectUri }: { next: string; redirectUri: string },
	visitor: Visitor,
): Promise<Result<{ url: string; setCookies: readonly string[] }>> {
	const { clock, random, companySignIn } = deps;
	// A browser that already has a token keeps it, so that sign-ins in two tabs do not disturb each other.
	const token = readTokenCookie(deps, COMPANY_COOKIE, visitor.cookies) ?? random.hex(TOKEN_BYTES);
	const shortNext = next.length > MAX_NEXT_LENGTH ? "" : next;
	const expiresAtMs = clock.nowMs() + COMPANY_COOKIE.lifeMs;
	const body = [expiresAtMs, random.hex(ATTEMPT_BYTES), Buffer.from(shortNext).toString("base64url")].join(
		".",
	);
	const attempt = attemptOf(deps, token, body, redirectUri);
	const answer = await companySignIn.provider.signInUrl(attempt);
	if (!answer.ok) return refuseAnswer(deps, visitor, answer);
	return succeed({ url: answer.value, setCookies: [tokenCookie(deps, COMPANY_COOKIE, token)] });
}

/**
 * Signs in the person whom the identity provider has identified. `query` is the query of the address that the browser
 * opened, with the question mark. Returns the path to open, or an empty string for the start page.
 */
export async function finishCompanySignIn(
	deps: CompanySignInDeps,
	{ query, redirectUri }: { query: string; redirectUri: string },
	visitor: Visitor,
): Promise<Result<{ next: string; setCookies: readonly string[] }>> {
	const { store, clock } = deps;
	const { provider, isForEveryone } = deps.companySignIn;
	const tooMany = await useLimits(store.db, triesFrom(visitor.address), clock.nowMs());
	if (tooMany !== null) return logRefusal(deps, visitor, tooMany);

	// The state must have been made for this browser, and must not have expired.
	const token = readTokenCookie(deps, COMPANY_COOKIE, visitor.cookies);
	const state = STATE_SHAPE.exec(new URLSearchParams(query).get("state") ?? "");
	const [, body = "", expiresAtMs, next = "", signature = ""] = state ?? [];
	const { isSignature } = createSigner(deps.keyRing, "company sign-in");
	const isOurs = state !== null && token !== null && isSignature(signature, `state ${token} ${body}`);
	if (!isOurs || clock.nowMs() >= Number(expiresAtMs)) {
		const text =
			"This sign-in took longer than ten minutes, or it was started in another browser. Start over.";
		return logRefusal(deps, visitor, refuse("sign_in_over", text));
	}

	const attempt = attemptOf(deps, token, body, redirectUri);
	const answer = await provider.identify(`${redirectUri}${query}`, attempt);
	if (!answer.ok) return refuseAnswer(deps, visitor, answer);
	const { email: given, isEmailVerified } = answer.value;
	// The email address must need no change, because the provider has verified exactly this text. An address with white
	// space around it is therefore refused here, although a form would remove the white space.
	if (given === null || !isEmailVerified || !isMailAddress(given)) {
		const text =
			"The company's sign-in did not confirm your email address. Ask the people who manage your company's accounts to have your address verified there, and start over.";
		return logRefusal(deps, visitor, refuse("address_not_verified", text));
	}
	const email = foldMailAddress(given);

	// The session starts while the access lock is held. A person whose access ends at the same moment is therefore either
	// refused here, or loses the session that starts here.
	const entered = await store.transact(async (trx) => {
		await lockAccess(trx);
		const person = await findPersonByEmail(trx, email);
		const isThere = person !== undefined && person.deactivated_at_ms === null;
		if (!isThere || (person.kind !== "staff" && !isForEveryone)) {
			const text = isForEveryone
				? `Nobody with the address ${email} has access here. Ask the network's staff, or an owner of your programme, to invite this address, or start over with another company account.`
				: `Nobody on the staff of this network has the address ${email}. If you are here for a shop or as a partner, sign in with your email address and your password. If you are on the staff, ask a colleague to invite this address, or start over with another company account.`;
			// Only the log says that the account exists. The page shows the same answer as for strangers.
			const reason = isThere ? NOT_ON_THE_STAFF : undefined;
			return logRefusal(deps, visitor, refuse("no_account", text), reason);
		}
		// A person without a password has not accepted their invitation yet. Accepting it gives them a name and a
		// membership.
		if (!(await hasPassword(trx, person.id))) {
			const text =
				"You are invited, but have not accepted yet. Open the link in your invitation first. If you no longer have it, ask for a new one.";
			return logRefusal(deps, visitor, refuse("not_joined_yet", text));
		}
		return letIn(trx, deps, person, visitor, provider.issuer);
	});
	if (!entered.ok) return entered;
	return succeed({
		next: Buffer.from(next, "base64url").toString(),
		setCookies: [...entered.value.setCookies, deletedTokenCookie(deps, COMPANY_COOKIE)],
	});
}

const NOT_ON_THE_STAFF =
	"This person is not on the staff. RINGBACK_OIDC_FOR=everyone would let people of shops and partners in.";

function attemptOf(
	{ keyRing }: Pick<CompanySignInDeps, "keyRing">,
	token: string,
	body: string,
	redirectUri: string,
): ProviderSignIn {
	const { sign } = createSigner(keyRing, "company sign-in");
	return {
		redirectUri,
		state: `${body}.${sign(`state ${token} ${body}`)}`,
		nonce: sign(`nonce ${token} ${body}`),
		codeVerifier: sign(`verifier ${token} ${body}`),
	};
}

type NoAnswer = Extract<ProviderAnswer<unknown>, { ok: false }>;

/** Messages for people whom the identity provider did not identify, by problem. */
const NO_ANSWER: Readonly<Record<NoAnswer["problem"], readonly [FaultCode, string]>> = {
	unavailable: [
		"provider_unavailable",
		"The company's sign-in cannot be reached at the moment, or it is not set up correctly. Try again in a few minutes. If it does not work then, tell the network's staff.",
	],
	declined: [
		"provider_declined",
		"The company's sign-in did not let you in. Start over, or ask the people who manage your company's accounts for access to this service.",
	],
	refused: [
		"provider_not_accepted",
		"The answer of the company's sign-in could not be accepted. It may have been used before. Start over. If this happens again, tell the network's staff.",
	],
};

function refuseAnswer(deps: CompanySignInDeps, visitor: Visitor, { problem, reason }: NoAnswer): Refusal {
	return logRefusal(deps, visitor, refuse(...NO_ANSWER[problem]), reason);
}

function logRefusal(
	{ log }: Pick<CompanySignInDeps, "log">,
	{ address }: Visitor,
	refusal: Refusal,
	reason?: string,
): Refusal {
	log.warn(
		{ address, code: refusal.fault.code, ...(reason === undefined ? {} : { reason }) },
		"a sign-in with the company's account was refused",
	);
	return refusal;
}
