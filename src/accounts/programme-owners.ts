// Who looks after a programme: inviting another owner, a new link for one who has not joined, removing one.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { findOwnerInvitation } from "../store/owner-invitations.ts";
import { findPersonByPublicId, type Person } from "../store/people.ts";
import { isOwner, lockProgramme, type Programme, removeOwner } from "../store/programmes.ts";
import { hasPassword } from "../store/sign-in.ts";
import type { AccountsDeps, Actor } from "./deps.ts";
import {
	type InvitationsDeps,
	invitePerson,
	renewInvitation,
	type SentInvitation,
	takeInvitationTurn,
} from "./invitations.ts";
import { inviteAsOwner, withdrawInvitation } from "./owner-invitations.ts";
import { makePasswordLink } from "./password-link.ts";

export interface OwnerInvited {
	email: string;
	/** Null where there is none, or it goes by mail alone. */
	link: string | null;
	isMailed: boolean;
	/** There is one, and it is not for whoever asked. */
	isLinkWithheld: boolean;
	isForPassword?: boolean;
}

/** Staff know who has an account and add the programme to it at once; what an owner asks for waits to be accepted. */
export async function inviteOwner(
	deps: InvitationsDeps,
	actor: Actor,
	programme: Programme,
	email: string,
): Promise<Result<OwnerInvited>> {
	const tooMany = await takeInvitationTurn(deps, actor.personId, email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const invited =
		actor.role === "owner"
			? await inviteAsOwner(deps, actor.personId, programme, email)
			: await invitePerson(deps, { email, role: "owner", programme, invitedBy: actor.personId });
	return invited.ok ? succeed(showLinkToStaffOnly(actor, invited.value)) : invited;
}

/** A new link for an owner who has not chosen a password yet; from staff, one for a new password for who has. */
export async function renewOwnerLink(
	deps: InvitationsDeps,
	actor: Actor,
	programme: Programme,
	personPublicId: string,
): Promise<Result<OwnerInvited>> {
	const waiting = await findOwnerInvitation(deps.store.db, programme.id, personPublicId);
	const person = waiting === undefined ? await findOwner(deps, programme, personPublicId) : undefined;
	const email = waiting?.email ?? person?.email;
	if (email === undefined) return unknownOwner();
	if (person !== undefined && (await hasPassword(deps.store.db, person.public_id))) {
		const made = await makePasswordLink(deps, actor, person, programme.id);
		return made.ok ? succeed(showLinkToStaffOnly(actor, made.value)) : made;
	}
	const tooMany = await takeInvitationTurn(deps, actor.personId, email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const renewed =
		waiting === undefined
			? await renewInvitation(deps, email, actor.personId, programme.id)
			: await inviteAsOwner(deps, actor.personId, programme, email, "new link");
	return renewed.ok ? succeed(showLinkToStaffOnly(actor, renewed.value)) : renewed;
}

export async function removeProgrammeOwner(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: Actor,
	programme: Programme,
	personPublicId: string,
): Promise<Result<Pick<Person, "email"> & { id: number | null }>> {
	const waiting = await findOwnerInvitation(store.db, programme.id, personPublicId);
	if (waiting !== undefined) {
		await withdrawInvitation({ store, clock }, actor.personId, waiting);
		return succeed({ email: waiting.email, id: null });
	}
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
function showLinkToStaffOnly(actor: Actor, { person, link, ...sent }: SentInvitation): OwnerInvited {
	const isLinkWithheld = actor.role === "owner" && link !== null;
	return { ...sent, email: person.email, link: isLinkWithheld ? null : link, isLinkWithheld };
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
