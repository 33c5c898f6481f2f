// The people of a programme, and the network's staff: inviting them, a new link for one who lost theirs, changing what
// somebody is there, ending their access, leaving. The last owner stays; a programme may have none yet.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { grants, type ProgrammeRole } from "../domain/roles.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPersonById, findPersonByPublicId, type Person, updatePerson } from "../store/queries/people.ts";
import { findRole, hasOtherOwner, removeFromProgramme, setRole } from "../store/queries/programme-people.ts";
import { lockProgramme, type Programme } from "../store/queries/programmes.ts";
import { removeSignIn } from "../store/queries/sign-in.ts";
import { findProgrammeInvitation, removeProgrammeInvitation } from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import { type SignedInPerson, transactAs, transactInProgramme } from "./actor.ts";
import type { AccountsDeps } from "./deps.ts";
import { type EndedAccess, endAccess, endRightsIn, previewEnding } from "./end-access.ts";
import {
	type InvitationsDeps,
	inviteByOwner,
	invitePerson,
	renewLink,
	type SentLink,
} from "./invitations.ts";
import { parseRole } from "./people.ts";

type PeopleDeps = Pick<AccountsDeps, "store" | "clock">;

/** Staff add the programme to an account at once; what an owner asks for waits to be accepted. */
export async function inviteToProgramme(
	deps: InvitationsDeps,
	maker: SignedInPerson,
	programme: Programme,
	input: { email: string; role: string },
): Promise<Result<SentLink>> {
	const role = parseRole(input.role);
	if (!role.ok) return role;
	const membership = { programme, role: role.value };
	if (maker.kind === "shop") return inviteByOwner(deps, maker, membership, input.email);
	return invitePerson(deps, { email: input.email, membership, invitedBy: maker });
}

export async function renewProgrammeLink(
	deps: InvitationsDeps,
	maker: SignedInPerson,
	programme: Programme,
	publicId: string,
): Promise<Result<SentLink>> {
	const waiting = await findProgrammeInvitation(deps.store.db, programme.id, publicId);
	if (waiting !== undefined) {
		return inviteByOwner(deps, maker, { programme, role: waiting.role }, waiting.email, true);
	}
	const found = await findMember(deps.store.db, programme, publicId);
	if (!found.ok) return found;
	const { person, role } = found.value;
	return renewLink(deps, maker, person, { programme, role });
}

export interface RoleChanged {
	email: string;
	name: string;
	before: ProgrammeRole;
	after: ProgrammeRole;
	/** What they made here and may no longer make; null where they still may. */
	ended: EndedAccess | null;
}

/** What somebody made that goes beyond the new role ends in the same transaction; they stay signed in. */
export async function changeRole(
	deps: PeopleDeps,
	maker: SignedInPerson,
	programme: Programme,
	publicId: string,
	roleText: string,
): Promise<Result<RoleChanged>> {
	const parsed = parseRole(roleText);
	if (!parsed.ok) return parsed;
	const after = parsed.value;
	const nowMs = deps.clock.nowMs();
	const programmeId = programme.id;
	const changed = await transactInProgramme<RoleChanged>(deps.store, maker, programmeId, async (trx) => {
		const found = await findLocked(trx, programme, publicId);
		if (!found.ok) return found;
		const { person, role: before } = found.value;
		const { id: personId, email, name } = person;
		if (before === after) return succeed({ email, name, before, after, ended: null });
		if (before === "owner" && !(await hasOtherOwner(trx, programmeId, personId))) return lastOwner(email);
		await setRole(trx, programmeId, personId, after);
		const ended = grants(after, "manage")
			? null
			: await endRightsIn(trx, person, after, { endedBy: maker.personId, programmeId, nowMs });
		const note = { personId: maker.personId, programmeId, action: "person.role_changed" } as const;
		await noteAudit(trx, { ...note, subject: email, detail: `${before} → ${after}` }, nowMs);
		return succeed({ email, name, before, after, ended });
	});
	if (changed.ok) deps.store.announceChange(programmeId);
	return changed;
}

export interface PersonRemoved {
	email: string;
	name: string;
	/** Null for an invitation that was withdrawn: whose address it is is not said. */
	personId: number | null;
	ended: EndedAccess | null;
}

/**
 * One of its people, or an invitation that waits, whoever sent it. Whoever is removed from one programme is signed out
 * and loses every link they made for any: simple, and safe; they sign in again for the others.
 */
