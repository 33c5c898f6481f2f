// A stranger applies as a partner on a programme's public page, if its owner opened it; the owner or staff accept.

import { checkAll, type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { sha256Hex } from "../domain/signature.ts";
import { type InvitationsDeps, sendAs, welcomePerson } from "../people/invitations.ts";
import { LIMITS, triesFrom, useLimits } from "../people/limits.ts";
import { type Maker, transactInProgramme } from "../people/links.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	type Application,
	findApplication,
	insertApplication,
	listPartnerships,
	listPartnersOf,
	removeApplication,
} from "../store/queries/partners.ts";
import { findPersonByEmail } from "../store/queries/people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { hasPassword } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import {
	type InvitedPartner,
	joinProgramme,
	makePartner,
	type PartnerInput,
	readPartner,
} from "./partners.ts";

export const MAX_ABOUT_LENGTH = 1_000;

export interface ApplicationInput extends PartnerInput {
	/** What they do. */
	about: string;
	acceptsTerms: boolean;
	/** Of the terms that they saw: see `markOf`. */
	termsMark: string;
	/** Where they apply from: five an hour from one network. */
	address: string;
}

/** Tells terms apart that were changed while somebody read them. */
export function markOf({ partner_terms: terms }: Pick<Programme, "partner_terms">): string {
	return sha256Hex(terms);
}

/**
 * To a programme that takes applications. The answer is the same for every address, whether or not it is known. Who
 * applies again before the answer has meant the last one.
 */
export async function apply(
	{ store, clock, random }: Pick<InvitationsDeps, "store" | "clock" | "random">,
	programme: Programme,
	input: ApplicationInput,
): Promise<Result<true>> {
	const read = checkAll({
		partner: readPartner(input),
		about: readAbout(input.about),
		acceptsTerms:
			programme.partner_terms === "" || input.acceptsTerms
				? succeed(true)
				: refuse("invalid_field", "Accept the terms to apply.", "acceptsTerms"),
	});
	if (!read.ok) return read;
	if (input.termsMark !== markOf(programme)) {
		const text = "The terms were changed while you read them. Read them again, and accept them.";
		return refuse("changed_meanwhile", text, "acceptsTerms");
	}
	const nowMs = clock.nowMs();
	const full = await useLimits(store.db, triesFrom(input.address, LIMITS.applications), nowMs);
	if (full !== null) return full;
	const public_id = makeId("apl", nowMs, random.bytes(ID_RANDOM_BYTES));
	const { partner, about } = read.value;
	const row = { ...partner, public_id, about, terms: programme.partner_terms };
	await store.transact(async (trx) => {
		await insertApplication(trx, { ...row, programme_id: programme.id, created_at_ms: nowMs });
		const note = { personId: null, programmeId: programme.id, action: "application.made" } as const;
		await noteAudit(trx, { ...note, subject: public_id, detail: row.name }, nowMs);
	});
	return succeed(true);
}

function readAbout(text: string): Result<string> {
	// Browsers send line breaks as two characters.
	const about = text.replaceAll("\r\n", "\n").trim();
	if (about !== "" && about.length <= MAX_ABOUT_LENGTH) return succeed(about);
	const rule = `Say in up to ${MAX_ABOUT_LENGTH} characters how you would bring sales.`;
	return refuse("invalid_field", rule, "about");
}

/** With whom it is now, and whether the network knew them before: then the programme was added to that partner. */
export interface AcceptedPartner extends InvitedPartner {
	isKnown: boolean;
}

/**
 * Starts the partnership with the terms that they saw, and invites the applicant to sign in for it. Anybody may have
 * typed the address: all that comes of it goes to its mailbox and to its account.
 */
export async function acceptApplication(
	deps: InvitationsDeps,
	maker: Maker,
	programme: Programme,
	publicId: string,
): Promise<Result<AcceptedPartner>> {
	const open = await findApplication(deps.store.db, programme.id, publicId);
	if (open === undefined) return answeredBefore();
	return sendAs<AcceptedPartner>(deps, maker, open.email, programme.id, (trx) =>
		answer(trx, programme, publicId, async (row) => {
			const found = await findOrMakePartner(trx, deps, maker, programme, row);
			if (!found.ok) return found;
			const { partner } = found.value;
			const agreed = { acceptedTerms: row.terms };
			const joined = await joinProgramme(trx, deps, maker, programme, partner, agreed);
			return joined.ok ? found : joined;
		}),
	);
}

/**
 * The partner that they sign in for, if it is one, and they have shown that the mailbox is theirs. Who signs in for
 * several keeps them apart on purpose. Refused for a partner of this programme.
 */
async function findOrMakePartner(
	trx: Db,
	deps: InvitationsDeps,
	maker: Maker,
	programme: Programme,
	application: Application,
): Promise<Result<AcceptedPartner>> {
	const { email } = application;
	const person = await findPersonByEmail(trx, email);
	const all = person === undefined ? [] : await listPartnersOf(trx, person.id);
	const partners = all.filter(({ ended_at_ms }) => ended_at_ms === null);
	const ids = partners.map(({ id }) => id);
	const partnerships = await listPartnerships(trx, "partner_id", ids);
	const present = partnerships.find(({ programme_id }) => programme_id === programme.id);
	if (present !== undefined) {
		const { partner_name: name } = present;
		const cure = `Decline the application, or change the partnership with ${name}.`;
		return refuse("already_partner", `${email} signs in for ${name}, a partner of this programme. ${cure}`);
	}
	const [partner, ...others] = partners;
	if (
		person !== undefined &&
		partner !== undefined &&
		others.length === 0 &&
		(await hasPassword(trx, person.public_id))
	) {
		const sent = await welcomePerson(trx, deps, person, { partner, accepted: programme }, maker);
		return succeed({ ...sent, partner, isKnown: true });
	}
	const made = await makePartner(trx, deps, maker, application, programme);
	return made.ok ? succeed({ ...made.value, isKnown: false }) : made;
}

export function declineApplication(
	deps: InvitationsDeps,
	maker: Maker,
	programme: Programme,
	publicId: string,
): Promise<Result<true>> {
	return transactInProgramme(deps.store, maker, programme.id, (trx) =>
		answer<true>(trx, programme, publicId, async ({ name }) => {
			const note = { personId: maker.personId, programmeId: programme.id } as const;
			const entry = { ...note, action: "application.declined", subject: publicId, detail: name } as const;
			await noteAudit(trx, entry, deps.clock.nowMs());
			return succeed(true);
		}),
	);
}

/** Once, and only where `work` has done what the answer says: a refusal leaves the application open. */
async function answer<Value>(
	trx: Db,
	{ id: programmeId }: Programme,
	publicId: string,
	work: (application: Application) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const open = await findApplication(trx, programmeId, publicId);
	if (open === undefined) return answeredBefore();
	const done = await work(open);
	if (done.ok) await removeApplication(trx, open.id);
	return done;
}

function answeredBefore(): ReturnType<typeof refuse> {
	const text = "This application was answered, or replaced by a newer one. Look at the list again.";
	return refuse("already_decided", text);
}
