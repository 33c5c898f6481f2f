// Signing in and out: e-mail and password, then a code for those who have an authenticator. An unknown e-mail
// is answered like a wrong password, and takes as long.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { sha256Hex } from "../domain/signature.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPersonByEmail, findPersonByPublicId, type Person } from "../store/queries/people.ts";
import {
	endChallenge,
	endSession,
	findChallenge,
	findPasswordHash,
	insertChallenge,
	isAuthenticatorOn,
} from "../store/queries/sign-in.ts";
import { lockAccess } from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import {
	readTokenCookie,
	SESSION,
	type SignInDeps,
	startSession,
	tokenCookie,
	type Visitor,
} from "./auth.ts";
import { spendCode, withCodeLimit } from "./authenticator.ts";
import { triesFrom, useLimits } from "./limits.ts";
import { checkPassword } from "./passwords.ts";
import { makeDeviceCookie } from "./signed-cookies.ts";

type Refusal = ReturnType<typeof refuse>;

export interface SignInStep {
	next: "home" | "code";
	setCookies: readonly string[];
}

/** A sign-in that waits for its code. Long enough to look for the phone. */
const CHALLENGE = { name: "two_factor", lifeMs: 10 * MINUTE_MS };
const CHALLENGE_BYTES = 32;

/**
 * Every change of a password holds the lock of the links, as this does: one that began earlier is seen here, and one that
 * comes later finds what was opened and ends it.
 */
export async function signIn(
	deps: SignInDeps,
	entered: { email: string; password: string },
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const email = entered.email.trim().toLowerCase();
	const judged = await checkPassword(deps, email, entered.password, visitor);
	const stepped = !judged.ok
		? judged
		: await deps.store.transact(async (trx): Promise<Result<SignInStep>> => {
				await lockAccess(trx);
				const person = await findPersonByEmail(trx, email);
				const isStillRight = (await findPasswordHash(trx, email)) === judged.value;
				if (person === undefined || !isStillRight || person.deactivated_at_ms !== null)
					return wrongCredentials();
				if (await isAuthenticatorOn(trx, person.public_id)) return askForCode(trx, deps, person);
				return letIn(trx, deps, person, visitor);
			});
	if (!stepped.ok) {
		const isWrong = stepped.fault.code === "wrong_password";
		return logRefusal(deps, visitor, "a sign-in was refused", isWrong ? wrongCredentials() : stepped);
	}
	return stepped;
}

/** The second step: the authenticator's six digits, or one of the backup codes. Each works once. */
export async function confirmSignIn(
	deps: SignInDeps,
	text: string,
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const { store, clock } = deps;
	const refuseCode = (refusal: Refusal) => logRefusal(deps, visitor, "a sign-in code was refused", refusal);
	const tooMany = await useLimits(store.db, triesFrom(visitor.address), clock.nowMs());
	if (tooMany !== null) return refuseCode(tooMany);
	const token = readTokenCookie(deps, CHALLENGE, visitor);
	const tokenHash = token === null ? "" : sha256Hex(token);
	const waiting = await findChallenge(store.db, tokenHash, clock.nowMs());
	const person = waiting && (await findPersonByPublicId(store.db, waiting.personPublicId));
	if (person === undefined) return refuseCode(codeStepOver());
	const holder = { personId: person.id, publicId: person.public_id, email: person.email };
	const confirmed = await withCodeLimit(deps, holder, visitor, () =>
		store.transact(async (trx) => {
			await lockAccess(trx);
			// With the password it was begun with, or the person's access, it is gone.
			const challenge = await findChallenge(trx, tokenHash, clock.nowMs());
			if (challenge === undefined) return codeStepOver();
			const spent = await spendCode(trx, deps, holder, text);
			if (!spent.ok && spent.fault.code === "wrong_code") return spent;
			await endChallenge(trx, challenge.id);
			if (!spent.ok) return spent;
			if (spent.value.isBackupCode) await note(trx, deps, person, "authenticator.backup_code_used", visitor);
			return letIn(trx, deps, person, visitor);
		}),
	);
	if (!confirmed.ok) return refuseCode(confirmed);
	const { next, setCookies } = confirmed.value;
	return succeed({ next, setCookies: [...setCookies, tokenCookie(deps, CHALLENGE)] });
}

/** Resolves to the cookies that make the browser forget. */
export async function signOut(
	deps: Omit<SignInDeps, "log" | "auth">,
	personId: number,
	visitor: Visitor,
): Promise<readonly string[]> {
	const token = readTokenCookie(deps, SESSION, visitor);
	if (token !== null) await endSession(deps.store.db, token);
	await note(deps.store.db, deps, { id: personId }, "person.signed_out", visitor);
	return [tokenCookie(deps, SESSION)];
}

async function askForCode(
	trx: Db,
	deps: SignInDeps,
	{ public_id: personPublicId }: Person,
): Promise<Result<SignInStep>> {
	const token = deps.random.hex(CHALLENGE_BYTES);
	const nowMs = deps.clock.nowMs();
	const challenge = { id: deps.random.hex(CHALLENGE_BYTES), tokenHash: sha256Hex(token), personPublicId };
	await insertChallenge(trx, challenge, { nowMs, expiresAtMs: nowMs + CHALLENGE.lifeMs });
	return succeed({ next: "code", setCookies: [tokenCookie(deps, CHALLENGE, token)] });
}

/** After the last step, and only here, the browser gets the cookie by which it is known from now on. */
async function letIn(
	trx: Db,
	deps: SignInDeps,
	person: Person,
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const cookie = await startSession(trx, deps, person.public_id, visitor);
	await note(trx, deps, person, "person.signed_in", visitor);
	return succeed({ next: "home", setCookies: [cookie, await makeDeviceCookie(trx, deps, person.email)] });
}

function note(
	trx: Db,
	{ clock }: Pick<SignInDeps, "clock">,
	{ id: personId }: Pick<Person, "id">,
	action: "person.signed_in" | "person.signed_out" | "authenticator.backup_code_used",
	{ address }: Visitor,
): Promise<void> {
	return noteAudit(trx, { personId, action, address }, clock.nowMs());
}

function wrongCredentials(): Refusal {
	return refuse(
		"wrong_credentials",
		"Email and password do not match. Check both, or choose a new password.",
	);
}

function codeStepOver(): Refusal {
	return refuse("code_step_over", "This sign-in took too long. Start over.");
}

function logRefusal({ log }: SignInDeps, { address }: Visitor, what: string, refusal: Refusal): Refusal {
	log.warn({ address, code: refusal.fault.code }, what);
	return refusal;
}
