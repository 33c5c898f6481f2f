// Signing in with a password, and signing out. A person enters email and password, and then a code if they have
// an authenticator. An unknown email address gets the same answer as a wrong password, after the same time.
// Sign-in with the company's account is in company-sign-in.ts.

import { foldMailAddress } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { sha256Hex } from "../domain/signature.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { isAuthenticatorOn } from "../store/queries/authenticators.ts";
import { findPasswordHash } from "../store/queries/passwords.ts";
import { findPersonByEmail, findPersonById, type Person } from "../store/queries/people.ts";
import {
	endChallenge,
	endSession,
	findChallengedPerson,
	insertChallenge,
} from "../store/queries/sessions.ts";
import { lockAccess } from "../store/queries/sign-in-links.ts";
import { commitRefusal } from "../store/refusals.ts";
import type { Db } from "../store/store.ts";
import type { SignedInPerson } from "./actor.ts";
import { SESSION_COOKIE, type SignInDeps, startSession, type Visitor } from "./auth.ts";
import { spendCode, withCodeLimit } from "./authenticator.ts";
import type { CompanySignIn } from "./deps.ts";
import { findDevice, makeDeviceCookie, makeDeviceId, sharedDeviceId } from "./device-cookie.ts";
import { triesFrom, useLimits } from "./limits.ts";
import { checkPassword } from "./passwords.ts";
import { deletedTokenCookie, readTokenCookie, tokenCookie } from "./signed-cookies.ts";

type Refusal = ReturnType<typeof refuse>;

export interface SignInStep {
	next: "home" | "code";
	setCookies: readonly string[];
}

/** Cookie that connects the two steps of a sign-in with a code. It lasts long enough to find the phone. */
const CHALLENGE_COOKIE = { name: "challenge", lifeMs: 10 * MINUTE_MS };
const CHALLENGE_BYTES = 32;

export interface PasswordSignInDeps extends SignInDeps {
	/** Sign-in with the company's account, or null if it is not set up. */
	companySignIn: CompanySignIn | null;
}

export interface Credentials {
	email: string;
	password: string;
	/**
	 * Kind of link with which the person has just chosen this password. Left out on the sign-in page. An "operator's
	 * link" was printed by `ringback user link` or by the first start. It lets staff in even if they must use the
	 * company's account, because they need a way in when the provider is down.
	 */
	chosenWith?: "link" | "operator's link";
}

/**
 * Checks email and password under the access lock, which every change of a password takes, too. This function
 * therefore sees every earlier change, and a later change ends the session or challenge that starts here.
 */
export async function signIn(
	deps: PasswordSignInDeps,
	entered: Credentials,
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const email = foldMailAddress(entered.email);
	const isRequired = deps.companySignIn?.isRequiredForStaff === true;
	const mustUseProvider = isRequired && entered.chosenWith === undefined;
	const isBarred = mustUseProvider && (await findPersonByEmail(deps.store.db, email))?.kind === "staff";
	const checked = await checkPassword(deps, email, entered.password, visitor, { isBarred });
	const mayBeStaff = !isRequired || entered.chosenWith === "operator's link";
	const stepped = checked.ok
		? await beginSession(deps, { email, checkedHash: checked.value, mayBeStaff }, visitor)
		: checked;
	if (stepped.ok) return stepped;
	const isWrong = stepped.fault.code === "wrong_password";
	return logRefusal(deps, visitor, "a sign-in was refused", isWrong ? wrongCredentials(deps) : stepped);
}

function beginSession(
	deps: PasswordSignInDeps,
	{ email, checkedHash, mayBeStaff }: { email: string; checkedHash: string; mayBeStaff: boolean },
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	return deps.store.transact(async (trx): Promise<Result<SignInStep>> => {
		await lockAccess(trx);
		const person = await findPersonByEmail(trx, email);
		if (person === undefined || person.deactivated_at_ms !== null) return wrongCredentials(deps);
		// The password may have changed since the check, which ran outside this transaction.
		if ((await findPasswordHash(trx, email)) !== checkedHash) return wrongCredentials(deps);
		// Only a person who has just used a link gets here, so the answer does not reveal who is on the staff.
		if (person.kind === "staff" && !mayBeStaff) {
			const button = deps.companySignIn?.label;
			const text = `Staff of this network sign in with the company's account. Use the button “${button}”.`;
			return refuse("company_account_required", text);
		}
		if (!(await isAuthenticatorOn(trx, person.id))) return letIn(trx, deps, person, visitor);
		const token = deps.random.hex(CHALLENGE_BYTES);
		const expiresAtMs = deps.clock.nowMs() + CHALLENGE_COOKIE.lifeMs;
		await insertChallenge(trx, { tokenHash: sha256Hex(token), personId: person.id, expiresAtMs });
		return succeed({ next: "code", setCookies: [tokenCookie(deps, CHALLENGE_COOKIE, token)] });
	});
}

