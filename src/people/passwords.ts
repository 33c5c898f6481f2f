// Choosing a password, giving it, changing it, and a link by mail for those who forgot theirs. A wrong one is counted, on
// the sign-in page and wherever else it is asked for: few from one network, more from all of them together, and some from
// each browser that has signed in before. Unknown addresses are counted alike, so that nobody learns who has an account.

import { networkOf } from "../domain/client-address.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { composeResetMail } from "../mail/letters.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPersonByEmail, findPersonById } from "../store/queries/people.ts";
import { hasPassword, setPassword } from "../store/queries/sign-in.ts";
import { lockAccess } from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import type { SignedInPerson } from "./actor.ts";
import {
	type Changed,
	changeWithSession,
	MAX_PASSWORD_LENGTH,
	MIN_PASSWORD_LENGTH,
	type SignInDeps,
	type Visitor,
} from "./auth.ts";
import { type EndedAccess, endAccess } from "./end-access.ts";
import type { InvitationsDeps } from "./invitations.ts";
import { forgetUse, giveUseBack, LIMITS, triesFrom, type Use, useLimits } from "./limits.ts";
import { issueSignInLink } from "./sign-in-links.ts";
import { type DeviceDeps, findDevice } from "./signed-cookies.ts";

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

type Guesser = Pick<Visitor, "address" | "device">;

/** Counted before it is judged: whoever took a session cannot guess it either. Resolves to the hash that it fits. */
export async function checkPassword(
	deps: DeviceDeps & Pick<SignInDeps, "auth">,
	email: string,
	password: string,
	guesser: Guesser,
): Promise<Result<string>> {
	const used = await usePassword(deps, email, guesser);
	if (!used.ok) return used;
	const hash = await deps.auth.judgePassword(email, password);
	if (hash === null) {
		return refuse("wrong_password", "This is not your current password. Enter it again.", "currentPassword");
	}
	// The right one also makes up for the wrong ones before it from there.
	const [here, ...others] = used.value;
	if (here !== undefined) await forgetUse(deps.store.db, here);
	for (const use of others) await giveUseBack(deps.store.db, use);
	return succeed(hash);
}

/** Counts one password as a wrong one. The first of the uses is that of the browser or network it came from. */
export async function usePassword(
	deps: DeviceDeps,
	email: string,
	{ address, device }: Guesser,
): Promise<Result<readonly Use[]>> {
	const known = await findDevice(deps, email, device);
	const uses: readonly Use[] =
		known === null
			? [fromNetwork(email, address), { limit: LIMITS.wrongPasswords, subject: email }]
			: // A known browser uses none of the account's.
				[{ limit: LIMITS.wrongPasswordsHere, subject: known }];
	const tooMany = await useLimits(deps.store.db, [...triesFrom(address), ...uses], deps.clock.nowMs());
	return tooMany ?? succeed(uses);
}

/**
 * In the transaction that sets a new password: whatever was guessed, it was the old one. `address` is where the new one
 * is used next; null where nobody knows. A known browser has no guesses left to forget: its cookie ends with the old one.
 */
export async function forgetWrongPasswords(trx: Db, email: string, address: string | null): Promise<void> {
	await forgetUse(trx, { limit: LIMITS.wrongPasswords, subject: email });
	if (address !== null) await forgetUse(trx, fromNetwork(email, address));
}

function fromNetwork(email: string, address: string): Use {
	return { limit: LIMITS.wrongPasswordsHere, subject: `${email} ${networkOf(address)}` };
}

/**
 * Ends every other session and every link: whoever knew the old password is out. Resolves to what ended; the session that
 * it was changed in goes on and is not counted.
 */
export async function changePassword(
	deps: Omit<SignInDeps, "log">,
	person: SignedInPerson,
	{ currentPassword, newPassword }: { currentPassword: string; newPassword: string },
	visitor: Visitor,
): Promise<Result<Changed<EndedAccess>>> {
	const { auth, store, clock } = deps;
	const judged = judgePassword(newPassword);
	if (!judged.ok) return judged;
	const self = await findPersonById(store.db, person.personId);
	if (self === undefined) throw new Error("a session without a person");
	const given = await checkPassword(deps, self.email, currentPassword, visitor);
	if (!given.ok) return given;
	const passwordHash = await auth.hashPassword(newPassword);
	return changeWithSession(deps, person, self.email, async (trx) => {
		const nowMs = clock.nowMs();
		const ended = await endAccess(trx, self, { endedBy: self.id, nowMs, keepsOneSession: true });
		await setPassword(trx, self, passwordHash, nowMs);
		await forgetWrongPasswords(trx, self.email, visitor.address);
		const note = { personId: self.id, action: "password.changed", address: visitor.address } as const;
		await noteAudit(trx, note, nowMs);
		return succeed(ended);
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
	const uses = [...triesFrom(visitor.address), { limit: LIMITS.mailsTo, subject: `new password: ${email}` }];
	const tooMany = await useLimits(store.db, uses, nowMs);
	if (tooMany !== null) return tooMany;
	// Once the answer is out: the time that it takes would tell whether the account exists.
	mails.later(async (trx) => {
		await lockAccess(trx);
		const person = await findPersonByEmail(trx, email);
		if (person === undefined || !(await hasPassword(trx, person.public_id))) return null;
		const order = { purpose: "password_mail", personId: person.id, madeBy: null } as const;
		const link = `${publicUrl}${await issueSignInLink(trx, deps, order)}`;
		// By whoever knows the address: nobody is signed in.
		await noteAudit(trx, { personId: null, action: "password.reset_asked", subject: email }, nowMs);
		return composeResetMail(email, link);
	});
	return succeed(true);
}
