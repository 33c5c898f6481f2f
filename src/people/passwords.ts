// Choosing a password, changing it, and a link by mail for those who forgot theirs.

import type { EndedAccess } from "../domain/ended-access.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { composeResetMail } from "../mail/letters.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { lockLinks, removeLinksOfPerson } from "../store/queries/links.ts";
import { findPersonByEmail, findPersonById } from "../store/queries/people.ts";
import { hasPassword, setPassword } from "../store/queries/sign-in.ts";
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH, type Visitor } from "./auth.ts";
import { wrongPassword } from "./auth-fault.ts";
import { endAccess } from "./end-access.ts";
import type { InvitationsDeps } from "./invitations.ts";
import {
	networkUses,
	RESET_MAILS_FROM_ONE_NETWORK,
	RESET_MAILS_TO_ONE_ADDRESS,
	useLimits,
} from "./limits.ts";
import { issueLink, linkPath, type Maker } from "./links.ts";
import { forgetWrongPasswords, withPasswordLimit } from "./password-limits.ts";
import { changeWithSession } from "./sessions.ts";
import type { SignInDeps } from "./sign-in.ts";
import { makeConfirmationCookie, type SignInMoment } from "./signed-cookies.ts";

/**
 * An id nobody has. For an unknown address the same rows are written, so that timing does not reveal whether an account
 * exists.
 */
const NOBODY_ID = 0;

export interface PasswordChanged {
	/** What ended with the old password. The session that it was changed in goes on and is not counted. */
	ended: EndedAccess;
	/** Of that session, whose token is new. */
	setCookies: readonly string[];
}

export function judgePassword(password: string): Result<true> {
	if (password.length < MIN_PASSWORD_LENGTH) {
		return refuse(
			"password_too_short",
			`A password has at least ${MIN_PASSWORD_LENGTH} characters. A few words in a row are easy to remember.`,
			"password",
		);
	}
	if (password.length > MAX_PASSWORD_LENGTH) {
		const tooLong = `A password has at most ${MAX_PASSWORD_LENGTH} characters.`;
		return refuse("password_too_long", tooLong, "password");
	}
	return succeed(true);
}

/**
 * Ends every other session and every link: whoever knew the old password is out. better-auth only says whether the
 * present one is right; what changes is one transaction of ours, because its own would not hold the rest.
 */
export async function changePassword(
	deps: Pick<SignInDeps, "auth" | "store" | "clock" | "random">,
	person: Maker,
	{ currentPassword, newPassword }: { currentPassword: string; newPassword: string },
	visitor: Visitor,
): Promise<Result<PasswordChanged>> {
	const { auth, store, clock } = deps;
	const judged = judgePassword(newPassword);
	if (!judged.ok) return judged;
	const self = await findPersonById(store.db, person.personId);
	if (self === undefined) throw new Error("a session without a person");
	if (!(await auth.isPassword(self.email, currentPassword))) return wrongPassword();
	const passwordHash = await auth.hashPassword(newPassword);
	const changed = await changeWithSession(deps, person, visitor, async (trx) => {
		const nowMs = clock.nowMs();
		const ended = await endAccess(trx, self, { endedBy: self.id, nowMs, keepsOneSession: true });
		await setPassword(trx, self, passwordHash, nowMs);
		await forgetWrongPasswords(trx, self.email, visitor.address);
		const note = { personId: self.id, action: "password.changed", address: visitor.address } as const;
		await noteAudit(trx, note, nowMs);
		return succeed(ended);
	});
	return changed.ok ? succeed({ ended: changed.value.value, setCookies: changed.value.setCookies }) : changed;
}

/** The password given again in a session that is not new. Resolves to a whole Set-Cookie line. */
export async function confirmPassword(
	deps: SignInDeps,
	signIn: SignInMoment,
	password: string,
	visitor: Visitor,
): Promise<Result<string>> {
	return withPasswordLimit(deps, signIn.email, visitor, async () => {
		if (!(await deps.auth.isPassword(signIn.email, password))) return wrongPassword();
		return succeed(await makeConfirmationCookie(deps, signIn));
	});
}

/** Answers the same whether or not anybody has this address: only a mail may tell. */
export async function requestPasswordReset(
	deps: Pick<InvitationsDeps, "store" | "clock" | "random" | "mails" | "publicUrl">,
	text: string,
	visitor: Pick<Visitor, "address">,
): Promise<Result<true>> {
	const { store, clock, mails, publicUrl } = deps;
	const email = text.trim().toLowerCase();
	const nowMs = clock.nowMs();
	const uses = [
		...networkUses(RESET_MAILS_FROM_ONE_NETWORK, visitor.address),
		{ limit: RESET_MAILS_TO_ONE_ADDRESS, subject: email },
	];
	const tooMany = await useLimits(store.db, uses, nowMs);
	if (tooMany !== null) return tooMany;
	// The same work for either, so that an account costs no more time than none.
	const token = await store.transact(async (trx) => {
		await lockLinks(trx);
		const found = await findPersonByEmail(trx, email);
		const person = found !== undefined && (await hasPassword(trx, found.public_id)) ? found : undefined;
		const personId = person?.id ?? NOBODY_ID;
		const issued = await issueLink(trx, deps, { purpose: "password_mail", personId, maker: null });
		if (person === undefined) {
			await removeLinksOfPerson(trx, NOBODY_ID);
			return null;
		}
		// By whoever knows the address: nobody is signed in.
		await noteAudit(trx, { personId: null, action: "password.reset_asked", subject: email }, nowMs);
		return issued;
	});
	// Not awaited, on purpose: the time a mail takes would tell whether the account exists.
	if (token !== null) mails.send(composeResetMail(email, `${publicUrl}${linkPath(token)}`));
	return succeed(true);
}
