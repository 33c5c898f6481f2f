// Invitations, and password links that staff make for people. Staff may know who has an account, so their
// invitation creates the account, or adds the programme to it, at once. An invitation by an owner or by a
// partner's people must not reveal who has an account. It has no effect until somebody who reads the mailbox
// accepts it.

import { judgeErasedPartner, judgeErasedPerson } from "../domain/erasure.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { MailDispatcher } from "../mail/dispatcher.ts";
import { composeAcceptedMail, composeAccessMail, composeInvitationMail } from "../mail/letters.ts";
import type { Locked } from "../store/locked.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { addPartnerPerson, signsInFor } from "../store/queries/partner-people.ts";
import { findPartnerById } from "../store/queries/partners.ts";
import { hasPassword } from "../store/queries/passwords.ts";
import {
	findPersonByEmail,
	findPersonById,
	lockPerson,
	type Person,
	updatePerson,
} from "../store/queries/people.ts";
import { addToProgramme, findRole } from "../store/queries/programme-people.ts";
import {
	hasOpenInvitation,
	removePartnerInvitation,
	removeProgrammeInvitation,
	removeSignInLinksOf,
} from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import {
	type Actor,
	type AuditedActor,
	COMMAND_LINE,
	forPartner,
	inProgramme,
	type Permission,
	type PersonActor,
	personIdOf,
	STAFF,
	transactAs,
} from "./actor.ts";
import type { AccountsDeps, CompanySignIn } from "./deps.ts";
import { LIMITS, mailUseOf, useLimits } from "./limits.ts";
import { findOrCreatePerson, parseEmail } from "./people.ts";
import { findColleague, issueSignInLink, type Membership, type PartnerMembership } from "./sign-in-links.ts";

export interface InvitationsDeps extends Pick<AccountsDeps, "store" | "clock" | "random"> {
	mails: MailDispatcher;
	publicUrl: string;
}

export interface InvitationInput {
	email: string;
	/** The programme or partner that the person is invited to, or null for an invitation to the staff. */
	membership: Membership | PartnerMembership | null;
	invitedBy: Actor;
}

export interface SentLink {
	email: string;
	/**
	 * The link, which is shown only once. Null if the person can already sign in, or if the link is only
	 * mailed.
	 */
	link: string | null;
	/** True if the actor may not see the link. The actor then cannot tell whether there is one. */
	isLinkWithheld: boolean;
	isMailed: boolean;
	/** True if the link is for a new password and not an invitation. */
	isForPassword: boolean;
	/** True if the person has an earlier invitation that is still valid, so that no new link was made. */
	isInvitedAlready: boolean;
}

export async function invitePerson(deps: InvitationsDeps, input: InvitationInput): Promise<Result<SentLink>> {
	const email = parseEmail(input.email);
	if (!email.ok) return email;
	const { membership, invitedBy } = input;
	return sendAs(deps, invitedBy, email.value, invitationPermission(membership), async (trx) => {
		if (membership !== null && "partner" in membership) {
			const partner = await findPartnerById(trx, membership.partner.id);
			const judged = partner === undefined ? succeed(true) : judgeErasedPartner(partner);
			if (!judged.ok) return judged;
		}
		const found = await findOrCreateInvitee(trx, deps, email.value, membership === null ? "staff" : "shop");
		if (!found.ok) return found;
		if (membership !== null && "role" in membership && !(await mayBeInvited(trx, found.value, membership))) {
			return alreadyThere(email.value);
		}
		return succeed(await welcomePerson(trx, deps, found.value, membership, invitedBy));
	});
}

/**
 * Adds a person to a programme or partner and, if they have no password yet, makes a link with which they
 * choose one. It runs in the caller's transaction, which also stores the mail. The caller calls `mails.wake`
 * afterwards. A person whose account was deactivated may sign in again.
 */
export async function welcomePerson(
	trx: Db,
	deps: Omit<InvitationsDeps, "store">,
	person: Locked<Person>,
	/**
	 * The programme or partner. Null for staff, and for a person of a shop whom the command line created.
	 */
	membership: Membership | PartnerMembership | null,
	inviter: AuditedActor,
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
	// An applicant whom a shop accepted does not learn which of its people did.
	const colleague = kind === "staff" ? await findColleague(trx, madeBy, kind) : null;
	await mails.enqueue(
		trx,
		composeInvitationMail(email, link, { kind, membership, isByOwner: false, inviter: colleague }),
	);
	return describeSent(deps, inviter, { email, link });
}

/**
 * Returns whether the membership comes from an application that was accepted. Anybody can apply with another
 * person's address, so such a membership must not replace an invitation that the person already has.
 */
function isAccepted(membership: Membership | PartnerMembership | null): membership is PartnerMembership {
	return membership !== null && "accepted" in membership && membership.accepted !== undefined;
}

function nameMembership({ kind }: Person, membership: Membership | PartnerMembership | null): string {
	if (membership === null) return kind;
	return "role" in membership ? membership.role : membership.partner.name;
}

