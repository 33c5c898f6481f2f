// Inviting people: the account is made at once, and a one-time link lets its owner choose the password. The link
// is mailed where mail is set up, and shown to staff, who may hand it over.

import { type Fault, type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { sha256Hex } from "../domain/signature.ts";
import { noteAudit } from "../store/audit.ts";
import { type NewInvitation, replaceInvitation } from "../store/invitations.ts";
import { removeOwnerInvitations } from "../store/owner-invitations.ts";
import { findPersonByEmail, insertPerson, type Person } from "../store/people.ts";
import { addOwner, type Programme } from "../store/programmes.ts";
import { hasPassword } from "../store/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { Role } from "../store/tables/people.ts";
import { composeAccessMail, composeInvitationMail } from "./account-mail.ts";
import type { AccountsDeps } from "./deps.ts";
import { INVITATIONS_BY_ONE_PERSON, INVITATIONS_TO_ONE_ADDRESS, takeTurn } from "./limits.ts";
import type { MailDispatcher } from "./mail-dispatcher.ts";
import { parseEmail, parseRole } from "./people.ts";

export const DAY_MS = 86_400_000;
/** Long enough for a holiday weekend, short enough for a mailbox that somebody else reads later. */
export const INVITATION_DAYS = 7;
/** 256 bits: nobody guesses one, so a plain hash is enough at rest. */
export const TOKEN_BYTES = 32;

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
	invitedBy: number | null;
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
	const invited = await deps.store.transact(async (trx) => {
		const found = await findOrMakePerson(trx, deps, email.value, role.value, input.programme !== null);
		return found.ok ? succeed(await welcomePerson(trx, deps, found.value, input)) : found;
	});
	return invited.ok ? succeed(mailInvitation(deps, invited.value, input.programme)) : invited;
}

/** In the caller's transaction. To be followed by `mailInvitation` when that has ended well. */
export async function welcomePerson(
	trx: Db,
	deps: Pick<InvitationsDeps, "clock" | "random" | "publicUrl">,
	person: Person,
	{ programme, invitedBy }: Pick<InvitationInput, "programme" | "invitedBy">,
): Promise<{ person: Person; link: string | null }> {
	if (programme !== null) {
		await addOwner(trx, programme.id, person.id);
		await removeOwnerInvitations(trx, programme.id, person.email);
	}
	const link = (await hasPassword(trx, person.public_id))
		? null
		: await makeLink(trx, deps, {
				personId: person.id,
				madeBy: invitedBy,
				lifeMs: INVITATION_DAYS * DAY_MS,
			});
	const note = {
		personId: invitedBy,
		programmeId: programme?.id ?? null,
		action: "person.invited",
		subject: person.email,
		detail: person.role,
	} as const;
	await noteAudit(trx, note, deps.clock.nowMs());
	return { person, link };
}

/** A new link for somebody who lost theirs, or their password where no mail can be sent. The old ones stop working. */
export async function renewInvitation(
	deps: InvitationsDeps,
	email: string,
	invitedBy: number | null,
	/** Where it was asked for; null for staff, and on the command line. */
	programmeId: number | null = null,
): Promise<Result<Invited>> {
	const person = await findPersonByEmail(deps.store.db, email.trim().toLowerCase());
	if (person === undefined) {
		return refuse(
			"unknown_person",
			`Nobody has the email ${email}. Check the spelling, or invite them.`,
			"email",
		);
	}
	const link = await deps.store.transact(async (trx) => {
		const note = {
			personId: invitedBy,
			programmeId,
			action: "person.invited",
			subject: person.email,
			detail: "new link",
		} as const;
		await noteAudit(trx, note, deps.clock.nowMs());
		return makeLink(trx, deps, { personId: person.id, madeBy: invitedBy, lifeMs: INVITATION_DAYS * DAY_MS });
	});
	return succeed(mailInvitation(deps, { person, link }, null));
}

/** To be asked by whatever a page lets people do: each invitation may become a mail. Null: go ahead. */
export async function takeInvitationTurn(
	{ store, clock }: Pick<InvitationsDeps, "store" | "clock">,
	invitedBy: number,
	email: string,
): Promise<Fault | null> {
	const nowMs = clock.nowMs();
	return (
		(await takeTurn(store.db, INVITATIONS_BY_ONE_PERSON, String(invitedBy), nowMs)) ??
		(await takeTurn(store.db, INVITATIONS_TO_ONE_ADDRESS, email.trim().toLowerCase(), nowMs))
	);
}

/** In the caller's transaction; replaces every earlier link of the same person. */
export async function makeLink(
	trx: Db,
	{ clock, random, publicUrl }: Pick<InvitationsDeps, "clock" | "random" | "publicUrl">,
	{ personId, madeBy, lifeMs }: Pick<NewInvitation, "personId" | "madeBy"> & { lifeMs: number },
): Promise<string> {
	const token = random.hex(TOKEN_BYTES);
	const nowMs = clock.nowMs();
	const tokenHash = hashToken(token);
	await replaceInvitation(trx, { tokenHash, personId, madeBy, expiresAtMs: nowMs + lifeMs }, nowMs);
	return `${publicUrl}/welcome/${token}`;
}

export function hashToken(token: string): string {
	return sha256Hex(token);
}

/** Refused for somebody of the other role, and where there is nothing to invite them to. */
export async function findOrMakePerson(
	trx: Db,
	{ clock, random }: Pick<InvitationsDeps, "clock" | "random">,
	email: string,
	role: Role,
	isForProgramme: boolean,
): Promise<Result<Person>> {
	const nowMs = clock.nowMs();
	const made = await insertPerson(trx, {
		public_id: makeId("usr", nowMs, random.bytes(ID_RANDOM_BYTES)),
		email,
		role,
		created_at_ms: nowMs,
	});
	if (made !== undefined) return succeed(made);
	const known = await findPersonByEmail(trx, email);
	if (known === undefined) throw new Error("an e-mail that is taken by nobody");
	const isUseful = isForProgramme || !(await hasPassword(trx, known.public_id));
	if (known.role === role && isUseful) return succeed(known);
	return refuse("email_taken", `${email} has an account already. Use another address.`, "email");
}

export function mailInvitation(
	{ mails, publicUrl }: Pick<InvitationsDeps, "mails" | "publicUrl">,
	{ person, link }: { person: Person; link: string | null },
	programme: Pick<Programme, "name"> | null,
): Invited {
	const programmeName = programme?.name ?? null;
	if (link !== null) {
		const mail = { to: person.email, link, programmeName, validDays: INVITATION_DAYS };
		mails.send(composeInvitationMail(mail));
	} else if (programmeName !== null) {
		mails.send(composeAccessMail(person.email, programmeName, publicUrl));
	}
	return { person, link, isMailed: mails.isOn };
}
