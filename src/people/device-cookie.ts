// The device cookie marks a browser that has signed in to an account before. It opens nothing. It gives that browser a limit
// of its own on wrong passwords and codes, so that strangers who use up the account's limit do not lock the person out.
// It is signed together with the password's hash and the authenticator that was on, so a new password or another
// authenticator ends it, and nothing needs to be stored.

import { DAY_MS } from "../domain/time.ts";
import { findActiveAuthenticatorSecret } from "../store/queries/authenticators.ts";
import { findPasswordHash } from "../store/queries/passwords.ts";
import type { Db } from "../store/store.ts";
import type { AccountsDeps } from "./deps.ts";
import { cookieLine, cookieName, createSigner } from "./signed-cookies.ts";

export type DeviceDeps = Pick<AccountsDeps, "store" | "clock" | "sealingKey">;

const NAME = "device";
/** The signed value (the browser's id and the time), and the signature. */
const SHAPE = /^(([0-9a-f]{32})\.(\d{1,16}))\.([\w-]{43})$/;
const ID_BYTES = 16;
/** Browsers store no cookie for longer than 400 days. Each sign-in makes a new one. */
const LIFE_MS = 365 * DAY_MS;

export function deviceCookieName(publicUrl: string): string {
	return cookieName(publicUrl, NAME);
}

/**
 * Returns the Set-Cookie line for a person who has just proved who they are. It must be called in the transaction of that
 * proof, because a password that changes a moment later must not sign it.
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

/** Returns the browser's id, or null if it has not signed in to this account with its present password and authenticator. */
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
