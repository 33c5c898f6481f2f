// Manages the people of a programme and the network's staff: inviting them, sending a new link, changing a
// role, ending access and leaving. The last owner of a programme cannot leave. A new programme may have no
// owner yet.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { grants, type ProgrammeRole } from "../domain/roles.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { removeAuthenticator } from "../store/queries/authenticators.ts";
import { removePassword } from "../store/queries/passwords.ts";
import {
	findPersonById,
	findPersonByPublicId,
	lockPerson,
	type Person,
	updatePerson,
} from "../store/queries/people.ts";
import { findRole, hasOtherOwner, removeFromProgramme, setRole } from "../store/queries/programme-people.ts";
import { lockProgramme, type Programme } from "../store/queries/programmes.ts";
import { findProgrammeInvitation, removeProgrammeInvitation } from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import { inProgramme, type PersonActor, SIGNED_IN, type SignedInPerson, STAFF, transactAs } from "./actor.ts";
import type { AccountsDeps } from "./deps.ts";
import { type EndedAccess, endAccess, endRightsIn, previewEnding } from "./end-access.ts";
import { type InvitationsDeps, invite, renewLink, renewOffer, type SentLink } from "./invitations.ts";
import { parseRole } from "./people.ts";

type PeopleDeps = Pick<AccountsDeps, "store" | "clock">;

/**
 * Invites a person to a programme. Staff add the programme to an existing account at once. An owner's
 * invitation takes effect when it is accepted.
 */
export async function inviteToProgramme(
	deps: InvitationsDeps,
	actor: PersonActor,
	programme: Programme,
	input: { email: string; role: string },
): Promise<Result<SentLink>> {
	const role = parseRole(input.role);
	if (!role.ok) return role;
	return invite(deps, actor, { kind: "programme", programme, role: role.value }, input.email);
}

export async function renewProgrammeLink(
	deps: InvitationsDeps,
	actor: SignedInPerson,
	programme: Programme,
	publicId: string,
): Promise<Result<SentLink>> {
	const invitation = await findProgrammeInvitation(deps.store.db, programme.id, publicId);
	if (invitation !== undefined) {
		const { role, email } = invitation;
		return renewOffer(deps, actor, { kind: "programme", programme, role }, email, async (trx) => {
			return (await findProgrammeInvitation(trx, programme.id, publicId)) !== undefined;
		});
	}
	const found = await findMember(deps.store.db, programme, publicId);
	if (!found.ok) return found;
	const { person, role } = found.value;
	return renewLink(deps, actor, person.id, { kind: "programme", programme, role });
}

export interface RoleChanged {
	email: string;
	name: string;
	before: ProgrammeRole;
	after: ProgrammeRole;
	/**
	 * The person's links, keys, secrets and jobs that ended because the new role does not allow them, or null
	 * if there are none.
	 */
	ended: EndedAccess | null;
}

/**
 * Changes a person's role. Everything that the new role does not allow ends in the same transaction. The
 * person stays signed in.
 */
export async function changeRole(
	deps: PeopleDeps,
	actor: SignedInPerson,
	programme: Programme,
	publicId: string,
	roleText: string,
): Promise<Result<RoleChanged>> {
	const parsed = parseRole(roleText);
	if (!parsed.ok) return parsed;
	const after = parsed.value;
	const nowMs = deps.clock.nowMs();
	const programmeId = programme.id;
	const changed = await transactAs<RoleChanged>(deps.store, actor, inProgramme(programmeId), async (trx) => {
		const found = await lockMember(trx, programme, publicId);
		if (!found.ok) return found;
		const { person, role: before } = found.value;
		const { id: personId, email, name } = person;
		if (before === after) return succeed({ email, name, before, after, ended: null });
		if (before === "owner" && !(await hasOtherOwner(trx, programmeId, personId))) return lastOwner(email);
		await setRole(trx, programmeId, personId, after);
		const ended = grants(after, "manage")
			? null
			: await endRightsIn(trx, personId, after, { endedBy: actor.personId, programmeId, nowMs });
		const note = { personId: actor.personId, programmeId, action: "person.role_changed" } as const;
		await noteAudit(trx, { ...note, subject: email, detail: `${before} → ${after}` }, nowMs);
		return succeed({ email, name, before, after, ended });
	});
	if (changed.ok) deps.store.announceChange(programmeId);
	return changed;
}

export interface PersonRemoved {
	email: string;
	name: string;
	/**
	 * Row id of the removed person. Null for a withdrawn invitation, because the owner must not learn whether the
	 * address has an account.
	 */
	personId: number | null;
	ended: EndedAccess | null;
}

/**
 * Removes a person from the programme, or withdraws an open invitation. A removed person is signed out
 * everywhere, and every link that they made ends, also links for other programmes. They can sign in again for
 * their other programmes.
 */
export async function removePerson(
	{ store, clock }: PeopleDeps,
	actor: SignedInPerson,
	programme: Programme,
	publicId: string,
	keptKeys: readonly string[] = [],
): Promise<Result<PersonRemoved>> {
	const [nowMs, programmeId] = [clock.nowMs(), programme.id];
	const removed = await transactAs<PersonRemoved>(store, actor, inProgramme(programmeId), async (trx) => {
		const invitation = await findProgrammeInvitation(trx, programmeId, publicId);
		if (invitation !== undefined) {
			const { email } = invitation;
			const note = { personId: actor.personId, programmeId, action: "invitation.withdrawn" } as const;
			await removeProgrammeInvitation(trx, programmeId, email);
			await noteAudit(trx, { ...note, subject: email }, nowMs);
			return succeed({ email, name: "", personId: null, ended: null });
		}
		const found = await lockMember(trx, programme, publicId);
		return found.ok ? removeMember(trx, actor, programmeId, found.value, { nowMs, keptKeys }) : found;
	});
	// This process must stop accepting the person's API keys at once.
	if (removed.ok) store.announceChange(programmeId);
	return removed;
}

