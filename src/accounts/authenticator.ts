// The optional authenticator (TOTP): set up with the password, on only after a code has shown that it works.

import { z } from "zod";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { spendCode } from "../store/sign-in.ts";
import type { Visitor } from "./auth.ts";
import { faultOf } from "./auth-fault.ts";
import { CODE_LIFE_MS, hashCode, type SignInDeps } from "./sign-in.ts";

export interface AuthenticatorSetup {
	/** otpauth://… for the app; holds the secret. */
	uri: string;
	/** Shown this once. */
	backupCodes: readonly string[];
}

const ENABLED = z.object({ totpURI: z.string(), backupCodes: z.array(z.string()) });

export async function beginAuthenticator(
	{ auth }: Pick<SignInDeps, "auth">,
	password: string,
	visitor: Visitor,
): Promise<Result<AuthenticatorSetup>> {
	// better-auth would put the new secret in the old one's place at once, before any code has proved it.
	if ((await auth.findSession(visitor))?.session.hasAuthenticator === true) {
		return refuse("authenticator_already_on", "The authenticator is on already. Turn it off first.");
	}
	const answer = await auth.post("/two-factor/enable", { password }, visitor);
	if (answer.status !== 200) return { ok: false, fault: faultOf(answer) };
	const { totpURI, backupCodes } = ENABLED.parse(answer.body);
	return succeed({ uri: totpURI, backupCodes });
}

/** Resolves to the session's new cookies. */
export async function confirmAuthenticator(
	{ auth, store, clock }: SignInDeps,
	personId: number,
	text: string,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	if ((await auth.findSession(visitor))?.session.hasAuthenticator === true) {
		return refuse("authenticator_already_on", "The authenticator is on already. Nothing is left to do.");
	}
	const code = text.replace(/\s+/g, "");
	const answer = await auth.post("/two-factor/verify-totp", { code }, visitor);
	if (answer.status !== 200) return { ok: false, fault: faultOf(answer) };
	await store.transact(async (trx) => {
		const nowMs = clock.nowMs();
		// Seen on this screen just now: it must not open the next sign-in.
		await spendCode(trx, personId, hashCode(code), nowMs, nowMs + CODE_LIFE_MS);
		await noteAudit(trx, { personId, action: "authenticator.turned_on" }, nowMs);
	});
	return succeed(answer.setCookies);
}

/** Resolves to the session's new cookies. */
export async function disableAuthenticator(
	{ auth, store, clock }: SignInDeps,
	personId: number,
	password: string,
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	const answer = await auth.post("/two-factor/disable", { password }, visitor);
	if (answer.status !== 200) return { ok: false, fault: faultOf(answer) };
	await noteAudit(store.db, { personId, action: "authenticator.turned_off" }, clock.nowMs());
	return succeed(answer.setCookies);
}
