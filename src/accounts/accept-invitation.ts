// Using a one-time link: it becomes a name and a password, or a new password for who has one. All of it is one
// transaction, and the link is gone with it.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { noteAudit } from "../store/audit.ts";
import { findInvitation, type Invitation, removeInvitations, takeInvitation } from "../store/invitations.ts";
import {
	findPersonByEmail,
	findPersonById,
	insertPerson,
	type Person,
	renamePerson,
} from "../store/people.ts";
import { hasPassword, hasStaffWithPassword, setPassword } from "../store/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { Auth } from "./auth.ts";
import { linkNotValid } from "./auth-fault.ts";
import type { AccountsDeps } from "./deps.ts";
import { hashToken } from "./invitations.ts";
import { forgetTurns, WRONG_PASSWORDS_FROM_ANYWHERE } from "./limits.ts";
import { judgePassword } from "./passwords.ts";
import { parseEmail, parsePersonName } from "./people.ts";

export interface AcceptDeps extends Pick<AccountsDeps, "store" | "clock" | "random"> {
	auth: Pick<Auth, "hashPassword">;
}

/** Null: the link of the first start, whose reader says who they are. */
export type Invitee = (Pick<Person, "email" | "name" | "role"> & { hasPassword: boolean }) | null;

export interface Acceptance {
	/** Only looked at with the link of the first start. */
	email: string;
	/** Not looked at for who has a password already. */
	name: string;
	password: string;
}

/** Looking at it changes nothing: mail scanners open links, too. */
export async function findInvitee(
	{ store, clock }: Pick<AcceptDeps, "store" | "clock">,
	token: string,
): Promise<Result<{ invitee: Invitee }>> {
	const invitation = await findInvitation(store.db, hashToken(token), clock.nowMs());
	if (invitation === undefined) return { ok: false, fault: linkNotValid() };
	if (invitation.person_id === null) {
		return (await hasStaffWithPassword(store.db))
			? { ok: false, fault: linkNotValid() }
			: succeed({ invitee: null });
	}
	const person = await findPersonById(store.db, invitation.person_id);
	if (person === undefined) return { ok: false, fault: linkNotValid() };
	return succeed({ invitee: { ...person, hasPassword: await hasPassword(store.db, person.public_id) } });
}

export async function acceptInvitation(
	deps: AcceptDeps,
	token: string,
	acceptance: Acceptance,
): Promise<Result<Person>> {
	const found = await findInvitee(deps, token);
	if (!found.ok) return found;
	const { invitee } = found.value;
	const email = invitee === null ? parseEmail(acceptance.email) : succeed(invitee.email);
	if (!email.ok) return email;
	const name = invitee?.hasPassword === true ? succeed(invitee.name) : parsePersonName(acceptance.name);
	if (!name.ok) return name;
	const judged = judgePassword(acceptance.password);
	if (!judged.ok) return judged;
	// Before the transaction: hashing takes its time on purpose, and nobody else should wait for it.
	const passwordHash = await deps.auth.hashPassword(acceptance.password);
	return deps.store.transact(async (trx) => {
		if (!(await mayBecomeFirst(trx, invitee, email.value))) return emailTaken(email.value);
		const nowMs = deps.clock.nowMs();
		const invitation = await takeInvitation(trx, hashToken(token), nowMs);
		if (invitation === undefined) return { ok: false, fault: linkNotValid() };
		const person = await findOrMakeFirst(trx, deps, invitation, email.value);
		if (person === undefined) return { ok: false, fault: linkNotValid() };
		const hadPassword = await hasPassword(trx, person.public_id);
		await renamePerson(trx, person.id, name.value);
		await setPassword(trx, { ...person, name: name.value }, passwordHash, nowMs);
		const { id: personId, email: subject, role: detail } = person;
		const action = hadPassword ? "password.reset" : "person.joined";
		await noteAudit(trx, { personId, action, subject, detail: hadPassword ? "by link" : detail }, nowMs);
		// Whatever was guessed, it was the old one.
		await forgetTurns(trx, WRONG_PASSWORDS_FROM_ANYWHERE, person.email);
		return succeed({ ...person, name: name.value });
	});
}

/** Somebody whom a command made as staff may also come by the link of the first start; nobody else's address may. */
async function mayBecomeFirst(trx: Db, invitee: Invitee, email: string): Promise<boolean> {
	if (invitee !== null) return true;
	const known = await findPersonByEmail(trx, email);
	return known === undefined || (known.role === "staff" && !(await hasPassword(trx, known.public_id)));
}

/** Undefined when somebody else became the first in the meantime. */
async function findOrMakeFirst(
	trx: Db,
	{ clock, random }: AcceptDeps,
	{ person_id }: Invitation,
	email: string,
): Promise<Person | undefined> {
	if (person_id !== null) return findPersonById(trx, person_id);
	if (await hasStaffWithPassword(trx)) return undefined;
	await removeInvitations(trx, null);
	const nowMs = clock.nowMs();
	const public_id = makeId("usr", nowMs, random.bytes(ID_RANDOM_BYTES));
	const made = await insertPerson(trx, { public_id, email, role: "staff", created_at_ms: nowMs });
	const first = made ?? (await findPersonByEmail(trx, email));
	if (first !== undefined) await removeInvitations(trx, first.id);
	return first;
}

function emailTaken(email: string): ReturnType<typeof refuse> {
	return refuse("email_taken", `${email} belongs to a shop's owner here. Use another address.`, "email");
}
