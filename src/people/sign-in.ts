// Signing in and out: e-mail and password, then a code for those who have an authenticator. An unknown e-mail
// is answered like a wrong password, and takes as long.

import { z } from "zod";
import { type Result, type refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { lockLinks } from "../store/queries/links.ts";
import { findPersonByEmail, findPersonByPublicId, type Person } from "../store/queries/people.ts";
import { endChallenges, endOldChallenges, endSession, findPasswordHash } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { Auth, AuthAnswer, AuthDeps, Visitor } from "./auth.ts";
import { codeStepOver, refusalOf, wrongCredentials } from "./auth-fault.ts";
import { codeAlreadyUsed, tryCode, useNetworkForCode } from "./code-limits.ts";
import { withPasswordLimit } from "./password-limits.ts";
import { makeDeviceCookie } from "./signed-cookies.ts";

export interface SignInDeps extends AuthDeps {
	auth: Auth;
}

type Refusal = ReturnType<typeof refuse>;

export interface SignInStep {
	next: "home" | "code";
	setCookies: readonly string[];
}

/**
 * So many sign-ins of one account may wait for their code; one more ends the oldest. Were it refused instead, whoever
 * knows the password could keep all of them open and the person out.
 */
const MAX_OPEN_CHALLENGES = 5;

const SIGNED_IN = z.object({ token: z.string(), user: z.object({ id: z.string() }) });
const CODE_NEEDED = z.object({ twoFactorRedirect: z.literal(true) });

export async function signIn(
	deps: SignInDeps,
	{ email, password }: { email: string; password: string },
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const credentials = { email: email.trim().toLowerCase(), password };
	const tried = await withPasswordLimit(deps, credentials.email, visitor, async () => {
		const hashBefore = await findPasswordHash(deps.store.db, credentials.email);
		const judged = await deps.auth.post("/sign-in/email", credentials, visitor);
		return judged.status === 200 ? succeed({ answer: judged, hash: hashBefore }) : refusalOf(judged);
	});
	if (!tried.ok) return logRefusal(deps, visitor, "a sign-in was refused", tried);
	const { answer, hash } = tried.value;
	if (!(await deps.store.transact((trx) => isStillPassword(trx, credentials.email, hash)))) {
		return refuseOldPassword(deps, credentials.email, answer);
	}
	if (CODE_NEEDED.safeParse(answer.body).success) {
		const person = await findPersonByEmail(deps.store.db, credentials.email);
		if (person !== undefined) await endOldChallenges(deps.store.db, person.public_id, MAX_OPEN_CHALLENGES);
		return succeed({ next: "code", setCookies: answer.setCookies });
	}
	const { token, user } = SIGNED_IN.parse(answer.body);
	const person = await requirePerson(deps, user.id);
	if (person.deactivated_at_ms !== null) return refuseDeactivated(deps, token);
	const note = { personId: person.id, action: "person.signed_in", address: visitor.address } as const;
	await noteAudit(deps.store.db, note, deps.clock.nowMs());
	return letIn(deps, person, answer.setCookies);
}

/** The second step: the authenticator's six digits, or one of the backup codes. Each works once. */
export async function confirmSignIn(
	deps: SignInDeps,
	text: string,
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const refuseCode = (refusal: Refusal) => logRefusal(deps, visitor, "a sign-in code was refused", refusal);
	const tooMany = await useNetworkForCode(deps, visitor);
	if (tooMany !== null) return refuseCode(tooMany);
	const publicId = await deps.auth.findChallenge(visitor);
	const person = publicId === null ? undefined : await findPersonByPublicId(deps.store.db, publicId);
	if (person === undefined) return refuseCode(codeStepOver());
	const { id: personId, email } = person;
	const hash = await findPasswordHash(deps.store.db, email);
	const holder = { personId, publicId: person.public_id, email };
	const tried = await tryCode(deps, holder, { text, accepts: "either" }, visitor);
	if (!tried.ok) return refuseCode(tried);
	const { answer, typed, spend, forgive } = tried.value;
	const { token, user } = SIGNED_IN.parse(answer.body);
	if (user.id !== person.public_id) throw new Error("a code was judged for another person's session");
	if (person.deactivated_at_ms !== null) return refuseDeactivated(deps, token);
	const refused = await deps.store.transact(async (trx) => {
		const nowMs = deps.clock.nowMs();
		// better-auth has made a session by now, which has to be ended again.
		if (!(await isStillPassword(trx, email, hash))) {
			await endSession(trx, token);
			return codeStepOver();
		}
		if (!(await spend(trx))) {
			// Whoever read the code over a shoulder must not get the session.
			await endSession(trx, token);
			return codeAlreadyUsed("Sign in again with the next one.");
		}
		await noteAudit(trx, { personId, action: "person.signed_in", address: visitor.address }, nowMs);
		if (typed.isBackupCode) {
			const note = { personId, action: "authenticator.backup_code_used" } as const;
			await noteAudit(trx, { ...note, address: visitor.address }, nowMs);
		}
		return null;
	});
	if (refused !== null) return refuseCode(refused);
	await forgive();
	return letIn(deps, person, answer.setCookies);
}

/** Resolves to the cookies that make the browser forget. */
export async function signOut(
	deps: Pick<SignInDeps, "auth" | "store" | "clock">,
	personId: number,
	visitor: Visitor,
): Promise<readonly string[]> {
	const answer = await deps.auth.post("/sign-out", {}, visitor);
	const note = { personId, action: "person.signed_out", address: visitor.address } as const;
	await noteAudit(deps.store.db, note, deps.clock.nowMs());
	return answer.setCookies;
}

/**
 * Asked after better-auth has made a session, under the lock that every change of a password holds: a change that began
 * earlier is committed and seen here; one that comes later finds the session and ends it.
 */
async function isStillPassword(trx: Db, email: string, hash: string | undefined): Promise<boolean> {
	await lockLinks(trx);
	return (await findPasswordHash(trx, email)) === hash;
}

/**
 * The password was changed while better-auth looked at the old one, and what it opened came too late to be ended with
 * the rest.
 */
async function refuseOldPassword(
	{ store }: SignInDeps,
	email: string,
	{ body }: AuthAnswer,
): Promise<Refusal> {
	const signedIn = SIGNED_IN.safeParse(body);
	if (signedIn.success) await endSession(store.db, signedIn.data.token);
	const person = await findPersonByEmail(store.db, email);
	if (person !== undefined) await endChallenges(store.db, person.public_id);
	return wrongCredentials();
}

/** After the last step, and only here, the browser gets the cookie by which it is known from now on. */
async function letIn(
	deps: SignInDeps,
	{ email }: Person,
	setCookies: readonly string[],
): Promise<Result<SignInStep>> {
	return succeed({ next: "home", setCookies: [...setCookies, await makeDeviceCookie(deps, email)] });
}

function logRefusal({ log }: SignInDeps, { address }: Visitor, what: string, refusal: Refusal): Refusal {
	log.warn({ address, code: refusal.fault.code }, what);
	return refusal;
}

/** better-auth does not know who is deactivated, and has made a session. Answered like a wrong password. */
async function refuseDeactivated({ store }: SignInDeps, token: string): Promise<Refusal> {
	await endSession(store.db, token);
	return wrongCredentials();
}

async function requirePerson({ store }: SignInDeps, publicId: string): Promise<Person> {
	const person = await findPersonByPublicId(store.db, publicId);
	if (person === undefined) throw new Error("a session without a person");
	return person;
}