/** Lets a person with any role leave the programme. They are signed out, like everyone whose access ends. */
export async function leaveProgramme(
	{ store, clock }: PeopleDeps,
	actor: SignedInPerson,
	programme: Programme,
	keptKeys: readonly string[] = [],
): Promise<Result<PersonRemoved>> {
	const left = await transactAs<PersonRemoved>(store, actor, SIGNED_IN, async (trx) => {
		const self = await findPersonById(trx, actor.personId);
		const found = await lockMember(trx, programme, self?.public_id ?? "");
		const ending = { nowMs: clock.nowMs(), keptKeys };
		return found.ok ? removeMember(trx, actor, programme.id, found.value, ending) : found;
	});
	if (left.ok) store.announceChange(programme.id);
	return left;
}

/** Removes a member of the programme. The caller must hold the programme's lock. */
async function removeMember(
	trx: Db,
	actor: SignedInPerson,
	programmeId: number,
	{ person, role }: Member,
	{ nowMs, keptKeys }: { nowMs: number; keptKeys: readonly string[] },
): Promise<Result<PersonRemoved>> {
	const { id: personId, email, name } = person;
	if (role === "owner" && !(await hasOtherOwner(trx, programmeId, personId))) return lastOwner(email);
	await removeFromProgramme(trx, programmeId, personId);
	const ended = await endAccess(trx, personId, { endedBy: actor.personId, programmeId, nowMs, keptKeys });
	const note = { personId: actor.personId, programmeId, action: "person.removed" } as const;
	await noteAudit(trx, { ...note, subject: email, detail: role }, nowMs);
	return succeed({ email, name, personId, ended });
}

interface Member {
	person: Person;
	role: ProgrammeRole;
}

/**
 * Takes the programme's lock and then reads the member. Because of the lock, two owners who remove each other at the
 * same moment cannot leave the programme without an owner.
 */
async function lockMember(trx: Db, programme: Programme, publicId: string): Promise<Result<Member>> {
	await lockProgramme(trx, programme.id);
	return findMember(trx, programme, publicId);
}

async function findMember(db: Db, programme: Programme, publicId: string): Promise<Result<Member>> {
	const person = await findPersonByPublicId(db, publicId);
	const role = person === undefined ? undefined : await findRole(db, programme.id, person.id);
	if (person !== undefined && role !== undefined) return succeed({ person, role });
	return refuse("unknown_person", "This person is not in this programme. Reload the page to see who is.");
}

function lastOwner(email: string): ReturnType<typeof refuse> {
	return refuse(
		"not_allowed",
		`${email} is the last owner of this programme. Make another person an owner first.`,
	);
}

export async function renewStaffLink(
	deps: InvitationsDeps,
	actor: SignedInPerson,
	publicId: string,
): Promise<Result<SentLink>> {
	const person = await findPersonByPublicId(deps.store.db, publicId);
	return person?.kind === "staff" ? renewLink(deps, actor, person.id, { kind: "staff" }) : unknownStaff();
}

/**
 * Removes a staff member's password, authenticator, sessions and links at once. Their row stays, because
 * other records refer to it.
 */
export async function deactivateStaff(
	{ store, clock }: PeopleDeps,
	actor: SignedInPerson,
	publicId: string,
	keptKeys: readonly string[] = [],
): Promise<Result<{ person: Person; ended: EndedAccess }>> {
	const changedProgrammes = new Set<number>();
	// The access lock prevents two members of staff who deactivate each other at the same moment from leaving
	// no staff.
	const done = await transactAs<{ person: Person; ended: EndedAccess }>(store, actor, STAFF, async (trx) => {
		const person = await lockPerson(trx, "public_id", publicId);
		if (person?.kind !== "staff") return unknownStaff();
		if (person.id === actor.personId) {
			return refuse(
				"not_allowed",
				"You cannot deactivate your own account. Ask another member of the staff.",
			);
		}
		const nowMs = clock.nowMs();
		const { keys, secrets } = await previewEnding(trx, person.id, null, nowMs);
		for (const { programme_id } of keys) changedProgrammes.add(programme_id);
		for (const { programme_id } of secrets) if (programme_id !== null) changedProgrammes.add(programme_id);
		const ended = await endAccess(trx, person.id, { endedBy: actor.personId, nowMs, keptKeys });
		await removePassword(trx, person.id);
		await removeAuthenticator(trx, person.id);
		await updatePerson(trx, person, { deactivated_at_ms: nowMs });
		const note = { personId: actor.personId, action: "staff.removed", subject: person.email } as const;
		await noteAudit(trx, note, nowMs);
		return succeed({ person, ended });
	});
	if (!done.ok) return done;
	for (const programmeId of changedProgrammes) store.announceChange(programmeId);
	// The null says that no programme is meant, because API tokens of staff belong to none.
	store.announceChange(null);
	return done;
}

function unknownStaff(): ReturnType<typeof refuse> {
	return refuse(
		"unknown_person",
		"No member of the staff has this account. Reload the page to see who is there.",
	);
}
