// Choosing a password, changing it, and a new one for those who forgot theirs.

import { type Result, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { removeInvitations } from "../store/invitations.ts";
import { findPersonByEmail } from "../store/people.ts";
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH, type Visitor } from "./auth.ts";
import { faultOf, linkNotValid, passwordTooLong, passwordTooShort } from "./auth-fault.ts";
import { RESET_MAILS_TO_ONE_ADDRESS, takeTurn } from "./limits.ts";
import type { SignInDeps } from "./sign-in.ts";

export function judgePassword(password: string): Result<true> {
	if (password.length < MIN_PASSWORD_LENGTH) return { ok: false, fault: passwordTooShort() };
	if (password.length > MAX_PASSWORD_LENGTH) return { ok: false, fault: passwordTooLong() };
	return succeed(true);
}

/** Ends every other session: whoever knew the old password is out. Resolves to this one's new cookies. */
export async function changePassword(
	{ auth, store, clock }: SignInDeps,
	personId: number,
	change: { currentPassword: string; newPassword: string },
	visitor: Visitor,
): Promise<Result<readonly string[]>> {
	const answer = await auth.post("/change-password", { ...change, revokeOtherSessions: true }, visitor);
	if (answer.status !== 200) return { ok: false, fault: faultOf(answer) };
	await store.transact(async (trx) => {
		// A link that staff made for it has nothing left to do.
		await removeInvitations(trx, personId);
		await noteAudit(trx, { personId, action: "password.changed" }, clock.nowMs());
	});
	return succeed(answer.setCookies);
}

/** Answers the same whether or not anybody has this address: only a mail may tell. */
export async function requestPasswordReset(
	{ auth, store, clock }: Pick<SignInDeps, "auth" | "store" | "clock">,
	text: string,
	visitor: Visitor,
): Promise<Result<true>> {
	const email = text.trim().toLowerCase();
	// One transaction for either, so that an account costs no more time than none.
	const tooMany = await store.transact(async (trx) => {
		const nowMs = clock.nowMs();
		const refusal = await takeTurn(trx, RESET_MAILS_TO_ONE_ADDRESS, email, nowMs);
		const person = await findPersonByEmail(trx, email);
		if (person !== undefined && refusal === null) {
			// By whoever knows the address: nobody is signed in.
			await noteAudit(trx, { personId: null, action: "password.reset_asked", subject: email }, nowMs);
		}
		return refusal;
	});
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const answer = await auth.post("/request-password-reset", { email }, visitor);
	if (answer.status === 429) return { ok: false, fault: faultOf(answer) };
	// What is no address at all is refused there; here it is just an address that nobody has.
	return succeed(true);
}

/** Before anybody types a password. Looking at it changes nothing. */
export async function findResetLink(
	{ auth }: Pick<SignInDeps, "auth">,
	token: string,
): Promise<Result<true>> {
	return (await auth.isResetToken(token)) ? succeed(true) : { ok: false, fault: linkNotValid() };
}

/** Ends every session. Signing in is left to the person, with the code of their authenticator if they have one. */
export async function resetPassword(
	{ auth }: Pick<SignInDeps, "auth">,
	token: string,
	newPassword: string,
	visitor: Visitor,
): Promise<Result<true>> {
	const judged = judgePassword(newPassword);
	if (!judged.ok) return judged;
	const answer = await auth.post("/reset-password", { token, newPassword }, visitor);
	return answer.status === 200 ? succeed(true) : { ok: false, fault: faultOf(answer) };
}
