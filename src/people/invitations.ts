// Inviting people, and links for a new password made by staff. Staff know who has an account: what they ask for makes the
// account, or adds the programme to it, at once. An owner's invitation tells nothing about who has an account, and makes
// nobody anything, until whoever has the mailbox accepts it.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { MailDispatcher } from "../mail/dispatcher.ts";
import { composeAccessMail, composeInvitationMail } from "../mail/letters.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { addPartnerPerson } from "../store/queries/partners.ts";
import { findPersonByEmail, type Person, updatePerson } from "../store/queries/people.ts";
import { addToProgramme, findRole } from "../store/queries/programme-people.ts";
import { hasPassword } from "../store/queries/sign-in.ts";
import { removeProgrammeInvitation } from "../store/queries/sign-in-links.ts";
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
import { findOrMakePerson, parseEmail } from "./people.ts";
import { issueSignInLink, type Membership, type PartnerMembership } from "./sign-in-links.ts";

export interface InvitationsDeps extends Pick<AccountsDeps, "store" | "clock" | "random"> {
	mails: MailDispatcher;
	publicUrl: string;
}

export interface InvitationInput {
	email: string;
	/** Null: to the staff. */
	membership: Membership | PartnerMembership | null;
	invitedBy: Actor;
}

export interface SentLink {
	email: string;
	/** Shown this once. Null for somebody who can sign in already, and where it goes by mail alone. */
	link: string | null;
	/** If there is one, it is not for whoever asked. */
	isLinkWithheld: boolean;
	isMailed: boolean;
	/** Not an invitation: somebody who has joined chooses a new password with it. */
	isForPassword: boolean;
}

export async function invitePerson(deps: InvitationsDeps, input: InvitationInput): Promise<Result<SentLink>> {
	const email = parseEmail(input.email);
	if (!email.ok) return email;
	const { membership, invitedBy } = input;
	return sendAs(deps, invitedBy, email.value, programmeIdOf(membership), async (trx) => {
		const found = await findOrMakeInvitee(trx, deps, email.value, membership === null ? "staff" : "shop");
		if (!found.ok) return found;
		if (membership !== null && "role" in membership && !(await isWelcome(trx, found.value, membership)))
			return alreadyThere(email.value);
		return succeed(await welcomePerson(trx, deps, found.value, membership, invitedBy));
	});
}

/**
 * In the caller's transaction, which writes the mail too: to be followed by `wake`. Somebody who had left and is asked
 * back may sign in again.
 */
export async function welcomePerson(
	trx: Db,
	deps: Omit<InvitationsDeps, "store">,
	person: Person,
	/** Null: the staff, or somebody of a shop who has a new link made for them on the command line. */
	membership: Membership | PartnerMembership | null,
	maker: ActingPerson | CommandLine | Service,
	isRenewed = false,
): Promise<SentLink> {
	const { mails, publicUrl } = deps;
	const { id: personId, email, kind } = person;
	const programmeId = programmeIdOf(membership);
	if (membership !== null && !isRenewed) await addTo(trx, membership, person);
	const note = { personId: personIdOf(maker), programmeId, action: "person.invited" } as const;
	const as = membership === null ? kind : "role" in membership ? membership.role : membership.partner.name;
	const detail = isRenewed ? "new link" : as;
	await noteAudit(trx, { ...note, subject: email, detail }, deps.clock.nowMs());
	if (await hasPassword(trx, person.public_id)) {
		if (membership !== null) await mails.enqueue(trx, composeAccessMail(email, membership, publicUrl));
		return sentLink(deps, maker, { email, link: null });
	}
	await updatePerson(trx, personId, { deactivated_at_ms: null });
	const purpose = kind === "staff" ? "staff_invitation" : "programme_invitation";
	const link = `${publicUrl}${await issueSignInLink(trx, deps, { purpose, personId, programmeId, madeBy: personIdOf(maker) })}`;
	await mails.enqueue(trx, composeInvitationMail(email, link, { kind, membership, isByOwner: false }));
	return sentLink(deps, maker, { email, link });
}

/** Null for the staff, and for partners. */
function programmeIdOf(membership: Membership | PartnerMembership | null): number | null {
	return membership !== null && "role" in membership ? membership.programme.id : null;
}

async function addTo(trx: Db, membership: Membership | PartnerMembership, { id, email }: Person) {
	if (!("role" in membership)) return addPartnerPerson(trx, membership.partner.id, id);
	await addToProgramme(trx, membership.programme.id, id, membership.role);
	await removeProgrammeInvitation(trx, membership.programme.id, email);
}

/** Refused for somebody of the other kind, and for staff who have joined: there is nothing to invite them to. */
export async function findOrMakeInvitee(
	trx: Db,
	deps: Pick<InvitationsDeps, "clock" | "random">,
	email: string,
	kind: PersonKind,
): Promise<Result<Person>> {
	const person = await findOrMakePerson(trx, deps, email, kind);
	const isUseful = kind === "shop" || !(await hasPassword(trx, person.public_id));
	if (person.kind === kind && isUseful) return succeed(person);
	return refuse("email_taken", `${email} has an account already. Use another address.`, "email");
}

/** Whoever has not joined yet may be sent another link; what they are is changed on the list. */
async function isWelcome(
	trx: Db,
	{ id, public_id }: Person,
	{ programme, role }: Membership,
): Promise<boolean> {
	const present = await findRole(trx, programme.id, id);
	return present === undefined || (present === role && !(await hasPassword(trx, public_id)));
}

function alreadyThere(email: string): ReturnType<typeof refuse> {
	const text = `${email} is in this programme already. Change their role, or send a new link, in the list above.`;
	return refuse("email_taken", text, "email");
}

