// The device cookie marks a browser that has signed in to an account before. It gives no access. It only
// gives the browser a separate limit on wrong passwords and codes, so that strangers who use up the account's
// limit cannot lock the person out. The signature covers the password's hash and the authenticator. A new
// password or authenticator therefore invalidates the cookie, and nothing needs to be stored.
//
// A browser gets an id of its own only by a sign-in with the password and the code. Otherwise somebody who lacks one of
// them could get another id again and again, each with new guesses.

import { DAY_MS } from "../domain/time.ts";
import { findActiveAuthenticatorSecret } from "../store/queries/authenticators.ts";
import { findPasswordHash } from "../store/queries/passwords.ts";
import type { Db, Store } from "../store/store.ts";
import type { AccountsDeps } from "./deps.ts";
import { cookieLine, cookieName, createSigner } from "./signed-cookies.ts";

export interface DeviceDeps extends Pick<AccountsDeps, "clock" | "keyRing"> {
	store: Pick<Store, "db">;
}

const NAME = "device";
/** Form of the cookie's value, which consists of the browser's id, the time, and the signature of both. */
const SHAPE = /^(([0-9a-f]{32})\.(\d{1,16}))\.([\w-]{43})$/;
const ID_BYTES = 16;
/** Lifetime of the cookie. Browsers keep no cookie for longer than 400 days, and each sign-in makes a new one. */
const LIFE_MS = 365 * DAY_MS;

export function deviceCookieName(publicUrl: string): string {
	return cookieName(publicUrl, NAME);
}

/**
 * Returns the Set-Cookie line for a browser in which the person is signed in. It must be called in the transaction of the
 * sign-in or change, so that the cookie is never signed with a password that changes a moment later.
 */
export async function makeDeviceCookie(
	trx: Db,
	{ clock, keyRing, publicUrl }: Pick<AccountsDeps, "clock" | "keyRing"> & { publicUrl: string },
	email: string,
	id: string,
): Promise<string> {
	const value = `${id}.${clock.nowMs()}`;
	const signature = createSigner(keyRing, "devices").sign(`${value} ${await credentialsOf(trx, email)}`);
	return cookieLine(publicUrl, NAME, `${value}.${signature}`, LIFE_MS);
}

/** Returns a new id, for a person who has just entered their password and, if they have an authenticator, a code. */
export function makeDeviceId({ random }: Pick<AccountsDeps, "random">): string {
	return random.hex(ID_BYTES);
}

/**
 * Returns the id shared by all browsers of a person that have no id of their own, because the person signed in at the
 * company's provider or the browser lost its cookie.
 */
export function sharedDeviceId({ keyRing }: Pick<AccountsDeps, "keyRing">, email: string): string {
	const signature = createSigner(keyRing, "devices").sign(`shared ${email}`);
	return Buffer.from(signature, "base64url").subarray(0, ID_BYTES).toString("hex");
}

/**
 * Returns the browser's id if the cookie is valid for this account and its present password and
 * authenticator, otherwise null.
 */
export async function findDevice(
	{ store, clock, keyRing }: DeviceDeps,
	email: string,
	cookie: string,
): Promise<string | null> {
	const [, value, id = "", madeAtMs, signature = ""] = SHAPE.exec(cookie) ?? [];
	if (value === undefined || clock.nowMs() - Number(madeAtMs) >= LIFE_MS) return null;
	const text = `${value} ${await credentialsOf(store.db, email)}`;
	return createSigner(keyRing, "devices").isSignature(signature, text) ? id : null;
}

async function credentialsOf(db: Db, email: string): Promise<string> {
	return JSON.stringify([
		email,
		await findPasswordHash(db, email),
		await findActiveAuthenticatorSecret(db, email),
	]);
}
