// Signs values that the service gives to browsers and reads back: session tokens, device cookies and messages
// that are shown after a form.

import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { SECOND_MS } from "../domain/time.ts";
import type { AccountsDeps } from "./deps.ts";

export interface Signer {
	sign(text: string): string;
	isSignature(signature: string, text: string): boolean;
}

/**
 * Returns a signer for one use. Each use has its own key, so a signature for one use is not valid for
 * another.
 */
export function createSigner(
	sealingKey: Uint8Array,
	use: "flash" | "devices" | "tokens" | "company sign-in",
): Signer {
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
 * Returns the full name of a cookie. Over HTTPS the name has a prefix that makes browsers refuse the cookie
 * if another host set it or if it lacks the attribute Secure. Over plain HTTP browsers would refuse every
 * cookie with this prefix.
 */
export function cookieName(publicUrl: string, name: string): string {
	return `${areCookiesSecure(publicUrl) ? "__Host-" : ""}ringback.${name}`;
}

/** Returns a Set-Cookie line. With a lifetime of 0 the browser deletes the cookie. */
export function cookieLine(publicUrl: string, name: string, value: string, lifeMs: number): string {
	const secure = areCookiesSecure(publicUrl) ? "; Secure" : "";
	return `${cookieName(publicUrl, name)}=${value}; Max-Age=${lifeMs / SECOND_MS}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

/** A cookie that contains a random token. The database has a row that says what the token gives access to. */
export interface TokenCookie {
	name: string;
	lifeMs: number;
}

type CookieDeps = Pick<AccountsDeps, "sealingKey"> & { publicUrl: string };

/** Returns the Set-Cookie line that gives the browser a token. */
export function tokenCookie(deps: CookieDeps, cookie: TokenCookie, token: string): string {
	const signature = createSigner(deps.sealingKey, "tokens").sign(`${cookie.name} ${token}`);
	return cookieLine(deps.publicUrl, cookie.name, `${token}.${signature}`, cookie.lifeMs);
}

/** Returns the Set-Cookie line that makes the browser delete its token. */
export function deletedTokenCookie({ publicUrl }: CookieDeps, { name }: TokenCookie): string {
	return cookieLine(publicUrl, name, "", 0);
}

const TOKEN_SHAPE = /^([0-9a-f]+)\.([\w-]{43})$/;

/** Returns the token from a Cookie header, or null if there is none with a valid signature of ours. */
export function readTokenCookie(
	{ sealingKey, publicUrl }: CookieDeps,
	{ name }: TokenCookie,
	cookieHeader: string,
): string | null {
	const start = `${cookieName(publicUrl, name)}=`;
	const pair = cookieHeader.split(/; */).find((part) => part.startsWith(start));
	const [, token = "", signature = ""] = TOKEN_SHAPE.exec(pair?.slice(start.length) ?? "") ?? [];
	if (token === "") return null;
	return createSigner(sealingKey, "tokens").isSignature(signature, `${name} ${token}`) ? token : null;
}
