// Issues and reads one-time sign-in links. No other file does this, and only accept-sign-in-link uses links up.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import type { PersonKind, ProgrammeRole } from "../domain/roles.ts";
import { sha256Hex } from "../domain/signature.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import { INVITATION_DAYS } from "../mail/letters.ts";
import { listPartnersOf } from "../store/queries/partner-people.ts";
import { findPartnerById } from "../store/queries/partners.ts";
import { hasPassword, hasStaffWithPassword } from "../store/queries/passwords.ts";
import { findPersonByEmail, findPersonById, type Person } from "../store/queries/people.ts";
import { findProgrammesById, type Programme } from "../store/queries/programmes.ts";
import {
	findOpenSignInLink,
	lockAccess,
	replaceSignInLink,
	type SignInLink,
} from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import type { Partner } from "../store/tables/partners.ts";
import type { SignInLinkPurpose } from "../store/tables/people.ts";
import type { AccountsDeps } from "./deps.ts";

/** Length of a token. 256 random bits cannot be guessed, so a plain hash is enough for the stored form. */
const TOKEN_BYTES = 32;

/**
 * Time for which a link is valid, by purpose. The texts of the mails are in mail/letters, the page in
 * web/sign-in/welcome-page.
 */
const LIFE_MS: Readonly<Record<SignInLinkPurpose, number>> = {
	// This link is written to the log at the first start.
	first_staff: DAY_MS,
	staff_invitation: INVITATION_DAYS * DAY_MS,
	programme_invitation: INVITATION_DAYS * DAY_MS,
	// Staff give this link to a person during a conversation. It is short-lived, because it opens an account
	// that is in use.
	password_link: DAY_MS,
	operator_link: DAY_MS,
	// An hour is enough, because the person has just asked for this mail and is waiting for it.
	password_mail: HOUR_MS,
	address_mail: HOUR_MS,
};

/** The programme or partner that an owner or a partner's people invited a person to. */
export type OfferedPlace =
	| { kind: "programme"; programme: Programme; role: ProgrammeRole }
	| { kind: "partner"; partner: Partner };

export interface SignInLinkOrder {
	purpose: SignInLinkPurpose;
	/**
	 * The recipient is a person, or an email address that may or may not have an account. The first-start link
	 * has neither.
	 */
	personId?: number;
	email?: string;
	programmeId?: number | null;
	partnerId?: number | null;
	/** Role that the invited email address is offered. Left out for a person, who already has a role. */
	role?: ProgrammeRole;
	/**
	 * The person who created the link. Null if the command line or the first start created it, or its recipient
	 * asked for it by mail.
	 */
	madeBy: number | null;
}

/**
 * Stores a new link and returns the path of its page, which contains the only copy of the token. The caller
 * must hold the access lock.
 */
export async function issueSignInLink(
	trx: Db,
	{ clock, random }: Pick<AccountsDeps, "clock" | "random">,
	{ purpose, personId, email, programmeId, partnerId, role, madeBy }: SignInLinkOrder,
): Promise<string> {
	const token = random.hex(TOKEN_BYTES);
	const nowMs = clock.nowMs();
	await replaceSignInLink(trx, {
		public_id: makeId("lnk", nowMs, random.bytes(ID_RANDOM_BYTES)),
		purpose,
		token_hash: sha256Hex(token),
		person_id: personId ?? null,
		email: email ?? null,
		programme_id: programmeId ?? null,
		partner_id: partnerId ?? null,
		role: role ?? null,
		made_by: madeBy,
		created_at_ms: nowMs,
		expires_at_ms: nowMs + LIFE_MS[purpose],
		withdrawn: null,
	});
	return `/welcome/${token}`;
}

/**
 * Issues the link that creates the first staff account. Every start issues a new link, which replaces the
 * previous one. Returns null once a member of staff can sign in. It returns only the path of the link,
 * because the public address is not known yet.
 */
export async function makeFirstStaffPath(
	deps: Pick<AccountsDeps, "store" | "clock" | "random">,
): Promise<string | null> {
	return deps.store.transact(async (trx) => {
		await lockAccess(trx);
		if (await hasStaffWithPassword(trx)) return null;
		return issueSignInLink(trx, deps, { purpose: "first_staff", madeBy: null });
	});
}

