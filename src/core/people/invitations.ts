// Invitations, and password links that staff make for people. Staff may know who has an account, so they admit a
// person, which creates the account and adds the programme or partner to it at once. An invitation by an owner or by a
// partner's people must not reveal who has an account. It is an offer, which has no effect until somebody who reads the
// mailbox accepts it.

import { judgeErasedPartner, judgeErasedPerson } from "../domain/erasure.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { Place, SharedPlace } from "../domain/place.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { MailDispatcher } from "../mail/dispatcher.ts";
import {
	composeAcceptedMail,
	composeAccessMail,
	composeInvitationMail,
	composeOfferMail,
} from "../mail/letters.ts";
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
import { findColleague, issueSignInLink } from "./sign-in-links.ts";

export interface InvitationsDeps extends Pick<AccountsDeps, "store" | "clock" | "random"> {
	mails: MailDispatcher;
	publicUrl: string;
}

export interface SentLink {
	email: string;
	/**
	 * Link of the invitation, shown only once. Null if the person can already sign in, or if the link is only mailed.
	 */
	link: string | null;
	/** True if the actor may not see the link, and may not even learn whether a link was made. */
	isLinkWithheld: boolean;
	isMailed: boolean;
	/** True if the link is for choosing a new password. Otherwise it is an invitation. */
	isForPassword: boolean;
	/** True if the person has an earlier invitation that is still valid, so that no new link was made. */
	isInvitedAlready: boolean;
}

/**
 * Invites a person to a programme or partner. If staff, the command line or the service invites, the person is a
 * member at once. Otherwise the invitation is an offer that the person must accept.
 */
export async function invite(
	deps: InvitationsDeps,
	actor: Actor,
	place: SharedPlace,
	emailText: string,
): Promise<Result<SentLink>> {
	const parsed = parseEmail(emailText);
	if (!parsed.ok) return parsed;
	const email = parsed.value;
	if (actor.kind === "shop") return sendOffer(deps, actor, place, email, detailOf(place));
	return sendAs(deps, actor, email, permissionFor(place), async (trx) => {
		if (place.kind === "partner") {
			const partner = await findPartnerById(trx, place.partner.id);
			const judged = partner === undefined ? succeed(true) : judgeErasedPartner(partner);
			if (!judged.ok) return judged;
		}
		const found = await findOrCreateInvitee(trx, deps, email, "shop");
		if (!found.ok) return found;
		const person = found.value;
		if (place.kind === "programme") {
			const present = await findRole(trx, place.programme.id, person.id);
			// A person who was invited with the same role, and has not joined yet, may be invited again.
			const isInvited = present === place.role && !(await hasPassword(trx, person.id));
			if (present !== undefined && !isInvited) return alreadyThere(place, email);
		}
		return succeed(await admit(trx, deps, person, place, actor));
	});
}

export async function inviteStaff(
	deps: InvitationsDeps,
	actor: Actor,
	emailText: string,
): Promise<Result<SentLink>> {
	const email = parseEmail(emailText);
	if (!email.ok) return email;
	return sendAs(deps, actor, email.value, STAFF, async (trx) => {
		const found = await findOrCreateInvitee(trx, deps, email.value, "staff");
		return found.ok ? succeed(await admit(trx, deps, found.value, { kind: "staff" }, actor)) : found;
	});
}

/**
 * Adds a person to a place at once and, if they have no password yet, makes a link with which they choose one. It runs in
 * the caller's transaction, which also stores the mail. The caller calls `mails.wake` afterwards. A person whose account
 * was deactivated may sign in again.
 */
export async function admit(
	trx: Db,
	deps: Omit<InvitationsDeps, "store">,
	person: Locked<Person>,
	place: Place,
	inviter: AuditedActor,
): Promise<SentLink> {
	if (place.kind === "programme") {
		await addToProgramme(trx, place.programme.id, person.id, place.role);
		await removeProgrammeInvitation(trx, place.programme.id, person.email);
	} else if (place.kind === "partner") {
		await addPartnerPerson(trx, place.partner.id, person.id);
		await removePartnerInvitation(trx, place.partner.id, person.email);
	}
	await noteInvited(trx, deps, inviter, place, person.email, detailOf(place));
	return sendWayIn(trx, deps, person, place, inviter);
}

/** Mails a person how to sign in. The mail contains a link only if the person has no password yet. */
async function sendWayIn(
	trx: Db,
	deps: Omit<InvitationsDeps, "store">,
	person: Locked<Person>,
	place: Place,
	inviter: AuditedActor,
): Promise<SentLink> {
	const { mails, publicUrl } = deps;
	const { id: personId, email } = person;
	const isShared = place.kind === "programme" || place.kind === "partner";
	if (await hasPassword(trx, personId)) {
		if (isShared) await mails.enqueue(trx, composeAccessMail(email, place, publicUrl));
		return describeSent(deps, inviter, { email, link: null });
	}
	// Anybody can apply with another person's address, so an accepted application must not replace an invitation that the
	// person already has.
	const isAccepted = place.kind === "partner" && place.accepted !== undefined;
	if (isAccepted && (await hasOpenInvitation(trx, personId, deps.clock.nowMs()))) {
		await mails.enqueue(trx, composeAcceptedMail(email, place));
		return describeSent(deps, inviter, { email, link: null, isInvitedAlready: true });
	}
	await updatePerson(trx, person, { deactivated_at_ms: null });
	const isForStaff = place.kind === "staff";
	const madeBy = personIdOf(inviter);
	const path = await issueSignInLink(trx, deps, {
		purpose: isForStaff ? "staff_invitation" : "programme_invitation",
		personId,
		programmeId: programmeIdOf(place),
		madeBy,
	});
	const link = `${publicUrl}${path}`;
	// An accepted applicant does not learn which person of the shop accepted the application.
	const colleague = isForStaff ? await findColleague(trx, madeBy, "staff") : null;
	await mails.enqueue(trx, composeInvitationMail(email, link, place, colleague));
	return describeSent(deps, inviter, { email, link });
}

