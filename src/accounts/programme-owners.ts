// Who looks after a programme: inviting another owner, a new link for one who has not joined, removing one.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { findPersonByPublicId, type Person } from "../store/people.ts";
import { isOwner, lockProgramme, type Programme, removeOwner } from "../store/programmes.ts";
import type { Role } from "../store/schema.ts";
import { hasPassword } from "../store/sign-in.ts";
import type { AccountsDeps } from "./deps.ts";
import { type InvitationsDeps, type Invited, invitePerson, renewInvitation } from "./invitations.ts";

export interface Actor {
	personId: number;
	role: Role;
}

export interface OwnerInvited extends Invited {
	/** There is one, and it is not for whoever asked: it goes by mail alone. */
	isLinkWithheld: boolean;
}

export async function inviteOwner(
	deps: InvitationsDeps,
	actor: Actor,
	programme: Programme,
	email: string,
): Promise<Result<OwnerInvited>> {
	const invited = await invitePerson(deps, {
		email,
		role: "owner",
		programme,
		invitedBy: actor.personId,
	});
	return invited.ok ? succeed(showLinkToStaffOnly(actor, invited.value)) : invited;
}

/** A new link for an owner who has not chosen a password yet. Others choose theirs by "Forgot password". */
export async function renewOwnerLink(
	deps: InvitationsDeps,
	actor: Actor,
	programme: Programme,
	personPublicId: string,
): Promise<Result<OwnerInvited>> {
	const person = await findOwner(deps, programme, personPublicId);
	if (person === undefined) return unknownOwner();
	if (await hasPassword(deps.store.db, person.public_id)) return alreadyJoined(person.email);
	const renewed = await renewInvitation(deps, person.email, actor.personId);
	return renewed.ok ? succeed(showLinkToStaffOnly(actor, renewed.value)) : renewed;
}

export async function removeProgrammeOwner(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: Actor,
	programme: Programme,
	personPublicId: string,
): Promise<Result<Person>> {
	const person = await findOwner({ store }, programme, personPublicId);
	if (person === undefined) return unknownOwner();
	const isRemoved = await store.transact(async (trx) => {
		// Two owners who remove each other at the same moment would leave nobody.
		await lockProgramme(trx, programme.id);
		if (!(await removeOwner(trx, programme.id, person.id))) return false;
		const note = {
			personId: actor.personId,
			programmeId: programme.id,
			action: "person.removed",
			subject: person.email,
			detail: "owner",
		} as const;
		await noteAudit(trx, note, clock.nowMs());
		return true;
	});
	if (isRemoved) return succeed(person);
	return refuse(
		"not_allowed",
		`${person.email} is the last owner of this programme. Invite another one first.`,
	);
}

/**
 * Whoever holds the link becomes that person, wherever they are invited now or later. Owners only have it mailed:
 * the mailbox is what proves who somebody is.
 */
function showLinkToStaffOnly(actor: Actor, invited: Invited): OwnerInvited {
	const isLinkWithheld = actor.role === "owner" && invited.link !== null;
	return { ...invited, link: isLinkWithheld ? null : invited.link, isLinkWithheld };
}

async function findOwner(
	{ store }: Pick<AccountsDeps, "store">,
	programme: Programme,
	personPublicId: string,
): Promise<Person | undefined> {
	const person = await findPersonByPublicId(store.db, personPublicId);
	if (person === undefined) return undefined;
	return (await isOwner(store.db, programme.id, person.id)) ? person : undefined;
}

function unknownOwner(): ReturnType<typeof refuse> {
	return refuse(
		"unknown_person",
		"This person is no owner of this programme. Reload the page to see who is.",
	);
}

export function alreadyJoined(email: string): ReturnType<typeof refuse> {
	return refuse(
		"not_allowed",
		`${email} has a password already. Whoever forgot theirs chooses a new one on the sign-in page.`,
	);
}