export type OpenedSignInLink =
	/** The link of the first start. The visitor enters a name and an email address. */
	| { kind: "first" }
	/**
	 * The person has no password yet, and enters a name and a password. `partnerName` is the partner that they were
	 * invited for. `inviter` is the colleague who invited a member of the staff.
	 */
	| { kind: "join"; person: Person; partnerName: string | null; inviter: string | null }
	/**
	 * An invitation by an owner or by a partner's people. `person` is null if the invited address has no account yet.
	 */
	| {
			kind: "offer";
			email: string;
			person: Person | null;
			place: OfferedPlace;
			hasAccount: boolean;
			inviter: string | null;
	  }
	/** The person changes their email address. No other account had this address when the link was read. */
	| { kind: "address"; person: Person; email: string }
	/** The person chooses a new password that replaces the present one. */
	| { kind: "password"; person: Person };

/**
 * Returns what the page of a link must offer. It does not use up the link, because mail scanners open links
 * too.
 */
export async function findSignInLink(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	token: string,
): Promise<Result<OpenedSignInLink>> {
	const read = await readSignInLink(store.db, token, clock.nowMs());
	return read === undefined ? linkNotValid() : succeed(read.opened);
}

/**
 * Returns a link and what it offers. Returns undefined if the link has expired, was used, or has nothing left to do.
 */
export async function readSignInLink(
	db: Db,
	token: string,
	nowMs: number,
): Promise<{ link: SignInLink; opened: OpenedSignInLink } | undefined> {
	const link = await findOpenSignInLink(db, sha256Hex(token), nowMs);
	const opened = link && (await openSignInLink(db, link));
	return link && opened && { link, opened };
}

async function openSignInLink(db: Db, link: SignInLink): Promise<OpenedSignInLink | undefined> {
	const { purpose, email, person_id: personId } = link;
	if (purpose === "first_staff") return (await hasStaffWithPassword(db)) ? undefined : { kind: "first" };
	// An invitation by an owner or by a partner's people is for an email address. An invitation by staff is for a
	// person, who already has their role.
	if (purpose === "programme_invitation" && email !== null) return openOffer(db, link, email);
	const person = personId === null ? undefined : await findPersonById(db, personId);
	if (person === undefined || person.deactivated_at_ms !== null) return undefined;
	if (purpose === "address_mail") {
		const isFree = email !== null && (await findPersonByEmail(db, email)) === undefined;
		return isFree ? { kind: "address", person, email } : undefined;
	}
	const hasJoined = await hasPassword(db, person.id);
	const isForPassword = purpose === "password_link" || purpose === "password_mail";
	if (purpose !== "operator_link" && hasJoined !== isForPassword) return undefined;
	if (hasJoined) return { kind: "password", person };
	const partners = link.programme_id === null ? await listPartnersOf(db, person.id) : [];
	const newest = partners.findLast(({ archived_at_ms }) => archived_at_ms === null);
	const inviter = person.kind === "staff" ? await findColleague(db, link.made_by, "staff") : null;
	return { kind: "join", person, partnerName: newest?.name ?? null, inviter };
}

/**
 * Returns the email address of the person who made an invitation, or null if nobody of this kind did. Invited people
 * learn which colleague invites them. Shops and partners do not learn which member of the staff it was.
 */
export async function findColleague(db: Db, madeBy: number | null, kind: PersonKind): Promise<string | null> {
	const inviter = madeBy === null ? undefined : await findPersonById(db, madeBy);
	return inviter?.kind === kind ? inviter.email : null;
}

async function openOffer(db: Db, link: SignInLink, email: string): Promise<OpenedSignInLink | undefined> {
	const place = await readPlace(db, link);
	const person = await findPersonByEmail(db, email);
	// Staff see every programme and partner without belonging to it, so they have nothing to accept.
	if (place === undefined || person?.kind === "staff") return undefined;
	const hasAccount = person !== undefined && (await hasPassword(db, person.id));
	const inviter = await findColleague(db, link.made_by, "shop");
	return { kind: "offer", email, person: person ?? null, place, hasAccount, inviter };
}

async function readPlace(
	db: Db,
	{ programme_id: programmeId, role, partner_id: partnerId }: SignInLink,
): Promise<OfferedPlace | undefined> {
	if (partnerId !== null) {
		const partner = await findPartnerById(db, partnerId);
		return partner && { kind: "partner", partner };
	}
	if (programmeId === null || role === null) return undefined;
	const programme = (await findProgrammesById(db, [programmeId])).get(programmeId);
	return programme && { kind: "programme", programme, role };
}

export function linkNotValid(): ReturnType<typeof refuse> {
	return refuse(
		"link_not_valid",
		"This link no longer works. It was used, it has expired, or a newer one has replaced it. Ask for a new one.",
	);
}
