// Who looks after a programme: inviting another owner, a new link for one who has not joined, removing one.

import type { EndedAccess } from "../domain/ended-access.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { findProgrammeInvitation } from "../store/links.ts";
import { findPersonByPublicId, type Person } from "../store/people.ts";
import { isOwner, lockProgramme, type Programme, removeOwner } from "../store/programmes.ts";
import { hasPassword } from "../store/sign-in.ts";
import type { AccountsDeps, Actor } from "./deps.ts";
import { endAccess } from "./end-access.ts";
import {
	type InvitationsDeps,
	invitePerson,
	renewInvitation,
	type SentInvitation,
	takeInvitationTurn,
} from "./invitations.ts";
import { lockLinksAs, type Maker } from "./links.ts";
import { addressOf, inviteAsOwner, withdrawInvitation } from "./owner-invitations.ts";
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
	actor: Maker,
	programme: Programme,
	email: string,
): Promise<Result<OwnerInvited>> {
	const tooMany = await takeInvitationTurn(deps, actor.personId, email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const invited =
		actor.role === "owner"
			? await inviteAsOwner(deps, actor, programme, email)
			: await invitePerson(deps, { email, role: "owner", programme, invitedBy: actor });
	return invited.ok ? succeed(showLinkToStaffOnly(actor, invited.value)) : invited;
}

/** A new link for an owner who has not chosen a password yet; from staff, one for a new password for who has. */
export async function renewOwnerLink(
	deps: InvitationsDeps,
	actor: Maker,
	programme: Programme,
	personPublicId: string,
): Promise<Result<OwnerInvited>> {
	const waiting = await findProgrammeInvitation(deps.store.db, programme.id, personPublicId);
	if (waiting !== undefined) {
		const email = addressOf(waiting);
		const tooMany = await takeInvitationTurn(deps, actor.personId, email);
		if (tooMany !== null) return { ok: false, fault: tooMany };
		const sent = await inviteAsOwner(deps, actor, programme, email, "new link");
		return sent.ok ? succeed(showLinkToStaffOnly(actor, sent.value)) : sent;
	}
	const person = await findOwner(deps, programme, personPublicId);
	if (person === undefined) return unknownOwner();
	if (await hasPassword(deps.store.db, person.public_id)) {
		const made = await makePasswordLink(deps, actor, person, programme.id);
		return made.ok ? succeed(showLinkToStaffOnly(actor, made.value)) : made;
	}
	const tooMany = await takeInvitationTurn(deps, actor.personId, person.email);
	if (tooMany !== null) return { ok: false, fault: tooMany };
	const renewed = await renewInvitation(deps, person, actor, programme.id);
	return renewed.ok ? succeed(showLinkToStaffOnly(actor, renewed.value)) : renewed;
}

export interface OwnerRemoved {
	email: string;
	name: string;
	/** Null for an invitation that was withdrawn: whose address it is is not said. */
	personId: number | null;
	ended: EndedAccess | null;
}

/**
 * An owner, or an invitation that waits. Whoever is removed from one programme is signed out and loses every link
 * they made for any: simple, and safe; they sign in again for the others.
 */
export async function removeProgrammeOwner(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: Maker,
	programme: Programme,
	personPublicId: string,
): Promise<Result<OwnerRemoved>> {
	const waiting = await findProgrammeInvitation(store.db, programme.id, personPublicId);
	if (waiting !== undefined) {
		const email = addressOf(waiting);
		const withdrawn = await withdrawInvitation({ store, clock }, actor, programme.id, email);
		return withdrawn.ok ? succeed({ email, name: "", personId: null, ended: null }) : withdrawn;
	}
	const person = await findOwner({ store }, programme, personPublicId);
	if (person === undefined) return unknownOwner();
	return store.transact(async (trx) => {
		const signedOut = await lockLinksAs(trx, actor);
		if (signedOut !== null) return signedOut;
		// Two owners who remove each other at the same moment would leave nobody.
		await lockProgramme(trx, programme.id);
		if (!(await removeOwner(trx, programme.id, person.id))) return lastOwner(person.email);
		const [nowMs, programmeId] = [clock.nowMs(), programme.id];
		const { personId } = actor;
		const ended = await endAccess(trx, person, { endedBy: personId, programmeId, nowMs });
		const note = { personId, programmeId, action: "person.removed", subject: person.email } as const;
		await noteAudit(trx, { ...note, detail: "owner" }, nowMs);
		return succeed({ email: person.email, name: person.name, personId: person.id, ended });
	});
}

function lastOwner(email: string): ReturnType<typeof refuse> {
	return refuse("not_allowed", `${email} is the last owner of this programme. Invite another one first.`);
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