/** Returns the id of the programme that the person is invited to, or null for staff and partners. */
/** Returns the permission to invite people to a programme, to a partner or, without a membership, to the staff. */
function invitationPermission(membership: Membership | PartnerMembership | null): Permission {
	if (membership === null) return STAFF;
	return "role" in membership ? inProgramme(membership.programme.id) : forPartner(membership.partner.id);
}

function programmeIdOf(membership: Membership | PartnerMembership | null): number | null {
	return membership !== null && "role" in membership ? membership.programme.id : null;
}

async function addMembership(
	trx: Db,
	membership: Membership | PartnerMembership,
	{ id, email }: Person,
): Promise<void> {
	if (!("role" in membership)) {
		await addPartnerPerson(trx, membership.partner.id, id);
		return removePartnerInvitation(trx, membership.partner.id, email);
	}
	await addToProgramme(trx, membership.programme.id, id, membership.role);
	await removeProgrammeInvitation(trx, membership.programme.id, email);
}

/**
 * Finds the person with this email address, or creates a person of the given kind ("shop" or "staff").
 * Refuses an existing person of the other kind, and staff who have already joined.
 */
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

/**
 * Returns whether the person is new to the programme, or was invited with the same role and has not joined
 * yet.
 */
async function mayBeInvited(trx: Db, { id }: Person, { programme, role }: Membership): Promise<boolean> {
	const present = await findRole(trx, programme.id, id);
	return present === undefined || (present === role && !(await hasPassword(trx, id)));
}

function alreadyThere(email: string): ReturnType<typeof refuse> {
	const text = `${email} is in this programme already. Change their role, or send a new link, in the list above.`;
	return refuse("email_taken", text, "email");
}

/** Invites a person to a programme in the name of its owner, or to a partner in the name of one of its people. */
export async function inviteByMember(
	deps: InvitationsDeps,
	member: PersonActor,
	membership: Membership | PartnerMembership,
	emailText: string,
	isRenewed = false,
): Promise<Result<SentLink>> {
	const parsed = parseEmail(emailText);
	if (!parsed.ok) return parsed;
	const email = parsed.value;
	const programmeId = programmeIdOf(membership);
	const target =
		"role" in membership ? { programmeId, role: membership.role } : { partnerId: membership.partner.id };
	return sendAs(deps, member, email, invitationPermission(membership), async (trx) => {
		const { personId } = member;
		const invitee = await findPersonByEmail(trx, email);
		// This refusal reveals nothing new, because the page already shows the list of people.
		if (invitee !== undefined && (await isMember(trx, membership, invitee.id))) {
			return "role" in membership ? alreadyThere(email) : signsInAlready(email);
		}
		const order = { purpose: "programme_invitation", email, ...target, madeBy: personId } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		const note = { personId, programmeId, action: "person.invited", subject: email } as const;
		const detail = "role" in membership ? membership.role : membership.partner.name;
		await noteAudit(trx, { ...note, detail: isRenewed ? "new link" : detail }, deps.clock.nowMs());
		const colleague = await findColleague(trx, personId, "shop");
		const mail = composeInvitationMail(email, link, {
			kind: "shop",
			membership,
			isByOwner: true,
			inviter: colleague,
		});
		// Staff already see every programme and partner. They get no mail, and the sender does not learn that the
		// address belongs to staff.
		await deps.mails.enqueue(trx, { ...mail, isWithheld: invitee?.kind === "staff" });
		return succeed(describeSent(deps, member, { email, link }));
	});
}

async function isMember(
	trx: Db,
	membership: Membership | PartnerMembership,
	personId: number,
): Promise<boolean> {
	if ("partner" in membership) return signsInFor(trx, membership.partner.id, personId);
	return (await findRole(trx, membership.programme.id, personId)) !== undefined;
}

function signsInAlready(email: string): ReturnType<typeof refuse> {
	return refuse("email_taken", `${email} signs in for this partner already.`, "email");
}

/**
 * Makes a new link for a person, which replaces the previous one. A person who has not joined yet or was
 * deactivated joins with it, and a person who has a password chooses a new one with it.
 */
export async function renewLink(
	deps: InvitationsDeps,
	actor: Actor,
	personId: number,
	/**
	 * The programme or partner on whose page the link was requested. Null for the list of staff and for the
	 * command line.
	 */
	membership: Membership | PartnerMembership | null,
): Promise<Result<SentLink>> {
	const programmeId = programmeIdOf(membership);
	if (await hasPassword(deps.store.db, personId)) {
		return makePasswordLink(deps, actor, personId, programmeId);
	}
	const { email } = await requirePerson(deps, personId);
	return sendAs(deps, actor, email, invitationPermission(membership), async (trx) => {
		const person = await lockPerson(trx, "id", personId);
		if (person === undefined) throw new Error("people are never deleted");
		const judged = judgeErasedPerson(person);
		if (!judged.ok) return judged;
		return succeed(await welcomePerson(trx, deps, person, membership, actor, true));
	});
}

