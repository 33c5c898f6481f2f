// Inviting people, and password links made by staff. Staff may know who has an account, so their invitation creates the
// account, or adds the programme to it, at once. An owner's invitation does not reveal who has an account, and has no effect
// until the holder of the mailbox accepts it.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { MailDispatcher } from "../mail/dispatcher.ts";
import { composeAcceptedMail, composeAccessMail, composeInvitationMail } from "../mail/letters.ts";
import type { Locked } from "../store/locked.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { addPartnerPerson } from "../store/queries/partners.ts";
import { hasPassword } from "../store/queries/passwords.ts";
import {
	findPersonByEmail,
	findPersonById,
	lockPerson,
	type Person,
	updatePerson,
} from "../store/queries/people.ts";
import { addToProgramme, findRole } from "../store/queries/programme-people.ts";
import { hasOpenInvitation, removeProgrammeInvitation } from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import {
	type ActingPerson,
	type Actor,
	type CommandLine,
	personIdOf,
	type Service,
	type SignedInPerson,
	transactAs,
	transactInProgramme,
} from "./actor.ts";
import type { AccountsDeps } from "./deps.ts";
import { LIMITS, useLimits } from "./limits.ts";
import { findOrCreatePerson, parseEmail } from "./people.ts";
import { issueSignInLink, type Membership, type PartnerMembership } from "./sign-in-links.ts";

export interface InvitationsDeps extends Pick<AccountsDeps, "store" | "clock" | "random"> {
	mails: MailDispatcher;
	publicUrl: string;
}

export interface InvitationInput {
	email: string;
	/** Null for an invitation to the staff. */
	membership: Membership | PartnerMembership | null;
	invitedBy: Actor;
}

export interface SentLink {
	email: string;
	/** Shown only once. Null if the person can sign in already, or if the link is only mailed. */
	link: string | null;
	/** Whether the link is kept from the actor, who then cannot tell if there is one. */
	isLinkWithheld: boolean;
	isMailed: boolean;
	/** Whether the link is for a new password and not an invitation. */
	isForPassword: boolean;
	/** Whether the person has an invitation that is still valid, so that no new link was made. */
	isInvitedAlready: boolean;
}

/** Who invites. A job that imports people has no session. */
type Inviter = ActingPerson | CommandLine | Service;

export async function invitePerson(deps: InvitationsDeps, input: InvitationInput): Promise<Result<SentLink>> {
	const email = parseEmail(input.email);
	if (!email.ok) return email;
	const { membership, invitedBy } = input;
	return sendAs(deps, invitedBy, email.value, programmeIdOf(membership), async (trx) => {
		const found = await findOrCreateInvitee(trx, deps, email.value, membership === null ? "staff" : "shop");
		if (!found.ok) return found;
		if (membership !== null && "role" in membership && !(await mayBeInvited(trx, found.value, membership))) {
			return alreadyThere(email.value);
		}
		return succeed(await welcomePerson(trx, deps, found.value, membership, invitedBy));
	});
}

/**
 * Gives a person their membership and, if they have no password, a link to join. It runs in the caller's transaction, which
 * also stores the mail; the caller then calls `mails.wake`. A person whose access had ended may sign in again.
 */
export async function welcomePerson(
	trx: Db,
	deps: Omit<InvitationsDeps, "store">,
	person: Locked<Person>,
	/** Null for staff, and for a new link that the command line makes for a person of a shop. */
	membership: Membership | PartnerMembership | null,
	inviter: Inviter,
	isRenewed = false,
): Promise<SentLink> {
	const { mails, publicUrl } = deps;
	const { id: personId, email, kind } = person;
	const programmeId = programmeIdOf(membership);
	const madeBy = personIdOf(inviter);
	if (membership !== null && !isRenewed) await addMembership(trx, membership, person);
	const note = { personId: madeBy, programmeId, action: "person.invited", subject: email } as const;
	const detail = isRenewed ? "new link" : nameMembership(person, membership);
	await noteAudit(trx, { ...note, detail }, deps.clock.nowMs());
	if (await hasPassword(trx, personId)) {
		if (membership !== null) await mails.enqueue(trx, composeAccessMail(email, membership, publicUrl));
		return describeSent(deps, inviter, { email, link: null });
	}
	if (isAccepted(membership) && (await hasOpenInvitation(trx, personId, deps.clock.nowMs()))) {
		await mails.enqueue(trx, composeAcceptedMail(email, membership));
		return describeSent(deps, inviter, { email, link: null, isInvitedAlready: true });
	}
	await updatePerson(trx, person, { deactivated_at_ms: null });
	const purpose = kind === "staff" ? "staff_invitation" : "programme_invitation";
	const path = await issueSignInLink(trx, deps, { purpose, personId, programmeId, madeBy });
	const link = `${publicUrl}${path}`;
	await mails.enqueue(trx, composeInvitationMail(email, link, { kind, membership, isByOwner: false }));
	return describeSent(deps, inviter, { email, link });
}

