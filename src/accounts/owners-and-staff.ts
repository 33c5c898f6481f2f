// Who looks after a programme, and who is staff: inviting them, a new link for one who lost theirs, ending their access.

import type { EndedAccess } from "../domain/ended-access.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { findProgrammeInvitation, removeProgrammeInvitation } from "../store/links.ts";
import { findPersonByPublicId, type Person, setDeactivated } from "../store/people.ts";
import { isOwner, lockProgramme, type Programme, removeOwner } from "../store/programmes.ts";
import { removeSignIn } from "../store/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";
import { endAccess } from "./end-access.ts";
import {
	type InvitationsDeps,
	inviteAsOwner,
	invitePerson,
	renewLink,
	type SentLink,
} from "./invitations.ts";
import { type Maker, transactAs } from "./links.ts";

/** Staff add the programme to an account at once; what an owner asks for waits to be accepted. */
export async function inviteOwner(
	deps: InvitationsDeps,
	maker: Maker,
	programme: Programme,
	email: string,
): Promise<Result<SentLink>> {
	if (maker.role === "owner") return inviteAsOwner(deps, maker, programme, email);
	return invitePerson(deps, { email, role: "owner", programme, invitedBy: maker });
}

export async function renewOwnerLink(
	deps: InvitationsDeps,
	maker: Maker,
	programme: Programme,
	publicId: string,
): Promise<Result<SentLink>> {
	const waiting = await findProgrammeInvitation(deps.store.db, programme.id, publicId);
	if (waiting !== undefined) return inviteAsOwner(deps, maker, programme, waiting.email, "new link");
	const person = await findOwner(deps, programme, publicId);
	return person.ok ? renewLink(deps, maker, person.value, programme) : person;
}

export async function renewStaffLink(
	deps: InvitationsDeps,
	maker: Maker,
	publicId: string,
): Promise<Result<SentLink>> {
	const person = await findStaff(deps, publicId);
	return person.ok ? renewLink(deps, maker, person.value, null) : person;
}

export interface OwnerRemoved {
	email: string;
	name: string;
	/** Null for an invitation that was withdrawn: whose address it is is not said. */
	personId: number | null;
	ended: EndedAccess | null;
}

/**
 * An owner, or an invitation that waits, whoever sent it. Whoever is removed from one programme is signed out and loses
 * every link they made for any: simple, and safe; they sign in again for the others.
 */
export async function removeProgrammeOwner(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	maker: Maker,
	programme: Programme,
	publicId: string,
): Promise<Result<OwnerRemoved>> {
	const [nowMs, programmeId] = [clock.nowMs(), programme.id];
	const note = { personId: maker.personId, programmeId, action: "person.removed" } as const;
	const waiting = await findProgrammeInvitation(store.db, programmeId, publicId);
	if (waiting !== undefined) {
		const { email } = waiting;
		return transactAs(store, maker, async (trx) => {
			if (await removeProgrammeInvitation(trx, programmeId, email)) {
				await noteAudit(trx, { ...note, subject: email, detail: "invitation" }, nowMs);
			}
			return succeed({ email, name: "", personId: null, ended: null });
		});
	}
	const found = await findOwner({ store }, programme, publicId);
	if (!found.ok) return found;
	const { id: personId, email, name } = found.value;
	return transactAs(store, maker, async (trx) => {
		// Two owners who remove each other at the same moment would leave nobody.
		await lockProgramme(trx, programmeId);
		if (!(await removeOwner(trx, programmeId, personId))) {
			return refuse("not_allowed", `${email} is the last owner of this programme. Invite another one first.`);
		}
		const ended = await endAccess(trx, found.value, { endedBy: maker.personId, programmeId, nowMs });
		await noteAudit(trx, { ...note, subject: email, detail: "owner" }, nowMs);
		return succeed({ email, name, personId, ended });
	});
}

/** Password, authenticator, sessions and links go at once; the person stays, because the records name them. */
export async function deactivateStaff(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	maker: Maker,
	publicId: string,
): Promise<Result<{ person: Person; ended: EndedAccess }>> {
	const found = await findStaff({ store }, publicId);
	if (!found.ok) return found;
	const person = found.value;
	if (person.id === maker.personId) {
		return refuse("not_allowed", "You cannot deactivate your own account. Ask somebody else of the staff.");
	}
	// Whoever asks may have been deactivated a moment ago: two who end each other's access would leave nobody.
	return transactAs(store, maker, async (trx) => {
		const nowMs = clock.nowMs();
		const ended = await endAccess(trx, person, { endedBy: maker.personId, nowMs });
		await removeSignIn(trx, person.public_id);
		await setDeactivated(trx, person.id, nowMs);
		const note = { personId: maker.personId, action: "person.removed", subject: person.email } as const;
		await noteAudit(trx, { ...note, detail: "staff" }, nowMs);
		return succeed({ person, ended });
	});
}

async function findOwner(
	{ store }: Pick<AccountsDeps, "store">,
	programme: Programme,
	publicId: string,
): Promise<Result<Person>> {
	const person = await findPersonByPublicId(store.db, publicId);
	if (person !== undefined && (await isOwner(store.db, programme.id, person.id))) return succeed(person);
	return refuse(
		"unknown_person",
		"This person is no owner of this programme. Reload the page to see who is.",
	);
}

async function findStaff({ store }: Pick<AccountsDeps, "store">, publicId: string): Promise<Result<Person>> {
	const person = await findPersonByPublicId(store.db, publicId);
	if (person?.role === "staff") return succeed(person);
	return refuse(
		"unknown_person",
		"Nobody of the staff has this account. Reload the page to see who is there.",
	);
}
