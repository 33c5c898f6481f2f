// Chooses, checks and changes passwords, and mails people who forgot theirs. Wherever a password is asked for, wrong
// ones are counted for each address block, for each browser that has signed in before, and for each account. Unknown
// email addresses are counted in the same way, so that nobody learns who has an account.

import { writeEndedTokens } from "../domain/action.ts";
import { addressBlockOf } from "../domain/client-address.ts";
import { foldMailAddress } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { composeResetMail } from "../mail/letters.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { discardSetup } from "../store/queries/authenticators.ts";
import { hasPassword, setPassword } from "../store/queries/passwords.ts";
import { findPersonByEmail, findPersonById, type Person } from "../store/queries/people.ts";
import { lockAccess } from "../store/queries/sign-in-links.ts";
import type { Db, Store } from "../store/store.ts";
import type { SignedInPerson } from "./actor.ts";
import {
	type Changed,
	changeWithSession,
	MAX_PASSWORD_LENGTH,
	MIN_PASSWORD_LENGTH,
	type SignInDeps,
	type Visitor,
} from "./auth.ts";
import { type DeviceDeps, findDevice } from "./device-cookie.ts";
import { type EndedAccess, endAccess } from "./end-access.ts";
import type { InvitationsDeps } from "./invitations.ts";
import { giveUseBack, LIMITS, resetCount, triesFrom, type Use, useLimits } from "./limits.ts";
import { issueSignInLink } from "./sign-in-links.ts";

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

/**
 * Checks a person's password and returns its stored hash. The attempt is counted first, so that even somebody
 * with a stolen session cannot guess the password. With `isBarred`, a right password is handled exactly like a wrong one,
 * so that neither the answer nor its time reveals which it was.
 */
export async function checkPassword(
	deps: DeviceDeps & Pick<SignInDeps, "auth">,
	email: string,
	password: string,
	guesser: Guesser,
	{ isBarred = false }: { isBarred?: boolean } = {},
): Promise<Result<string>> {
	const counted = await countPassword(deps, email, guesser);
	if (!counted.ok) return counted;
	const hash = await deps.auth.judgePassword(email, password);
	if (hash === null || isBarred) {
		return refuse("wrong_password", "This is not your current password. Enter it again.", "currentPassword");
	}
	// A right password resets the count of the browser or address block that it came from. In the other counts,
	// only this attempt is taken back.
	const [fromHere, ...others] = counted.value;
	if (fromHere !== undefined) await resetCount(deps.store.db, fromHere);
	for (const use of others) await giveUseBack(deps.store.db, use);
	return succeed(hash);
}

/**
 * Counts an attempt as a wrong password, before the password is checked. Returns what was counted, so that
 * the caller can take it back if the password is right. The first entry is the count of the browser or
 * address block that the attempt came from.
 */
export async function countPassword(
	deps: DeviceDeps,
	email: string,
	{ address, device }: Guesser,
): Promise<Result<readonly Use[]>> {
	const deviceId = await findDevice(deps, email, device);
	const uses: readonly Use[] =
		deviceId === null
			? [fromAddressBlock(email, address), { limit: LIMITS.wrongPasswords, subject: email }]
			: // A browser that has signed in before does not count against the account's own limit.
				[{ limit: LIMITS.wrongPasswordsHere, subject: deviceId }];
	const tooMany = await useLimits(deps.store.db, [...triesFrom(address), ...uses], deps.clock.nowMs());
	return tooMany ?? succeed(uses);
}

/**
 * Resets the counts of wrong passwords in the transaction that sets a new password, because they were guesses
 * at the old one. `address` is where the person is likely to use the new password next, or null if unknown.
 * Device cookies need no reset, because a new password invalidates them.
 */
export async function forgetWrongPasswords(trx: Db, email: string, address: string | null): Promise<void> {
	await resetCount(trx, { limit: LIMITS.wrongPasswords, subject: email });
	if (address !== null) await resetCount(trx, fromAddressBlock(email, address));
}

function fromAddressBlock(email: string, address: string): Use {
	return { limit: LIMITS.wrongPasswordsHere, subject: `${email} ${addressBlockOf(address)}` };
}

/**
 * Stores a person's new password, and ends everything that somebody who knew the old one may have opened: sessions,
 * sign-in links, the set-up of an authenticator that is not on yet, and the API tokens that are not kept. The caller holds
 * the access lock. Returns what ended.
 */