/**
 * Returns whether the person becomes a partner by an application. Anybody can apply with another person's address, so an
 * accepted application must not replace an invitation that the person has.
 */
function isAccepted(membership: Membership | PartnerMembership | null): membership is PartnerMembership {
	return membership !== null && "accepted" in membership && membership.accepted !== undefined;
}

function nameMembership({ kind }: Person, membership: Membership | PartnerMembership | null): string {
	if (membership === null) return kind;
	return "role" in membership ? membership.role : membership.partner.name;
}

/** Returns null for staff, and for partners. */
function programmeIdOf(membership: Membership | PartnerMembership | null): number | null {
	return membership !== null && "role" in membership ? membership.programme.id : null;
}

async function addMembership(
	trx: Db,
	membership: Membership | PartnerMembership,
	{ id, email }: Person,
): Promise<void> {
	if (!("role" in membership)) return addPartnerPerson(trx, membership.partner.id, id);
	await addToProgramme(trx, membership.programme.id, id, membership.role);
	await removeProgrammeInvitation(trx, membership.programme.id, email);
}

/** Refuses a person of the other kind, and staff who have joined already. */
export async function findOrCreateInvitee(
	trx: Db,
	deps: Pick<InvitationsDeps, "clock" | "random">,
	email: string,
	kind: PersonKind,
): Promise<Result<Locked<Person>>> {
	const person = await findOrCreatePerson(trx, deps, email, kind);
	const canGain = kind === "shop" || !(await hasPassword(trx, person.id));
	if (person.kind === kind && canGain) return succeed(person);
	return refuse("email_taken", `${email} has an account already. Use another address.`, "email");
}

/** Tells whether a person is new to the programme, or was invited with the same role and has not joined yet. */
async function mayBeInvited(trx: Db, { id }: Person, { programme, role }: Membership): Promise<boolean> {
	const present = await findRole(trx, programme.id, id);
	return present === undefined || (present === role && !(await hasPassword(trx, id)));
}

function alreadyThere(email: string): ReturnType<typeof refuse> {
	const text = `${email} is in this programme already. Change their role, or send a new link, in the list above.`;
	return refuse("email_taken", text, "email");
}

/** Sends an owner's invitation to their programme. */
export async function inviteByOwner(
	deps: InvitationsDeps,
	owner: SignedInPerson,
	{ programme, role }: Membership,
	emailText: string,
	isRenewed = false,
): Promise<Result<SentLink>> {
	const parsed = parseEmail(emailText);
	if (!parsed.ok) return parsed;
	const email = parsed.value;
	return sendAs(deps, owner, email, programme.id, async (trx) => {
		const invitee = await findPersonByEmail(trx, email);
		// The refusal reveals nothing that the list on the same page does not show.
		if (invitee !== undefined && (await findRole(trx, programme.id, invitee.id)) !== undefined) {
			return alreadyThere(email);
		}
		const { personId } = owner;
		const programmeId = programme.id;
		const order = { purpose: "programme_invitation", email, programmeId, role, madeBy: personId } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		const note = { personId, programmeId, action: "person.invited", subject: email } as const;
		await noteAudit(trx, { ...note, detail: isRenewed ? "new link" : role }, deps.clock.nowMs());
		const membership = { programme, role };
		const mail = composeInvitationMail(email, link, { kind: "shop", membership, isByOwner: true });
		// Staff see every programme and have nothing to accept. They get no mail, and the owner does not learn it.
		await deps.mails.enqueue(trx, { ...mail, isWithheld: invitee?.kind === "staff" });
		return succeed(describeSent(deps, owner, { email, link }));
	});
}

/**
 * Makes a new link for a person, which replaces the one before. A person who has not joined, or was deactivated, joins with
 * it. A person who has a password chooses a new one with it.
 */
