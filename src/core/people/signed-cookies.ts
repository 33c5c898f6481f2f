// Signs values that the service gives to browsers and reads back: session tokens, device cookies and messages
// that are shown after a form.

import { createHmac, timingSafeEqual } from "node:crypto";
import { cookieUse, type KeyRing } from "../domain/key-ring.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { AccountsDeps } from "./deps.ts";

export interface Signer {
	sign(text: string): string;
	isSignature(signature: string, text: string): boolean;
}

/**
 * Returns a signer for one use. Each use has its own key, so a signature for one use is not valid for
 * another. A signature of a former key is accepted for as long as that key is kept for the use.
 */
export function createSigner(
	keyRing: Pick<KeyRing, "derive">,
	use: "flash" | "devices" | "tokens" | "company sign-in",
): Signer {
	const keys = () => keyRing.derive(cookieUse(use));
	return {
		sign: (text) => signWith(keys()[0], text),
		isSignature(signature, text) {
			const given = Buffer.from(signature);
			return keys().some((key) => {
				const right = Buffer.from(signWith(key, text));
				return given.length === right.length && timingSafeEqual(given, right);
			});
		},
	};
}

function signWith(key: Uint8Array, text: string): string {
	return createHmac("sha256", key).update(text).digest("base64url");
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

/** Cookie that contains a random token. A row in the database says what the token gives access to. */
export interface TokenCookie {
	name: string;
	lifeMs: number;
}

type CookieDeps = Pick<AccountsDeps, "keyRing"> & { publicUrl: string };

/** Returns the Set-Cookie line that gives the browser a token. */
export function tokenCookie(deps: CookieDeps, cookie: TokenCookie, token: string): string {
	const signature = createSigner(deps.keyRing, "tokens").sign(`${cookie.name} ${token}`);
	return cookieLine(deps.publicUrl, cookie.name, `${token}.${signature}`, cookie.lifeMs);
}

export function deletedTokenCookie({ publicUrl }: CookieDeps, { name }: TokenCookie): string {
	return cookieLine(publicUrl, name, "", 0);
}

const TOKEN_SHAPE = /^([0-9a-f]+)\.([\w-]{43})$/;

/** Returns the token from a Cookie header, or null if the header has no token with a valid signature. */
export function readTokenCookie(
	{ keyRing, publicUrl }: CookieDeps,
	{ name }: TokenCookie,
	cookieHeader: string,
): string | null {
	const start = `${cookieName(publicUrl, name)}=`;
	const pair = cookieHeader.split(/; */).find((part) => part.startsWith(start));
	const [, token = "", signature = ""] = TOKEN_SHAPE.exec(pair?.slice(start.length) ?? "") ?? [];
	if (token === "") return null;
	return createSigner(keyRing, "tokens").isSignature(signature, `${name} ${token}`) ? token : null;
}