/** An owner invites somebody to the programme. */
export async function inviteByOwner(
	deps: InvitationsDeps,
	maker: SignedInPerson,
	{ programme, role }: Membership,
	emailText: string,
	isRenewed = false,
): Promise<Result<SentLink>> {
	const parsed = parseEmail(emailText);
	if (!parsed.ok) return parsed;
	const email = parsed.value;
	return sendAs(deps, maker, email, programme.id, async (trx) => {
		const known = await findPersonByEmail(trx, email);
		// Nothing that the list on the same page does not show.
		if (known !== undefined && (await findRole(trx, programme.id, known.id)) !== undefined) {
			return alreadyThere(email);
		}
		const programmeId = programme.id;
		const order = {
			purpose: "programme_invitation",
			email,
			programmeId,
			role,
			madeBy: maker.personId,
		} as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		const note = { personId: maker.personId, programmeId, action: "person.invited" } as const;
		const detail = isRenewed ? "new link" : role;
		await noteAudit(trx, { ...note, subject: email, detail }, deps.clock.nowMs());
		const membership = { programme, role };
		const mail = composeInvitationMail(email, link, { kind: "shop", membership, isByOwner: true });
		// Staff see every programme and are in none: there is nothing to accept, and the owner need not know.
		await deps.mails.enqueue(trx, { ...mail, isWithheld: known?.kind === "staff" });
		return succeed(sentLink(deps, maker, { email, link }));
	});
}

/**
 * For one who has not joined, or was deactivated, to join with; for one who has, to choose a new password with. The one
 * before stops working.
 */
export async function renewLink(
	deps: InvitationsDeps,
	maker: Actor,
	person: Person,
	/** Where it was asked for; null on the list of the staff, and on the command line. */
	membership: Membership | PartnerMembership | null,
): Promise<Result<SentLink>> {
	const programmeId = programmeIdOf(membership);
	if (await hasPassword(deps.store.db, person.public_id)) {
		return makePasswordLink(deps, maker, person, programmeId);
	}
	return sendAs(deps, maker, person.email, programmeId, async (trx) =>
		succeed(await welcomePerson(trx, deps, person, membership, maker, true)),
	);
}

/**
 * For those who lost their mailbox, or where no mail can be sent; the password they have stays until the link is used. It
 * goes to whoever asked, never by mail, and owners cannot make one: whoever holds it becomes that person.
 */
export async function makePasswordLink(
	deps: InvitationsDeps,
	maker: Actor,
	{ id: personId, email }: Person,
	programmeId: number | null,
): Promise<Result<SentLink>> {
	if (maker.kind === "shop") {
		const whomToAsk =
			"People who forgot theirs choose a new one on the sign-in page, or ask the network's staff for a link.";
		return refuse("not_allowed", `${email} has a password already. ${whomToAsk}`);
	}
	// Whoever finds a browser signed in must not make the account their own.
	if (personId === personIdOf(maker)) return refuse("not_allowed", "Change your own password under Account.");
	return sendAs(deps, maker, email, programmeId, async (trx) => {
		const order = { purpose: "password_link", personId, programmeId, madeBy: personIdOf(maker) } as const;
		const link = `${deps.publicUrl}${await issueSignInLink(trx, deps, order)}`;
		// The person is mailed that there is one, and not the link: the mailbox may be what was lost.
		const note = { personId: personIdOf(maker), programmeId, action: "password.link_made" } as const;
		await noteAudit(trx, { ...note, subject: email }, deps.clock.nowMs());
		return succeed(sentLink(deps, maker, { email, link, isForPassword: true }));
	});
}

/** Each may become a mail: it counts against the limits of whoever asks on a page. The mails it wrote are then sent. */
export async function sendAs<Sent extends SentLink>(
	deps: InvitationsDeps,
	maker: Actor,
	email: string,
	/** Whose people it is about: see `programmeIdOf`. */
	programmeId: number | null,
	work: (trx: Db) => Promise<Result<Sent>>,
): Promise<Result<Sent>> {
	if (maker.kind === "shop" || maker.kind === "staff") {
		const uses = [
			{ limit: LIMITS.mailsBy, subject: String(maker.personId) },
			{ limit: LIMITS.mailsTo, subject: `invitation: ${email}` },
		];
		const tooMany = await useLimits(deps.store.db, uses, deps.clock.nowMs());
		if (tooMany !== null) return tooMany;
	}
	const sent = await (programmeId === null
		? transactAs(deps.store, maker, work)
		: transactInProgramme(deps.store, maker, programmeId, work));
	deps.mails.wake();
	return sent;
}

/**
 * Whoever holds the link becomes that person, wherever they are invited now or later. Owners only have it mailed: the
 * mailbox is what proves who somebody is.
 */
function sentLink(
	{ mails }: Pick<InvitationsDeps, "mails">,
	maker: ActingPerson | CommandLine | Service,
	{ email, link, isForPassword = false }: { email: string; link: string | null; isForPassword?: boolean },
): SentLink {
	// Also where there is none: an owner does not learn who can sign in already.
	const isLinkWithheld = maker.kind === "shop";
	return { email, link: isLinkWithheld ? null : link, isLinkWithheld, isMailed: mails.isOn, isForPassword };
}

/** Null for a link that others can open, too. */
export function sayOpensOnlyHere(link: string): string | null {
	if (!/^https?:\/\/(?:localhost|127\.|\[::1\])/.test(link)) return null;
	return "This link opens only on the machine that the service runs on. For others, set PUBLIC_URL to the service's address and create a new link.";
}
