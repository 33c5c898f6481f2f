// Accepting what an owner asked for: whoever has an account gets the programme added to it, whoever has none
// makes one. One transaction, and the link is gone with it.

import { type Result, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { noteAudit } from "../store/audit.ts";
import { removeInvitations } from "../store/invitations.ts";
import {
	findOwnerInvitationByToken,
	type OwnerInvitation,
	takeOwnerInvitation,
} from "../store/owner-invitations.ts";
import { findPersonByEmail, insertPerson, type Person, renamePerson } from "../store/people.ts";
import { addOwner, findProgrammesById, type Programme } from "../store/programmes.ts";
import { hasPassword, setPassword } from "../store/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { Acceptance, AcceptDeps } from "./accept-invitation.ts";
import { linkNotValid } from "./auth-fault.ts";
import { hashToken } from "./invitations.ts";
import { judgePassword } from "./passwords.ts";
import { parsePersonName } from "./people.ts";

export interface AskedOwner {
	email: string;
	name: string;
	programme: Programme;
	/** They can sign in, and need no password. */
	hasAccount: boolean;
}

/** Looking at it changes nothing: mail scanners open links, too. */
export async function findAskedOwner(
	{ store, clock }: Pick<AcceptDeps, "store" | "clock">,
	token: string,
): Promise<Result<AskedOwner>> {
	const invitation = await findOwnerInvitationByToken(store.db, hashToken(token), clock.nowMs());
	if (invitation === undefined) return { ok: false, fault: linkNotValid() };
	const programme = (await findProgrammesById(store.db, [invitation.programme_id])).get(
		invitation.programme_id,
	);
	const person = await findPersonByEmail(store.db, invitation.email);
	if (programme === undefined || person?.role === "staff") return { ok: false, fault: linkNotValid() };
	const hasAccount = person !== undefined && (await hasPassword(store.db, person.public_id));
	return succeed({ email: invitation.email, name: person?.name ?? "", programme, hasAccount });
}

/** `isNew` when name and password were taken; a password for somebody who has one is not looked at. */
export async function acceptOwnerInvitation(
	deps: AcceptDeps,
	token: string,
	acceptance: Omit<Acceptance, "email">,
): Promise<Result<{ person: Person; programme: Programme; isNew: boolean }>> {
	const asked = await findAskedOwner(deps, token);
	if (!asked.ok) return asked;
	const { programme, hasAccount } = asked.value;
	const made = hasAccount ? succeed(null) : await readNewAccount(deps, acceptance);
	if (!made.ok) return made;
	const accepted = await deps.store.transact(async (trx) => {
		const nowMs = deps.clock.nowMs();
		const invitation = await takeOwnerInvitation(trx, hashToken(token), nowMs);
		if (invitation === undefined) return undefined;
		const person = await findOrMakeOwner(trx, deps, invitation);
		if (person.role === "staff") return undefined;
		// Somebody who got a password by another link a moment ago keeps that one.
		const isNew = made.value !== null && !(await hasPassword(trx, person.public_id));
		const name = isNew && made.value !== null ? made.value.name : person.name;
		if (isNew && made.value !== null) {
			await renamePerson(trx, person.id, name);
			await setPassword(trx, { ...person, name }, made.value.passwordHash, nowMs);
			await removeInvitations(trx, person.id);
		}
		await addOwner(trx, programme.id, person.id);
		const note = { personId: person.id, programmeId: programme.id, action: "person.joined" } as const;
		await noteAudit(trx, { ...note, subject: person.email, detail: person.role }, nowMs);
		return { person: { ...person, name }, programme, isNew };
	});
	return accepted === undefined ? { ok: false, fault: linkNotValid() } : succeed(accepted);
}

async function readNewAccount(
	{ auth }: Pick<AcceptDeps, "auth">,
	acceptance: Omit<Acceptance, "email">,
): Promise<Result<{ name: string; passwordHash: string }>> {
	const name = parsePersonName(acceptance.name);
	if (!name.ok) return name;
	const judged = judgePassword(acceptance.password);
	if (!judged.ok) return judged;
	// Before the transaction: hashing takes its time on purpose, and nobody else should wait for it.
	return succeed({ name: name.value, passwordHash: await auth.hashPassword(acceptance.password) });
}

async function findOrMakeOwner(
	trx: Db,
	{ clock, random }: AcceptDeps,
	{ email }: OwnerInvitation,
): Promise<Person> {
	const nowMs = clock.nowMs();
	const public_id = makeId("usr", nowMs, random.bytes(ID_RANDOM_BYTES));
	const made = await insertPerson(trx, { public_id, email, role: "owner", created_at_ms: nowMs });
	const person = made ?? (await findPersonByEmail(trx, email));
	if (person === undefined) throw new Error("an e-mail that is taken by nobody");
	return person;
}
