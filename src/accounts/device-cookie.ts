// The cookie of a browser that has signed in to an account before. It opens nothing: it only gives that browser
// guesses of its own, so that strangers who spend the account's do not keep the person out.
// Signed together with the password's hash, so that a new password, however it came about, ends them all; and with the
// authenticator that was on, so that those whom the password alone let in have no guesses at its codes.

import { createSigner } from "../domain/signing.ts";
import { findAuthenticatorId } from "../store/authenticator.ts";
import { findPasswordHash } from "../store/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";

export interface DeviceDeps extends Pick<AccountsDeps, "store" | "clock" | "random" | "sealingKey"> {
	publicUrl: string;
}

const DAY_SECONDS = 86_400;
/** Browsers keep no cookie for longer than 400 days. Signing in makes a new one. */
const DEVICE_SECONDS = 365 * DAY_SECONDS;
const NAME_BYTES = 16;
const COOKIE = /^([0-9a-f]{32})\.(\d{1,16})\.([\w-]{43})$/;

export function deviceCookieName(publicUrl: string): string {
	return publicUrl.startsWith("https:") ? "__Host-ringback.device" : "ringback.device";
}

/** A whole Set-Cookie line, for somebody who has just shown that they are this person. */
export async function makeDeviceCookie(deps: DeviceDeps, email: string): Promise<string> {
	const name = deps.random.hex(NAME_BYTES);
	const madeAtMs = deps.clock.nowMs();
	const signature = createSigner(deps.sealingKey, "devices").sign(
		await signedText(deps, email, name, madeAtMs),
	);
	const secure = deps.publicUrl.startsWith("https:") ? "; Secure" : "";
	return `${deviceCookieName(deps.publicUrl)}=${name}.${madeAtMs}.${signature}; Max-Age=${DEVICE_SECONDS}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

/** The browser's name, to count by; null for one that has not signed in to this account, or not with this password. */
export async function findDevice(
	deps: Pick<DeviceDeps, "store" | "clock" | "sealingKey">,
	email: string,
	cookie: string,
): Promise<string | null> {
	const [, name, madeAt, signature] = COOKIE.exec(cookie) ?? [];
	if (name === undefined || signature === undefined) return null;
	const madeAtMs = Number(madeAt);
	if (deps.clock.nowMs() - madeAtMs >= DEVICE_SECONDS * 1_000) return null;
	const text = await signedText(deps, email, name, madeAtMs);
	return createSigner(deps.sealingKey, "devices").isSignature(signature, text) ? name : null;
}

async function signedText(
	{ store }: Pick<DeviceDeps, "store">,
	email: string,
	name: string,
	madeAtMs: number,
): Promise<string> {
	const passwordHash = (await findPasswordHash(store.db, email)) ?? null;
	return JSON.stringify([email, name, madeAtMs, passwordHash, await findAuthenticatorId(store.db, email)]);
}
