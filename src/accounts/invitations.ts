// Inviting people: the account is made at once, and a one-time link lets its owner choose the password. The link
// is mailed where mail is set up, and shown to staff, who may hand it over.

import { type Fault, type Result, refuse, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { removeProgrammeInvitation } from "../store/links.ts";
import { type Person, setDeactivated } from "../store/people.ts";
import { addOwner, type Programme } from "../store/programmes.ts";
import { hasPassword } from "../store/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { Role } from "../store/tables/people.ts";
import { composeAccessMail, composeInvitationMail } from "./account-mail.ts";
import type { AccountsDeps } from "./deps.ts";
import { INVITATIONS_BY_ONE_PERSON, INVITATIONS_TO_ONE_ADDRESS, takeTurns } from "./limits.ts";
import { INVITATION_DAYS, issueLink, linkPath, lockLinksAs, type Maker } from "./links.ts";
import type { MailDispatcher } from "./mail-dispatcher.ts";
import { findOrMakePerson, parseEmail, parseRole } from "./people.ts";

export interface InvitationsDeps extends Pick<AccountsDeps, "store" | "clock" | "random"> {
	mails: MailDispatcher;
	publicUrl: string;
}

export interface InvitationInput {
	email: string;
	role: string;
	/** What an owner is to look after; null for staff. */
	programme: Pick<Programme, "id" | "name" | "public_id"> | null;
	/** Null: the command line. */
	invitedBy: Maker | null;
}

export interface SentInvitation {
	person: Pick<Person, "email">;
	/** Null for somebody who can sign in already. Shown this once. */
	link: string | null;
	isMailed: boolean;
	/** Not an invitation: somebody who has joined chooses a new password with it. */
	isForPassword?: boolean;
}

export interface Invited extends SentInvitation {
	person: Person;
}

export async function invitePerson(deps: InvitationsDeps, input: InvitationInput): Promise<Result<Invited>> {
	const email = parseEmail(input.email);
	if (!email.ok) return email;
	const role = parseRole(input.role);
	if (!role.ok) return role;
	const welcomed = await deps.store.transact(async (trx) => {
		const signedOut = await lockLinksAs(trx, input.invitedBy);
		if (signedOut !== null) return signedOut;
		const found = await findOrMakeInvitee(trx, deps, email.value, role.value, input.programme !== null);
		return found.ok ? welcomePerson(trx, deps, found.value, input) : found;
	});
	deps.mails.wake();
	return welcomed;
}

/**
 * In the caller's transaction, which writes the mail too: to be followed by `wake`. Somebody who had left and is asked
 * back may sign in again.
 */
export async function welcomePerson(
	trx: Db,
	deps: Omit<InvitationsDeps, "store">,
	person: Person,
	{ programme, invitedBy }: Pick<InvitationInput, "programme" | "invitedBy">,
): Promise<Result<Invited>> {
	const link = (await hasPassword(trx, person.public_id))
		? succeed(null)
		: await issueInvitation(trx, deps, person, programme?.id ?? null, invitedBy);
	if (!link.ok) return link;
	if (programme !== null) {
		await addOwner(trx, programme.id, person.id);
		await removeProgrammeInvitation(trx, programme.id, person.email);
	}
	await noteInvited(trx, deps, person, { programmeId: programme?.id ?? null, invitedBy }, person.role);
	return succeed(await writeInvitation(trx, deps, person, link.value, programme));
}

/** A new link for somebody who has not joined yet. The one before stops working. */
export async function renewInvitation(
	deps: InvitationsDeps,
	person: Person,
	invitedBy: Maker | null,
	/** Where it was asked for; null for staff, and on the command line. */
	programmeId: number | null = null,
): Promise<Result<Invited>> {
	const renewed = await deps.store.transact(async (trx) => {
		const link = await issueInvitation(trx, deps, person, programmeId, invitedBy);
		if (!link.ok) return link;
		await noteInvited(trx, deps, person, { programmeId, invitedBy }, "new link");
		return succeed(await writeInvitation(trx, deps, person, link.value, null));
	});
	deps.mails.wake();
	return renewed;
}

async function issueInvitation(
	trx: Db,
	deps: Pick<InvitationsDeps, "clock" | "random">,
	{ id: personId, role }: Person,
	programmeId: number | null,
	maker: Maker | null,
): Promise<Result<string>> {
	const purpose = role === "staff" ? "staff_invitation" : "owner_invitation";
	const link = await issueLink(trx, deps, { purpose, personId, programmeId, maker });
	if (link.ok) await setDeactivated(trx, personId, null);
	return link;
}

async function noteInvited(
	trx: Db,
	{ clock }: Pick<InvitationsDeps, "clock">,
	{ email: subject }: Person,
	{ programmeId, invitedBy }: { programmeId: number | null; invitedBy: Maker | null },
	detail: string,
): Promise<void> {
	const personId = invitedBy?.personId ?? null;
	const note = { personId, programmeId, action: "person.invited", subject, detail } as const;
	await noteAudit(trx, note, clock.nowMs());
}

/** To be asked by whatever a page lets people do: each invitation may become a mail. Null: go ahead. */
export async function takeInvitationTurn(
	{ store, clock }: Pick<InvitationsDeps, "store" | "clock">,
	invitedBy: number,
	email: string,
): Promise<Fault | null> {
	const turns = [
		{ limit: INVITATIONS_BY_ONE_PERSON, subject: String(invitedBy) },
		{ limit: INVITATIONS_TO_ONE_ADDRESS, subject: email.trim().toLowerCase() },
	];
	return takeTurns(store.db, turns, clock.nowMs());
}

/** Refused for somebody of the other role, and where there is nothing to invite them to. */
export async function findOrMakeInvitee(
	trx: Db,
	deps: Pick<InvitationsDeps, "clock" | "random">,
	email: string,
	role: Role,
	isForProgramme: boolean,
): Promise<Result<Person>> {
	const person = await findOrMakePerson(trx, deps, email, role);
	const isUseful = isForProgramme || !(await hasPassword(trx, person.public_id));
	if (person.role === role && isUseful) return succeed(person);
	return refuse("email_taken", `${email} has an account already. Use another address.`, "email");
}

async function writeInvitation(
	trx: Db,
	{ mails, publicUrl }: Pick<InvitationsDeps, "mails" | "publicUrl">,
	person: Person,
	/** Null for somebody who can sign in already. */
	token: string | null,
	programme: Pick<Programme, "name"> | null,
): Promise<Invited> {
	const programmeName = programme?.name ?? null;
	const link = token === null ? null : `${publicUrl}${linkPath(token)}`;
	if (link !== null) {
		const mail = { to: person.email, link, programmeName, validDays: INVITATION_DAYS };
		await mails.enqueue(trx, composeInvitationMail(mail));
	} else if (programmeName !== null) {
		await mails.enqueue(trx, composeAccessMail(person.email, programmeName, publicUrl));
	}
	return { person, link, isMailed: mails.isOn };
}