export async function renewLink(
	deps: InvitationsDeps,
	actor: Actor,
	personId: number,
	/** Where the link was asked for. Null on the list of staff, and on the command line. */
	membership: Membership | PartnerMembership | null,
): Promise<Result<SentLink>> {
	const programmeId = programmeIdOf(membership);
	if (await hasPassword(deps.store.db, personId)) {
		return makePasswordLink(deps, actor, personId, programmeId);
	}
	const { email } = await requirePerson(deps, personId);
	return sendAs(deps, actor, email, programmeId, async (trx) => {
		const person = await lockPerson(trx, "id", personId);
		if (person === undefined) throw new Error("people are never deleted");
		return succeed(await welcomePerson(trx, deps, person, membership, actor, true));
	});
}

/**
 * Makes a link for a new password, for a person who lost their mailbox, or if no mail can be sent. The present password works
 * until the link is used. The link is shown to the actor and never mailed. Owners cannot make one, because the holder of the
 * link becomes that person.
 */
export async function makePasswordLink(
	deps: InvitationsDeps,
	actor: Actor,
	personId: number,
	programmeId: number | null,
): Promise<Result<SentLink>> {
	const { email } = await requirePerson(deps, personId);
	if (actor.kind === "shop") {
		const advice =
			"People who forgot theirs choose a new one on the sign-in page, or ask the network's staff for a link.";
		return refuse("not_allowed", `${email} has a password already. ${advice}`);
	}
	// Otherwise a browser that was left open would be enough to take over the account.
	if (personId === personIdOf(actor)) return refuse("not_allowed", "Change your own password under Account.");
	return sendAs(deps, actor, email, programmeId, async (trx) => {
		const madeBy = personIdOf(actor);
		const order = { purpose: "password_link", personId, programmeId, madeBy } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		// The mail tells the person that a link was created but does not contain it, because somebody else may
		// have the mailbox.
		const note = { personId: madeBy, programmeId, action: "password.link_made", subject: email } as const;
		await noteAudit(trx, note, deps.clock.nowMs());
		return succeed(describeSent(deps, actor, { email, link, isForPassword: true }));
	});
}

/** People are never deleted, so an id that a use case was given always has a row. */
async function requirePerson({ store }: Pick<InvitationsDeps, "store">, personId: number): Promise<Person> {
	const person = await findPersonById(store.db, personId);
	if (person === undefined) throw new Error(`there is no person ${personId}`);
	return person;
}

/** Runs work that may send a mail, counts it against the limits of a person who acts on a page, and sends the mails. */
export async function sendAs<Sent extends SentLink>(
	deps: InvitationsDeps,
	actor: Actor,
	email: string,
	/** The programme whose people are invited, or null for staff and partners. */
	programmeId: number | null,
	work: (trx: Db) => Promise<Result<Sent>>,
	/** Answers to applications have a limit of their own, because strangers choose the addresses. */
	reason: "invitation" | "application" = "invitation",
): Promise<Result<Sent>> {
	if (actor.kind === "shop" || actor.kind === "staff") {
		const uses = [
			{ limit: LIMITS.mailsBy, subject: String(actor.personId) },
			{ limit: LIMITS.mailsTo, subject: `${reason}: ${email}` },
		];
		const tooMany = await useLimits(deps.store.db, uses, deps.clock.nowMs());
		if (tooMany !== null) return tooMany;
	}
	const sent = await (programmeId === null
		? transactAs(deps.store, actor, work)
		: transactInProgramme(deps.store, actor, programmeId, work));
	deps.mails.wake();
	return sent;
}

/**
 * Describes what was sent, for the actor. The holder of a link becomes that person wherever they are invited, so owners do not
 * see the link. It is only mailed, because the mailbox proves who a person is.
 */
function describeSent(
	{ mails }: Pick<InvitationsDeps, "mails">,
	inviter: Inviter,
	sent: Pick<SentLink, "email" | "link"> & Partial<Pick<SentLink, "isForPassword" | "isInvitedAlready">>,
): SentLink {
	// This is also true if there is no link, so that an owner does not learn who can sign in already.
	const isLinkWithheld = inviter.kind === "shop";
	return {
		isForPassword: false,
		isInvitedAlready: false,
		...sent,
		link: isLinkWithheld ? null : sent.link,
		isLinkWithheld,
		isMailed: mails.isOn,
	};
}

/** Returns a warning if the link opens only on this machine, otherwise null. */
export function sayOpensOnlyHere(link: string): string | null {
	if (!/^https?:\/\/(?:localhost|127\.|\[::1\])/.test(link)) return null;
	return "This link opens only on the machine that the service runs on. For others, set PUBLIC_URL to the service's address and create a new link.";
}
