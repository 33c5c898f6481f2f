// The device cookie marks a browser that has signed in to an account before. It gives no access. It only
// gives the browser a separate limit on wrong passwords and codes, so that strangers who use up the account's
// limit cannot lock the person out. The signature covers the password's hash and the authenticator. A new
// password or authenticator therefore invalidates the cookie, and nothing needs to be stored.

import { DAY_MS } from "../domain/time.ts";
import { findActiveAuthenticatorSecret } from "../store/queries/authenticators.ts";
import { findPasswordHash } from "../store/queries/passwords.ts";
import type { Db } from "../store/store.ts";
import type { AccountsDeps } from "./deps.ts";
import { cookieLine, cookieName, createSigner } from "./signed-cookies.ts";

export type DeviceDeps = Pick<AccountsDeps, "store" | "clock" | "sealingKey">;

const NAME = "device";
/** Form of the cookie: the browser's id, the time, and the signature over both. */
const SHAPE = /^(([0-9a-f]{32})\.(\d{1,16}))\.([\w-]{43})$/;
const ID_BYTES = 16;
/**
 * Lifetime of the cookie. Browsers store no cookie for longer than 400 days, and each sign-in makes a new
 * one.
 */
const LIFE_MS = 365 * DAY_MS;

export function deviceCookieName(publicUrl: string): string {
	return cookieName(publicUrl, NAME);
}

/**
 * Returns the Set-Cookie line for a person who has just signed in. It must be called in the same transaction,
 * so that the cookie is never signed with a password that changes a moment later.
 */
export async function makeDeviceCookie(
	trx: Db,
	{ clock, random, sealingKey, publicUrl }: Omit<AccountsDeps, "store"> & { publicUrl: string },
	email: string,
): Promise<string> {
	const value = `${random.hex(ID_BYTES)}.${clock.nowMs()}`;
	const signature = createSigner(sealingKey, "devices").sign(`${value} ${await credentialsOf(trx, email)}`);
	return cookieLine(publicUrl, NAME, `${value}.${signature}`, LIFE_MS);
}

/**
 * Returns the browser's id if the cookie is valid for this account and its present password and
 * authenticator, otherwise null.
 */
export async function findDevice(
	{ store, clock, sealingKey }: DeviceDeps,
	email: string,
	cookie: string,
): Promise<string | null> {
	const [, value, id = "", madeAtMs, signature = ""] = SHAPE.exec(cookie) ?? [];
	if (value === undefined || clock.nowMs() - Number(madeAtMs) >= LIFE_MS) return null;
	const text = `${value} ${await credentialsOf(store.db, email)}`;
	return createSigner(sealingKey, "devices").isSignature(signature, text) ? id : null;
}

async function credentialsOf(db: Db, email: string): Promise<string> {
	return JSON.stringify([
		email,
		await findPasswordHash(db, email),
		await findActiveAuthenticatorSecret(db, email),
	]);
}