/**
 * Makes a link with which a person chooses a new password. It is for people who lost access to their mailbox,
 * or if no mail can be sent. The present password works until the link is used. The link is shown to the
 * actor and never mailed. Owners cannot make one, because with the link they could sign in as that person.
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
	// People cannot make a link for themselves. Otherwise anybody who finds an unlocked browser could take over
	// the account.
	if (personId === personIdOf(actor)) return refuse("not_allowed", "Change your own password under Account.");
	return sendAs(deps, actor, email, STAFF, async (trx) => {
		const madeBy = personIdOf(actor);
		const order = { purpose: "password_link", personId, programmeId, madeBy } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		// The mail tells the person that a link was created, but does not contain the link, because somebody else
		// may read the mailbox.
		const note = { personId: madeBy, programmeId, action: "password.link_made", subject: email } as const;
		await noteAudit(trx, note, deps.clock.nowMs());
		return succeed(describeSent(deps, actor, { email, link, isForPassword: true }));
	});
}

/**
 * Makes a link for a person at the command line. It is the way in if nothing else works, so it is only printed and
 * never mailed. A person who has not joined yet or was deactivated joins with it, and a person who has a password
 * chooses a new one. If staff must use the company's account, a link for them is made only with
 * `bypassesCompanySignIn`, and it lets them in without that account.
 */
export async function makeOperatorLink(
	deps: InvitationsDeps & { companySignIn: CompanySignIn | null },
	personId: number,
	{ bypassesCompanySignIn }: { bypassesCompanySignIn: boolean },
): Promise<Result<SentLink>> {
	const { email, kind } = await requirePerson(deps, personId);
	const mustUseProvider = kind === "staff" && deps.companySignIn?.isRequiredForStaff === true;
	if (mustUseProvider && !bypassesCompanySignIn) return refuse("company_account_required", BYPASS_ADVICE);
	return sendAs(deps, COMMAND_LINE, email, STAFF, async (trx) => {
		const isForPassword = await hasPassword(trx, personId);
		if (!isForPassword) {
			const person = await lockPerson(trx, "id", personId);
			if (person === undefined) throw new Error("people are never deleted");
			const judged = judgeErasedPerson(person);
			if (!judged.ok) return judged;
			await updatePerson(trx, person, { deactivated_at_ms: null });
			// The new link replaces the invitation.
			await removeSignInLinksOf(trx, personId);
		}
		const order = { purpose: "operator_link", personId, madeBy: null } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		const note = isForPassword
			? ({ action: "password.link_made" } as const)
			: ({ action: "person.invited", detail: "new link" } as const);
		await noteAudit(trx, { personId: null, subject: email, ...note }, deps.clock.nowMs());
		return succeed(describeSent(deps, COMMAND_LINE, { email, link, isForPassword }));
	});
}

const BYPASS_ADVICE =
	"Staff of this network must sign in with the company's account (RINGBACK_OIDC_STAFF=required), and this link would let them in without it. If the provider cannot be used, run the command again with --bypass-company-sign-in.";

/** Returns the person with this id, who always exists, because people are never deleted. */
async function requirePerson({ store }: Pick<InvitationsDeps, "store">, personId: number): Promise<Person> {
	const person = await findPersonById(store.db, personId);
	if (person === undefined) throw new Error(`there is no person ${personId}`);
	return person;
}

/**
 * Runs work that may queue mails, and sends the mails afterwards. If a person acts on a page, the mails count
 * against their limit.
 */
export async function sendAs<Sent extends SentLink>(
	deps: InvitationsDeps,
	actor: Actor,
	email: string,
	permission: Permission,
	work: (trx: Db) => Promise<Result<Sent>>,
	/**
	 * The reason for the mail. Answers to applications have a separate limit, because strangers choose the
	 * addresses.
	 */
	reason: "invitation" | "application" = "invitation",
): Promise<Result<Sent>> {
	if (actor.kind === "shop" || actor.kind === "staff") {
		const uses = [mailUseOf(actor), { limit: LIMITS.mailsTo, subject: `${reason}: ${email}` }];
		const tooMany = await useLimits(deps.store.db, uses, deps.clock.nowMs());
		if (tooMany !== null) return tooMany;
	}
	const sent = await transactAs(deps.store, actor, permission, work);
	deps.mails.wake();
	return sent;
}

/**
 * Describes the sent link to the actor. With the link anybody can sign in as the invited person, also to
 * their other programmes. Owners therefore do not see it, and it is only mailed to the mailbox of that
 * person.
 */
export function describeSent(
	{ mails }: Pick<InvitationsDeps, "mails">,
	inviter: AuditedActor,
	sent: Pick<SentLink, "email" | "link"> & Partial<Pick<SentLink, "isForPassword" | "isInvitedAlready">>,
): SentLink {
	// This is true even if there is no link, so that an owner does not learn whether the person can already
	// sign in.
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

/** Returns a warning if the link works only on this machine, otherwise null. */
export function sayOpensOnlyHere(link: string): string | null {
	if (!/^https?:\/\/(?:localhost|127\.|\[::1\])/.test(link)) return null;
	return "This link opens only on the machine that the service runs on. For others, set PUBLIC_URL to the service's address and create a new link.";
}