export async function replacePassword(
	trx: Db,
	{ id: personId, email }: Pick<Person, "id" | "email">,
	{ passwordHash, keptTokens, action, address, keepsOneSession = false, nowMs }: NewPassword,
): Promise<EndedAccess> {
	const ended = await endAccess(trx, personId, { endedBy: personId, nowMs, keepsOneSession, keptTokens });
	await setPassword(trx, personId, passwordHash, nowMs);
	await discardSetup(trx, personId);
	await forgetWrongPasswords(trx, email, address);
	const note = { personId, action, subject: email, detail: writeEndedTokens(ended.tokens) } as const;
	await noteAudit(trx, { ...note, address }, nowMs);
	return ended;
}

interface NewPassword {
	passwordHash: string;
	/** Public ids of the API tokens that stay valid, because the person chose to keep them. */
	keptTokens: readonly string[];
	action: "password.changed" | "password.reset";
	/** The IP address of the request, or null if unknown. */
	address: string | null;
	keepsOneSession?: boolean;
	nowMs: number;
}

/**
 * Changes the actor's own password. All their other sessions, their sign-in links and the API tokens that they do not
 * keep end, so that nobody who knew the old password can go on. Returns what ended. The session in use continues and is
 * not counted.
 */
export async function changePassword(
	deps: Omit<SignInDeps, "log">,
	actor: SignedInPerson,
	{ currentPassword, newPassword, keptTokens }: PasswordChange,
	visitor: Visitor,
): Promise<Result<Changed<EndedAccess>>> {
	const { auth, store, clock } = deps;
	const judged = judgePassword(newPassword);
	if (!judged.ok) return judged;
	const person = await findPersonById(store.db, actor.personId);
	if (person === undefined) throw new Error("a session without a person");
	const { email } = person;
	const checked = await checkPassword(deps, email, currentPassword, visitor);
	if (!checked.ok) return checked;
	// The hash is computed before the transaction starts, because hashing is slow by design and other
	// transactions must not wait.
	const passwordHash = await auth.hashPassword(newPassword);
	const { address, device } = visitor;
	const stays = { action: "password.changed", address, keepsOneSession: true } as const;
	const changed = await changeWithSession(deps, actor, { email, device }, async (trx) =>
		succeed(await replacePassword(trx, person, { ...stays, passwordHash, keptTokens, nowMs: clock.nowMs() })),
	);
	if (changed.ok) announceEndedTokens(store, changed.value.value);
	return changed;
}

interface PasswordChange {
	currentPassword: string;
	newPassword: string;
	keptTokens: readonly string[];
}

/**
 * Makes this process refuse the API tokens that ended with the old password. The caller must call this after the
 * commit.
 */
export function announceEndedTokens(store: Pick<Store, "announceChange">, { tokens }: EndedAccess): void {
	if (tokens.length > 0) store.announceChange(null);
}

/** Mails a link for a new password. The answer is the same whether or not the address has an account. */
export async function requestPasswordReset(
	deps: Pick<InvitationsDeps, "store" | "clock" | "random" | "mails" | "publicUrl">,
	text: string,
	visitor: Pick<Visitor, "address">,
): Promise<Result<true>> {
	const { store, clock, mails, publicUrl } = deps;
	const email = foldMailAddress(text);
	const nowMs = clock.nowMs();
	const uses = [...triesFrom(visitor.address), { limit: LIMITS.mailsTo, subject: `new password: ${email}` }];
	const tooMany = await useLimits(store.db, uses, nowMs);
	if (tooMany !== null) return tooMany;
	// The link is made after the response was sent. Otherwise the response time would reveal whether the
	// account exists.
	mails.later(async (trx) => {
		await lockAccess(trx);
		const person = await findPersonByEmail(trx, email);
		if (person === undefined || !(await hasPassword(trx, person.id))) return null;
		const order = { purpose: "password_mail", personId: person.id, madeBy: null } as const;
		const link = `${publicUrl}${await issueSignInLink(trx, deps, order)}`;
		// The audit entry names no person, because nobody is signed in.
		await noteAudit(trx, { personId: null, action: "password.reset_asked", subject: email }, nowMs);
		return composeResetMail(email, link);
	});
	return succeed(true);
}