/** Checks the code of the second step, which is six digits or a backup code. Each code works only once. */
export async function confirmSignIn(
	deps: SignInDeps,
	text: string,
	visitor: Visitor,
): Promise<Result<SignInStep>> {
	const { store, clock } = deps;
	const refuseCode = (refusal: Refusal) => logRefusal(deps, visitor, "a sign-in code was refused", refusal);
	const tooMany = await useLimits(store.db, triesFrom(visitor.address), clock.nowMs());
	if (tooMany !== null) return refuseCode(tooMany);
	const token = readTokenCookie(deps, CHALLENGE_COOKIE, visitor.cookies);
	const tokenHash = token === null ? "" : sha256Hex(token);
	const personId = await findChallengedPerson(store.db, tokenHash, clock.nowMs());
	const person = personId === undefined ? undefined : await findPersonById(store.db, personId);
	if (person === undefined) return refuseCode(codeStepOver());
	const holder = { personId: person.id, email: person.email };
	const confirmed = await withCodeLimit(deps, holder, visitor, () =>
		store.transact(async (trx) => {
			await lockAccess(trx);
			// The challenge has ended if the password was changed after the first step, or if the person lost access.
			const isOpen = (await findChallengedPerson(trx, tokenHash, clock.nowMs())) === person.id;
			if (!isOpen) return codeStepOver();
			const spent = await spendCode(trx, deps, holder, text);
			if (!spent.ok && spent.fault.code === "wrong_code") return spent;
			await endChallenge(trx, tokenHash);
			// A used code ends the whole sign-in. Otherwise somebody could go on trying codes that were used already.
			if (!spent.ok) return commitRefusal(spent);
			if (spent.value.isBackupCode)
				await noteSignInAction(trx, deps, person, "authenticator.backup_code_used", visitor);
			return letIn(trx, deps, person, visitor);
		}),
	);
	if (!confirmed.ok) return refuseCode(confirmed);
	const { next, setCookies } = confirmed.value;
	return succeed({ next, setCookies: [...setCookies, deletedTokenCookie(deps, CHALLENGE_COOKIE)] });
}

/** Ends the session. Returns the Set-Cookie lines with which the browser deletes its cookies. */
export async function signOut(
	deps: Omit<SignInDeps, "log" | "auth">,
	{ personId, sessionId }: SignedInPerson,
	visitor: Visitor,
): Promise<readonly string[]> {
	await endSession(deps.store.db, sessionId);
	await noteSignInAction(deps.store.db, deps, { id: personId }, "person.signed_out", visitor);
	return [deletedTokenCookie(deps, SESSION_COOKIE)];
}

/**
 * Starts the session after the last step of signing in. Only a sign-in with a password gives the browser an id of its
 * own in the device cookie. `provider` is the issuer that vouched for the person, for the audit log, or null after a sign-in with a
 * password.
 */
export async function letIn(
	trx: Db,
	deps: SignInDeps,
	person: Person,
	visitor: Visitor,
	provider: string | null = null,
): Promise<Result<SignInStep>> {
	const sessionCookie = await startSession(trx, deps, person.id, visitor);
	await noteSignInAction(trx, deps, person, "person.signed_in", visitor, provider);
	const device = await findDevice({ ...deps, store: { db: trx } }, person.email, visitor.device);
	const otherwise = provider === null ? makeDeviceId(deps) : sharedDeviceId(deps, person.email);
	const deviceCookie = await makeDeviceCookie(trx, deps, person.email, device ?? otherwise);
	return succeed({ next: "home", setCookies: [sessionCookie, deviceCookie] });
}

function noteSignInAction(
	trx: Db,
	{ clock }: Pick<SignInDeps, "clock">,
	{ id: personId }: Pick<Person, "id">,
	action: "person.signed_in" | "person.signed_out" | "authenticator.backup_code_used",
	{ address }: Visitor,
	detail: string | null = null,
): Promise<void> {
	return noteAudit(trx, { personId, action, address, detail }, clock.nowMs());
}

/**
 * Returns the refusal of a sign-in. It is the same for everybody, so it also contains the advice for staff who use a
 * password.
 */
function wrongCredentials({ companySignIn }: Pick<PasswordSignInDeps, "companySignIn">): Refusal {
	const advice =
		companySignIn?.isRequiredForStaff === true
			? ` The network's staff sign in with the button “${companySignIn.label}”.`
			: "";
	return refuse(
		"wrong_credentials",
		`Email and password do not match. Check both, or choose a new password.${advice}`,
	);
}

function codeStepOver(): Refusal {
	return refuse("code_step_over", "This sign-in took too long. Start over.");
}

function logRefusal(
	{ log }: Pick<SignInDeps, "log">,
	{ address }: Visitor,
	message: string,
	refusal: Refusal,
): Refusal {
	log.warn({ address, code: refusal.fault.code }, message);
	return refusal;
}
