// What only this service can have written, signed and stored nowhere: form tokens, flash messages, and the device cookie
// of a browser that has signed in to an account before. That one opens nothing and has guesses of its own, so that
// strangers who use up the account's do not keep the person out. It is signed with the password's hash and the
// authenticator that was on: a new password ends it, and those whom the password alone let in have no guesses at codes.

import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { DAY_MS, SECOND_MS } from "../domain/time.ts";
import { findAuthenticatorId, findPasswordHash } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { AccountsDeps } from "./deps.ts";

export interface Signer {
	sign(text: string): string;
	isSignature(signature: string, text: string): boolean;
}

/** A key for each use, so that a token for one is worth nothing for another. */
export function createSigner(sealingKey: Uint8Array, use: "forms" | "flash" | "devices"): Signer {
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

export type DeviceDeps = Pick<AccountsDeps, "store" | "clock" | "sealingKey">;

/** What is signed, and the signature. */
const DEVICE_SHAPE = /^(([0-9a-f]{32})\.(\d{1,16}))\.([\w-]{43})$/;
const DEVICE_NAME_BYTES = 16;
/** Browsers keep no cookie for longer than 400 days. Signing in makes a new one. */
const DEVICE_LIFE_MS = 365 * DAY_MS;

export function deviceCookieName(publicUrl: string): string {
	return cookieName(publicUrl, "device");
}

/**
 * A whole Set-Cookie line, for somebody who has just shown that they are this person. In that transaction: a password
 * that changes a moment later must not have signed it.
 */
export async function makeDeviceCookie(
	trx: Db,
	{ clock, random, sealingKey, publicUrl }: Omit<AccountsDeps, "store"> & { publicUrl: string },
	email: string,
): Promise<string> {
	const value = `${random.hex(DEVICE_NAME_BYTES)}.${clock.nowMs()}`;
	const signature = createSigner(sealingKey, "devices").sign(`${value} ${await factsOf(trx, email)}`);
	const secure = areCookiesSecure(publicUrl) ? "; Secure" : "";
	return `${deviceCookieName(publicUrl)}=${value}.${signature}; Max-Age=${DEVICE_LIFE_MS / SECOND_MS}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

/** The browser's name, to count by; null for one that has not signed in to this account, or not with this password. */
export async function findDevice(
	{ store, clock, sealingKey }: DeviceDeps,
	email: string,
	cookie: string,
): Promise<string | null> {
	const [, value, name = "", madeAtMs, signature = ""] = DEVICE_SHAPE.exec(cookie) ?? [];
	if (value === undefined || clock.nowMs() - Number(madeAtMs) >= DEVICE_LIFE_MS) return null;
	const text = `${value} ${await factsOf(store.db, email)}`;
	return createSigner(sealingKey, "devices").isSignature(signature, text) ? name : null;
}

async function factsOf(db: Db, email: string): Promise<string> {
	return JSON.stringify([email, await findPasswordHash(db, email), await findAuthenticatorId(db, email)]);
}
