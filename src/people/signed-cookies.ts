// What only this service can have written, signed and stored nowhere: flash messages, and two cookies that
// open nothing. Both are signed together with the password's hash, so that a new password, however it came about, ends
// them all.
//
// device         a browser that has signed in to this account before. It has guesses of its own, so that strangers who
//                use up the account's do not keep the person out. Also signed with the authenticator that was on: those
//                whom the password alone let in have no guesses at its codes.
// confirmation   the password was given again in a session that is not new. A copy of the session's own cookie, made
//                before, does not profit from it; signed with the sign-in, it is worth nothing in another session.

import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../domain/time.ts";
import { findAuthenticatorId, findPasswordHash } from "../store/queries/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";

export interface Signer {
	sign(text: string): string;
	isSignature(signature: string, text: string): boolean;
}

/** A key for each use, so that a token for one is worth nothing for another. */
export function createSigner(sealingKey: Uint8Array, use: "flash" | "devices" | "confirmations"): Signer {
	const key = Buffer.from(hkdfSync("sha256", sealingKey, "", `ringback ${use}`, 32));
	const sign = (text: string): string => createHmac("sha256", key).update(text).digest("base64url");
	return {
		sign,
		isSignature(signature, text) {
			const given = Buffer.from(signature);
			const right = Buffer.from(sign(text));
			return given.length === right.length && timingSafeEqual(given, right);
		},
	};
}

export function areCookiesSecure(publicUrl: string): boolean {
	return publicUrl.startsWith("https:");
}

/**
 * Over HTTPS the prefix makes browsers refuse a cookie that another host set, or that came without Secure; over plain
 * HTTP they would refuse the prefix itself.
 */
export function cookieName(publicUrl: string, name: string): string {
	return `${areCookiesSecure(publicUrl) ? "__Host-" : ""}ringback.${name}`;
}

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
	// Long enough to set up an authenticator and look through the sessions in one visit.
	lifeMs: HOUR_MS,
};

/** Whoever signed in today is not asked for the password a second time. */
const FRESH_SIGN_IN_MS = DAY_MS;

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

/**
 * Whether the password was given recently enough to open the account: an old session may be in a browser that was left
 * open, or in somebody else's hands. A cookie of another session, or from before a new password, counts for nothing.
 */
export async function isPasswordRecent(
	deps: Pick<CookieDeps, "store" | "clock" | "sealingKey">,
	signIn: SignInMoment,
	cookie: string,
): Promise<boolean> {
	const nowMs = deps.clock.nowMs();
	if (nowMs - signIn.signedInAtMs < FRESH_SIGN_IN_MS) return true;
	const value = await readCookie(deps, CONFIRMATION, cookie, () => confirmationFacts(deps, signIn));
	return value !== null && nowMs - Number(value) < CONFIRMATION.lifeMs;
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
