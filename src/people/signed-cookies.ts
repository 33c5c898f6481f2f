// Two cookies that we sign and store nowhere. Neither opens anything. Both are signed together with the password's hash,
// so that a new password, however it came about, ends them all.
//
// device         a browser that has signed in to this account before. It has guesses of its own, so that strangers who
//                use up the account's do not keep the person out. Also signed with the authenticator that was on: those
//                whom the password alone let in have no guesses at its codes.
// confirmation   the password was given again in a session that is not new. A copy of the session's own cookie, made
//                before, does not profit from it; signed with the sign-in, it is worth nothing in another session.

import { areCookiesSecure, cookieName } from "../domain/cookie-name.ts";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import { findAuthenticatorId, findPasswordHash } from "../store/queries/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";
import { CONFIRMATION_MS } from "./recent-password.ts";
import { createSigner } from "./signing.ts";

export interface CookieDeps extends Pick<AccountsDeps, "store" | "clock" | "random" | "sealingKey"> {
	publicUrl: string;
}

interface SignedCookie {
	name: string;
	/** Of the key that signs it. */
	label: "devices" | "confirmations";
	/** What is signed, and the signature. */
	shape: RegExp;
	lifeMs: number;
}

const DEVICE: SignedCookie = {
	name: "device",
	label: "devices",
	shape: /^([0-9a-f]{32}\.\d{1,16})\.([\w-]{43})$/,
	// Browsers keep no cookie for longer than 400 days. Signing in makes a new one.
	lifeMs: 365 * DAY_MS,
};
const DEVICE_NAME_BYTES = 16;

const CONFIRMATION: SignedCookie = {
	name: "confirmation",
	label: "confirmations",
	shape: /^(\d{1,16})\.([\w-]{43})$/,
	lifeMs: CONFIRMATION_MS,
};

export function deviceCookieName(publicUrl: string): string {
	return cookieName(publicUrl, DEVICE.name);
}

export function confirmationCookieName(publicUrl: string): string {
	return cookieName(publicUrl, CONFIRMATION.name);
}

/** A whole Set-Cookie line, for somebody who has just shown that they are this person. */
export async function makeDeviceCookie(deps: CookieDeps, email: string): Promise<string> {
	const value = `${deps.random.hex(DEVICE_NAME_BYTES)}.${deps.clock.nowMs()}`;
	return setCookie(deps, DEVICE, value, await deviceFacts(deps, email));
}

/** The browser's name, to count by; null for one that has not signed in to this account, or not with this password. */
export async function findDevice(
	deps: Pick<CookieDeps, "store" | "clock" | "sealingKey">,
	email: string,
	cookie: string,
): Promise<string | null> {
	const value = await readCookie(deps, DEVICE, cookie, () => deviceFacts(deps, email));
	const [name, madeAtMs] = value?.split(".") ?? [];
	return name !== undefined && deps.clock.nowMs() - Number(madeAtMs) < DEVICE.lifeMs ? name : null;
}

/** One sign-in of one person. Its time stays the same where the session gets another id, as with a new authenticator. */
export interface SignInMoment {
	email: string;
	signedInAtMs: number;
}

/** A whole Set-Cookie line, for somebody who has just given their password. */
export async function makeConfirmationCookie(
	deps: Omit<CookieDeps, "random">,
	signIn: SignInMoment,
): Promise<string> {
	return setCookie(deps, CONFIRMATION, String(deps.clock.nowMs()), await confirmationFacts(deps, signIn));
}

/** When it was given; null for a cookie of another session, from before a new password, or that we did not write. */
export async function readConfirmation(
	deps: Pick<CookieDeps, "store" | "sealingKey">,
	signIn: SignInMoment,
	cookie: string,
): Promise<number | null> {
	const value = await readCookie(deps, CONFIRMATION, cookie, () => confirmationFacts(deps, signIn));
	return value === null ? null : Number(value);
}

async function deviceFacts({ store: { db } }: Pick<CookieDeps, "store">, email: string): Promise<string> {
	return JSON.stringify([email, await findPasswordHash(db, email), await findAuthenticatorId(db, email)]);
}

async function confirmationFacts(
	{ store: { db } }: Pick<CookieDeps, "store">,
	{ email, signedInAtMs }: SignInMoment,
): Promise<string> {
	return JSON.stringify([email, await findPasswordHash(db, email), signedInAtMs]);
}

function setCookie(
	{ sealingKey, publicUrl }: Pick<CookieDeps, "sealingKey" | "publicUrl">,
	cookie: SignedCookie,
	value: string,
	facts: string,
): string {
	const signature = createSigner(sealingKey, cookie.label).sign(`${value} ${facts}`);
	const secure = areCookiesSecure(publicUrl) ? "; Secure" : "";
	return `${cookieName(publicUrl, cookie.name)}=${value}.${signature}; Max-Age=${cookie.lifeMs / SECOND_MS}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

async function readCookie(
	{ sealingKey }: Pick<CookieDeps, "sealingKey">,
	{ label, shape }: SignedCookie,
	text: string,
	facts: () => Promise<string>,
): Promise<string | null> {
	const [, value, signature] = shape.exec(text) ?? [];
	if (value === undefined || signature === undefined) return null;
	return createSigner(sealingKey, label).isSignature(signature, `${value} ${await facts()}`) ? value : null;
}
