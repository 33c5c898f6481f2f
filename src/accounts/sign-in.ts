// Signing in and out: e-mail and password, then a code for those who have an authenticator. An unknown e-mail
// is answered like a wrong password, and takes as long.

import { z } from "zod";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { sha256Hex } from "../domain/signature.ts";
import { noteAudit } from "../store/audit.ts";
import { findPersonByEmail, findPersonByPublicId, type Person } from "../store/people.ts";
import { endChallenges, endSession, findPasswordHash, spendCode } from "../store/sign-in.ts";
import type { Auth, AuthAnswer, AuthDeps, Visitor } from "./auth.ts";
import { faultOf, wrongCredentials } from "./auth-fault.ts";
import { forgivePassword, takePasswordTurn } from "./password-turns.ts";

export interface SignInDeps extends Pick<AuthDeps, "store" | "clock" | "log"> {
	auth: Auth;
}

export interface SignInStep {
	next: "home" | "code";
	setCookies: readonly string[];
}

/** A code is good for half a minute before and after its own; then it could not be used again anyway. */
export const CODE_LIFE_MS = 300_000;

const SIGNED_IN = z.object({ token: z.string(), user: z.object({ id: z.string() }) });
const CODE_NEEDED = z.object({ twoFactorRedirect: z.literal(true) });

export async function signIn(
	deps: SignInDeps,
	{ email, password }: { email: string; password: string },
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const credentials = { email: email.trim().toLowerCase(), password };
	const tooMany = await takePasswordTurn(deps, credentials.email, visitor.address);
	if (tooMany !== null) {
		deps.log.warn({ address: visitor.address, code: tooMany.code }, "a sign-in was refused");
		return { ok: false, fault: tooMany };
	}
	const hash = await findPasswordHash(deps.store.db, credentials.email);
	const answer = await deps.auth.post("/sign-in/email", credentials, visitor);
	if (answer.status !== 401) await forgivePassword(deps, credentials.email, visitor.address, answer.status);
	if (answer.status !== 200) {
		const fault = faultOf(answer);
		deps.log.warn({ address: visitor.address, code: fault.code }, "a sign-in was refused");
		return { ok: false, fault };
	}
	if ((await findPasswordHash(deps.store.db, credentials.email)) !== hash) {
		return refuseOldPassword(deps, credentials.email, answer);
	}
	if (CODE_NEEDED.safeParse(answer.body).success) {
		return succeed({ next: "code", setCookies: answer.setCookies });
	}
	const { token, user } = SIGNED_IN.parse(answer.body);
	const person = await requirePerson(deps, user.id);
	if (person.deactivated_at_ms !== null) return refuseDeactivated(deps, token);
	await noteAudit(deps.store.db, { personId: person.id, action: "person.signed_in" }, deps.clock.nowMs());
	return succeed({ next: "home", setCookies: answer.setCookies });
}

/** The second step: the authenticator's six digits, or one of the backup codes. Each works once. */
export async function confirmSignIn(
	deps: SignInDeps,
	text: string,
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const code = text.replace(/\s+/g, "");
	const isBackupCode = !/^\d{6}$/.test(code);
	const path = isBackupCode ? "/two-factor/verify-backup-code" : "/two-factor/verify-totp";
	const answer = await deps.auth.post(path, { code }, visitor);
	if (answer.status !== 200) {
		const fault = faultOf(answer);
		deps.log.warn({ address: visitor.address, code: fault.code }, "a sign-in code was refused");
		return { ok: false, fault };
	}
	const { token, user } = SIGNED_IN.parse(answer.body);
	const person = await requirePerson(deps, user.id);
	if (person.deactivated_at_ms !== null) return refuseDeactivated(deps, token);
	const isFresh = await deps.store.transact(async (trx) => {
		const nowMs = deps.clock.nowMs();
		if (!isBackupCode && !(await spendCode(trx, person.id, hashCode(code), nowMs, nowMs + CODE_LIFE_MS))) {
			// better-auth has let it in: whoever read the code over a shoulder must not get the session.
			await endSession(trx, token);
			return false;
		}
		await noteAudit(trx, { personId: person.id, action: "person.signed_in" }, nowMs);
		if (isBackupCode)
			await noteAudit(trx, { personId: person.id, action: "authenticator.backup_code_used" }, nowMs);
		return true;
	});
	if (isFresh) return succeed({ next: "home", setCookies: answer.setCookies });
	return refuse("code_already_used", "This code was used before. Sign in again with the next one.");
}

/** Resolves to the cookies that make the browser forget. */
export async function signOut(
	deps: SignInDeps,
	personId: number,
	visitor: Visitor,
): Promise<readonly string[]> {
	const answer = await deps.auth.post("/sign-out", {}, visitor);
	await noteAudit(deps.store.db, { personId, action: "person.signed_out" }, deps.clock.nowMs());
	return answer.setCookies;
}

/**
 * The password was changed while better-auth looked at the old one, and what it opened came too late to be ended with
 * the rest.
 */
async function refuseOldPassword(
	{ store }: SignInDeps,
	email: string,
	{ body }: AuthAnswer,
): Promise<Result<never>> {
	const signedIn = SIGNED_IN.safeParse(body);
	if (signedIn.success) await endSession(store.db, signedIn.data.token);
	const person = await findPersonByEmail(store.db, email);
	if (person !== undefined) await endChallenges(store.db, person.public_id);
	return { ok: false, fault: wrongCredentials() };
}

/** better-auth knows nothing of it, and has made a session. The same words as for a wrong password. */
async function refuseDeactivated({ store }: SignInDeps, token: string): Promise<Result<never>> {
	await endSession(store.db, token);
	return { ok: false, fault: wrongCredentials() };
}

export function hashCode(code: string): string {
	return sha256Hex(code);
}

async function requirePerson({ store }: SignInDeps, publicId: string): Promise<Person> {
	const person = await findPersonByPublicId(store.db, publicId);
	if (person === undefined) throw new Error("a session without a person");
	return person;
}
