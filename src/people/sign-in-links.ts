// One-time links: issued and opened here, used in accept-link. There is no other place that does either.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import type { ProgrammeRole } from "../domain/roles.ts";
import { sha256Hex } from "../domain/signature.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import { INVITATION_DAYS } from "../mail/letters.ts";
import { listPartnersOf, type Partner } from "../store/queries/partners.ts";
import { findPersonByEmail, findPersonById, type Person } from "../store/queries/people.ts";
import { findProgrammesById, type Programme } from "../store/queries/programmes.ts";
import { hasPassword, hasStaffWithPassword } from "../store/queries/sign-in.ts";
import {
	findOpenSignInLink,
	lockAccess,
	replaceSignInLink,
	type SignInLink,
} from "../store/queries/sign-in-links.ts";
import type { Db } from "../store/store.ts";
import type { SignInLinkPurpose } from "../store/tables/people.ts";
import type { AccountsDeps } from "./deps.ts";

/** 256 bits: nobody guesses one, so a plain hash is enough at rest. */
const TOKEN_BYTES = 32;

/** How long each kind of link is good for. Its mail is in mail/letters, its page in web/sign-in/welcome-page. */
const LIFE_MS: Readonly<Record<SignInLinkPurpose, number>> = {
	// It stands in the log of the start.
	first_staff: DAY_MS,
	staff_invitation: INVITATION_DAYS * DAY_MS,
	programme_invitation: INVITATION_DAYS * DAY_MS,
	// Handed over by people who are talking to each other; it opens an account that is in use.
	password_link: DAY_MS,
	// Whoever asks for it is waiting for the mail.
	password_mail: HOUR_MS,
	address_mail: HOUR_MS,
};

/** A programme, and what somebody is there or is to become. */
export interface Membership {
	programme: Pick<Programme, "id" | "name">;
	role: ProgrammeRole;
}

/** For whom somebody is to sign in; with the programme that accepted their application, if one did. */
export interface PartnerMembership {
	partner: Pick<Partner, "id" | "name">;
	accepted?: Pick<Programme, "name"> | undefined;
}

export interface SignInLinkOrder {
	purpose: SignInLinkPurpose;
	/** For whom: a person, or an address, whether or not it has an account. Neither for the first start. */
	personId?: number;
	email?: string;
	programmeId?: number | null;
	/** What an address is invited to become; nothing for a person, who has their role already. */
	role?: ProgrammeRole;
	/** The person who created it. Null for the command line, the first start, or the recipient who asked for it by mail. */
	madeBy: number | null;
}

/** Within `transactAs`. Resolves to the path of its page, whose token is stored nowhere. */
export async function issueSignInLink(
	trx: Db,
	{ clock, random }: Pick<AccountsDeps, "clock" | "random">,
	{ purpose, personId, email, programmeId, role, madeBy }: SignInLinkOrder,
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
		role: role ?? null,
		made_by: madeBy,
		created_at_ms: nowMs,
		expires_at_ms: nowMs + LIFE_MS[purpose],
		withdrawn: null,
	});
	return `/welcome/${token}`;
}

/**
 * The first start: as long as nobody of the staff can sign in, every start gives out one link that makes the first staff
 * account, and those of earlier starts stop working. Null once somebody can. The path alone, because where the service
 * listens is known only later.
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
	/** First start: the visitor enters name and e-mail. */
	| { kind: "first" }
	/** An account waits for a name and a password; of somebody who was invited for a partner, with its name. */
	| { kind: "join"; person: Person; partnerName: string | null }
	/** An owner invites to a programme; `person` is null for an address that has no account yet. */
	| {
			kind: "programme";
			email: string;
			person: Person | null;
			programme: Programme;
			role: ProgrammeRole;
			hasAccount: boolean;
	  }
	/** A new e-mail address, which nobody had when the link was looked at. */
	| { kind: "address"; person: Person; email: string }
	/** A new password in place of the one they have. */
	| { kind: "password"; person: Person };

/** What the link opens, for the page behind it. Looking changes nothing: mail scanners open links, too. */
export async function findSignInLink(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	token: string,
): Promise<Result<OpenedSignInLink>> {
	const read = await readSignInLink(store.db, token, clock.nowMs());
	return read === undefined ? linkNotValid() : succeed(read.opened);
}

/** Undefined when it does not work any more, or there is nothing left for it to do. */
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
	// An owner's; what staff made is for a person, who has their role already.
	if (purpose === "programme_invitation" && email !== null) return openProgramme(db, link, email);
	const person = personId === null ? undefined : await findPersonById(db, personId);
	if (person === undefined || person.deactivated_at_ms !== null) return undefined;
	if (purpose === "address_mail") {
		const isFree = email !== null && (await findPersonByEmail(db, email)) === undefined;
		return isFree ? { kind: "address", person, email } : undefined;
	}
	const isForPassword = purpose === "password_link" || purpose === "password_mail";
	if ((await hasPassword(db, person.public_id)) !== isForPassword) return undefined;
	if (isForPassword) return { kind: "password", person };
	const partner = link.programme_id === null ? (await listPartnersOf(db, person.id)).at(-1) : undefined;
	return { kind: "join", person, partnerName: partner?.name ?? null };
}

/** Staff see every programme and are in none: for them there is nothing to accept. */
async function openProgramme(
	db: Db,
	{ programme_id: programmeId, role }: SignInLink,
	email: string,
): Promise<OpenedSignInLink | undefined> {
	if (programmeId === null || role === null) return undefined;
	const programme = (await findProgrammesById(db, [programmeId])).get(programmeId);
	const person = await findPersonByEmail(db, email);
	if (programme === undefined || person?.kind === "staff") return undefined;
	const hasAccount = person !== undefined && (await hasPassword(db, person.public_id));
	return { kind: "programme", email, person: person ?? null, programme, role, hasAccount };
}

export function linkNotValid(): ReturnType<typeof refuse> {
	return refuse(
		"link_not_valid",
		"This link does not work any more: it was used, it has expired, or a newer one has replaced it. Ask for a new one.",
	);
}