async function noteInvited(
	trx: Db,
	{ clock }: Pick<InvitationsDeps, "clock">,
	inviter: AuditedActor,
	place: Place,
	email: string,
	detail: string,
): Promise<void> {
	const note = { personId: personIdOf(inviter), programmeId: programmeIdOf(place), subject: email, detail };
	await noteAudit(trx, { ...note, action: "person.invited" }, clock.nowMs());
}

function detailOf(place: Place): string {
	switch (place.kind) {
		case "staff":
			return "staff";
		case "account":
			return "shop";
		case "programme":
			return place.role;
		case "partner":
			return place.partner.name;
		default:
			return place satisfies never;
	}
}

const NEW_LINK = "new link";
const CHANGED_INVITATION =
	"Somebody has withdrawn or changed this invitation meanwhile. Reload the page, and invite the person again if needed.";

function permissionFor(place: Place): Permission {
	if (place.kind === "programme") return inProgramme(place.programme.id);
	return place.kind === "partner" ? forPartner(place.partner.id) : STAFF;
}

function programmeIdOf(place: Place): number | null {
	return place.kind === "programme" ? place.programme.id : null;
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
 * Sends the open invitation of an owner or of a partner's people again, with a new link. It stays an offer, also if staff
 * send it. `isOpen` reads the invitation again in the transaction, because it may have been withdrawn or replaced.
 */
export function renewOffer(
	deps: InvitationsDeps,
	actor: PersonActor,
	place: SharedPlace,
	email: string,
	isOpen: (trx: Db) => Promise<boolean>,
): Promise<Result<SentLink>> {
	return sendOffer(deps, actor, place, email, NEW_LINK, isOpen);
}

/** Mails an offer. Whoever reads the mailbox can accept it with the link in the mail. */
function sendOffer(
	deps: InvitationsDeps,
	actor: PersonActor,
	place: SharedPlace,
	email: string,
	detail: string,
	isOpen?: (trx: Db) => Promise<boolean>,
): Promise<Result<SentLink>> {
	return sendAs(deps, actor, email, permissionFor(place), async (trx) => {
		const { personId: madeBy } = actor;
		if (isOpen !== undefined && !(await isOpen(trx))) return refuse("changed_meanwhile", CHANGED_INVITATION);
		const invitee = await findPersonByEmail(trx, email);
		// This refusal reveals nothing new, because the page already lists these people.
		if (invitee !== undefined && (await belongsTo(trx, place, invitee.id))) return alreadyThere(place, email);
		const target =
			place.kind === "programme"
				? { programmeId: place.programme.id, role: place.role }
				: { partnerId: place.partner.id };
		const order = { purpose: "programme_invitation", email, ...target, madeBy } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		await noteInvited(trx, deps, actor, place, email, detail);
		const mail = composeOfferMail(email, link, place, await findColleague(trx, madeBy, "shop"));
		// Staff already see every programme and partner. They get no mail, and the sender does not learn that the
		// address belongs to staff.
		await deps.mails.enqueue(trx, { ...mail, isWithheld: invitee?.kind === "staff" });
		return succeed(describeSent(deps, actor, { email, link }));
	});
}

async function belongsTo(trx: Db, place: SharedPlace, personId: number): Promise<boolean> {
	if (place.kind === "partner") return signsInFor(trx, place.partner.id, personId);
	return (await findRole(trx, place.programme.id, personId)) !== undefined;
}

function alreadyThere({ kind }: SharedPlace, email: string): ReturnType<typeof refuse> {
	const text =
		kind === "programme"
			? `${email} is in this programme already. Change their role, or send a new link, in the list above.`
			: `${email} signs in for this partner already.`;
	return refuse("email_taken", text, "email");
}

/**
 * Makes a new link for a person, which replaces the previous one. A person who has not joined yet or was
 * deactivated joins with it, and a person who has a password chooses a new one with it.
 */
export async function renewLink(
	deps: InvitationsDeps,
	actor: Actor,
	personId: number,
	/** Programme or partner on whose page the link was requested. */
	place: Place,
): Promise<Result<SentLink>> {
	if (await hasPassword(deps.store.db, personId)) {
		return makePasswordLink(deps, actor, personId, programmeIdOf(place));
	}
	const { email } = await requirePerson(deps, personId);
	return sendAs(deps, actor, email, permissionFor(place), async (trx) => {
		const person = await lockPerson(trx, "id", personId);
		if (person === undefined) throw new Error("people are never deleted");
		const judged = judgeErasedPerson(person);
		if (!judged.ok) return judged;
		await noteInvited(trx, deps, actor, place, email, NEW_LINK);
		return succeed(await sendWayIn(trx, deps, person, place, actor));
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
			// The invitation ends, because the new link replaces it.
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

/** Returns the person with this id. A missing person is a programming error, because people are never deleted. */
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
	// This value does not depend on whether a link was made, so that an owner does not learn whether the person can
	// already sign in.
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