export async function removePerson(
	{ store, clock }: PeopleDeps,
	maker: SignedInPerson,
	programme: Programme,
	publicId: string,
	keptKeys: readonly string[] = [],
): Promise<Result<PersonRemoved>> {
	const [nowMs, programmeId] = [clock.nowMs(), programme.id];
	const removed = await transactInProgramme<PersonRemoved>(store, maker, programmeId, async (trx) => {
		const waiting = await findProgrammeInvitation(trx, programmeId, publicId);
		if (waiting !== undefined) {
			const { email } = waiting;
			const note = { personId: maker.personId, programmeId, action: "person.removed" } as const;
			await removeProgrammeInvitation(trx, programmeId, email);
			await noteAudit(trx, { ...note, subject: email, detail: "invitation" }, nowMs);
			return succeed({ email, name: "", personId: null, ended: null });
		}
		const found = await findLocked(trx, programme, publicId);
		return found.ok ? takeOut(trx, maker, programmeId, found.value, { nowMs, keptKeys }) : found;
	});
	// Their keys count no more from this moment on.
	if (removed.ok) store.announceChange(programmeId);
	return removed;
}

/** Of their own will, whatever they may do there. They are signed out as everybody is whose access ends. */
export async function leaveProgramme(
	{ store, clock }: PeopleDeps,
	maker: SignedInPerson,
	programme: Programme,
	keptKeys: readonly string[] = [],
): Promise<Result<PersonRemoved>> {
	const left = await transactAs<PersonRemoved>(store, maker, async (trx) => {
		const self = await findPersonById(trx, maker.personId);
		const found = await findLocked(trx, programme, self?.public_id ?? "");
		const ending = { nowMs: clock.nowMs(), keptKeys };
		return found.ok ? takeOut(trx, maker, programme.id, found.value, ending) : found;
	});
	if (left.ok) store.announceChange(programme.id);
	return left;
}

/** The caller holds the programme's lock. */
async function takeOut(
	trx: Db,
	maker: SignedInPerson,
	programmeId: number,
	{ person, role }: Member,
	{ nowMs, keptKeys }: { nowMs: number; keptKeys: readonly string[] },
): Promise<Result<PersonRemoved>> {
	const { id: personId, email, name } = person;
	if (role === "owner" && !(await hasOtherOwner(trx, programmeId, personId))) return lastOwner(email);
	await removeFromProgramme(trx, programmeId, personId);
	const ended = await endAccess(trx, person, { endedBy: maker.personId, programmeId, nowMs, keptKeys });
	const note = { personId: maker.personId, programmeId, action: "person.removed" } as const;
	await noteAudit(trx, { ...note, subject: email, detail: role }, nowMs);
	return succeed({ email, name, personId, ended });
}

interface Member {
	person: Person;
	role: ProgrammeRole;
}

/** Two owners who remove or lower each other at the same moment would leave nobody: one waits for the other. */
async function findLocked(trx: Db, programme: Programme, publicId: string): Promise<Result<Member>> {
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
	maker: SignedInPerson,
	publicId: string,
): Promise<Result<SentLink>> {
	const person = await findStaff(deps, publicId);
	return person.ok ? renewLink(deps, maker, person.value, null) : person;
}

/** Password, authenticator, sessions and links go at once; the person stays, because the records name them. */
export async function deactivateStaff(
	{ store, clock }: PeopleDeps,
	maker: SignedInPerson,
	publicId: string,
	keptKeys: readonly string[] = [],
): Promise<Result<{ person: Person; ended: EndedAccess }>> {
	const found = await findStaff({ store }, publicId);
	if (!found.ok) return found;
	const person = found.value;
	if (person.id === maker.personId) {
		return refuse("not_allowed", "You cannot deactivate your own account. Ask another member of the staff.");
	}
	// Whoever asks may have been deactivated a moment ago: two who end each other's access would leave nobody.
	const touched = new Set<number>();
	const done = await transactAs<{ person: Person; ended: EndedAccess }>(store, maker, async (trx) => {
		const nowMs = clock.nowMs();
		const { keys, secrets } = await previewEnding(trx, person, null, nowMs);
		for (const { programme_id } of keys) touched.add(programme_id);
		for (const { receiver_id } of secrets) touched.add(receiver_id);
		const ended = await endAccess(trx, person, { endedBy: maker.personId, nowMs, keptKeys });
		await removeSignIn(trx, person.public_id);
		await updatePerson(trx, person.id, { deactivated_at_ms: nowMs });
		const note = { personId: maker.personId, action: "person.removed", subject: person.email } as const;
		await noteAudit(trx, { ...note, detail: "staff" }, nowMs);
		return succeed({ person, ended });
	});
	if (done.ok) for (const programmeId of touched) store.announceChange(programmeId);
	return done;
}

async function findStaff({ store }: Pick<AccountsDeps, "store">, publicId: string): Promise<Result<Person>> {
	const person = await findPersonByPublicId(store.db, publicId);
	if (person?.kind === "staff") return succeed(person);
	return refuse(
		"unknown_person",
		"No member of the staff has this account. Reload the page to see who is there.",
	);
}
