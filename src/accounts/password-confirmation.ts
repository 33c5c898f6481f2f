// The password given again in a session that is not new, kept in a cookie and nowhere else: a copy of the session's
// own cookie, made before, does not profit from it. Signed together with the sign-in and the password's hash, so that
// it is worth nothing in another session and ends with a new password.

import { type Result, succeed } from "../domain/fault.ts";
import { CONFIRMATION_MS } from "../domain/recent-password.ts";
import { createSigner } from "../domain/signing.ts";
import { findPasswordHash } from "../store/sign-in.ts";
import type { Visitor } from "./auth.ts";
import { wrongPassword } from "./auth-fault.ts";
import { withPasswordTurn } from "./password-turns.ts";
import type { SignInDeps } from "./sign-in.ts";

type ConfirmationDeps = Pick<SignInDeps, "store" | "clock" | "sealingKey" | "publicUrl">;

/** One sign-in of one person. Its time stays the same where the session gets another id, as with a new authenticator. */
export interface SignInMoment {
	email: string;
	signedInAtMs: number;
}

const COOKIE = /^(\d{1,16})\.([\w-]{43})$/;

export function confirmationCookieName(publicUrl: string): string {
	return publicUrl.startsWith("https:") ? "__Host-ringback.confirmation" : "ringback.confirmation";
}

/** Resolves to a whole Set-Cookie line. */
export async function confirmPassword(
	deps: SignInDeps,
	signIn: SignInMoment,
	password: string,
	visitor: Visitor,
): Promise<Result<string>> {
	return withPasswordTurn(deps, signIn.email, visitor, async () => {
		if (!(await deps.auth.isPassword(signIn.email, password))) return { ok: false, fault: wrongPassword() };
		return succeed(await makeConfirmationCookie(deps, signIn));
	});
}

/** For somebody who has just given their password. */
export async function makeConfirmationCookie(deps: ConfirmationDeps, signIn: SignInMoment): Promise<string> {
	const confirmedAtMs = deps.clock.nowMs();
	const signature = createSigner(deps.sealingKey, "confirmations").sign(
		await signedText(deps, signIn, confirmedAtMs),
	);
	const secure = deps.publicUrl.startsWith("https:") ? "; Secure" : "";
	return `${confirmationCookieName(deps.publicUrl)}=${confirmedAtMs}.${signature}; Max-Age=${CONFIRMATION_MS / 1_000}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

/** When it was given; null for a cookie of another session, from before a new password, or that we did not write. */
export async function readConfirmation(
	deps: Pick<ConfirmationDeps, "store" | "sealingKey">,
	signIn: SignInMoment,
	cookie: string,
): Promise<number | null> {
	const [, confirmedAt, signature] = COOKIE.exec(cookie) ?? [];
	if (confirmedAt === undefined || signature === undefined) return null;
	const confirmedAtMs = Number(confirmedAt);
	const text = await signedText(deps, signIn, confirmedAtMs);
	return createSigner(deps.sealingKey, "confirmations").isSignature(signature, text) ? confirmedAtMs : null;
}

async function signedText(
	{ store }: Pick<ConfirmationDeps, "store">,
	{ email, signedInAtMs }: SignInMoment,
	confirmedAtMs: number,
): Promise<string> {
	const passwordHash = (await findPasswordHash(store.db, email)) ?? null;
	return JSON.stringify([email, signedInAtMs, confirmedAtMs, passwordHash]);
}
