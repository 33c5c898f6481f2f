// Applications to become a partner. A stranger applies on a programme's public page, and the people of a partner on the
// partner's own page, if the programme's owner takes applications. The owner or staff accept or decline them.

import { blockOf } from "#core/domain/client-address.ts";
import { checkAll, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { composeAccessMail } from "#core/mail/letters.ts";
import { forPartner, inProgramme, type SignedInPerson, transactAs } from "#core/people/actor.ts";
import { admit, describeSent, type InvitationsDeps, sendAs } from "#core/people/invitations.ts";
import { LIMITS, triesFrom, type Use, useLimits } from "#core/people/limits.ts";
import type { Locked } from "#core/store/locked.ts";
import { NO_ID } from "#core/store/no-id.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { hasPersonOf, listPartnersOf, signsInFor } from "#core/store/queries/partner-people.ts";
import { lockPartner } from "#core/store/queries/partners.ts";
import { hasPassword } from "#core/store/queries/passwords.ts";
import { findPersonByEmail, findPersonById, lockPerson } from "#core/store/queries/people.ts";
import { addresseesOfPartner } from "#core/store/queries/programme-people.ts";
import { findProgramme, lockProgramme, type Programme } from "#core/store/queries/programmes.ts";
import { isInvitedTo } from "#core/store/queries/sign-in-links.ts";
import type { Db } from "#core/store/store.ts";
import {
	countApplications,
	findApplication,
	insertApplication,
	lockApplication,
	lockApplications,
	removeApplication,
} from "../store/applications.ts";
import { listPartnerships } from "../store/partnerships.ts";
import type { Application } from "../store/tables.ts";
import {
	conditionsOf,
	type InvitedPartner,
	makePartner,
	note,
	type PartnerInput,
	readPartner,
} from "./partners.ts";
import { joinProgramme, judgeArchived } from "./partnerships.ts";
import { readProse } from "./terms.ts";

const MAX_ABOUT_LENGTH = 1_000;
/**
 * Maximum number of open applications of a programme, so that the owner's page stays short if strangers send
 * very many.
 */
const MAX_WAITING = 200;

export interface PartnerApplicationInput {
	/** The applicant's description of how they would bring sales. */
	about: string;
	/**
	 * Value of the checkbox with which the applicant accepts the terms. It is empty if the box is not ticked.
	 */
	acceptsTerms: string;
	/** The terms that the applicant saw. Another person may have changed the terms since. */
	seenTerms: string;
	/** The applicant's IP address, which may send five applications an hour. */
	address: string;
}

export interface ApplicationInput extends PartnerInput, PartnerApplicationInput {}

/**
 * Stores an application of a stranger. The answer does not reveal who has an account. It does reveal that an application
 * from this email address is already waiting. The first application stays until it is answered, because a
 * second one with the same email address may come from somebody else.
 */
export async function apply(
	deps: ApplicationDeps,
	programmePublicId: string,
	input: ApplicationInput,
): Promise<Result<true>> {
	const seen = await findProgramme(deps.store.db, programmePublicId);
	if (seen === undefined) return closed();
	const read = checkAll({ partner: readPartner(input), ...readApplication(seen, input) });
	if (!read.ok) return read;
	const { partner, about } = read.value;
	return storeApplication(deps, deps.store.transact, seen, input, (trx, programme) =>
		addApplication(trx, deps, programme, { ...partner, about, partner_id: null }, null),
	);
}

/**
 * Stores an application of a partner, with its own name and site. The actor must be a person who signs in for
 * the partner. If the application is accepted, this partner becomes a partner of the programme.
 */
export async function applyAsPartner(
	deps: ApplicationDeps,
	actor: SignedInPerson,
	partnerId: number,
	programmePublicId: string,
	input: PartnerApplicationInput,
): Promise<Result<true>> {
	const seen = await findProgramme(deps.store.db, programmePublicId);
	if (seen === undefined) return closed();
	const read = checkAll(readApplication(seen, input));
	if (!read.ok) return read;
	const { about } = read.value;
	const transact: Transact = (work) => transactAs(deps.store, actor, forPartner(partnerId), work);
	return storeApplication(deps, transact, seen, input, async (trx, programme) => {
		const person = await findPersonById(trx, actor.personId);
		const partner = await lockPartner(trx, partnerId);
		if (person === undefined || partner === undefined || !(await signsInFor(trx, partnerId, person.id))) {
			// Staff may change much of a partner, but they do not apply for it.
			return refuse("not_allowed", "You do not sign in for this partner. Nothing was sent.");
		}
		const open = judgeArchived(programme, partner);
		if (!open.ok) return open;
		const partnerships = await listPartnerships(trx, "partner_id", [partnerId]);
		if (partnerships.some(({ programme_id }) => programme_id === programme.id)) {
			return refuse("already_partner", `${partner.name} is a partner of ${programme.name} already.`);
		}
		const { name, site } = partner;
		const applicant = { name, site, email: person.email, about, partner_id: partnerId };
		return addApplication(trx, deps, programme, applicant, person.id);
	});
}

type ApplicationDeps = Pick<InvitationsDeps, "store" | "clock" | "random">;
type Transact = (work: (trx: Db) => Promise<Result<true>>) => Promise<Result<true>>;

function readApplication(seen: Programme, input: PartnerApplicationInput) {
	return {
		about: readAbout(readProse(input.about)),
		acceptsTerms:
			seen.partner_terms === "" || input.acceptsTerms !== ""
				? succeed(true)
				: refuse("invalid_field", "Accept the terms to apply.", "acceptsTerms"),
	};
}

/** Runs the transaction that adds an application, after it has checked the programme, its terms and the limits. */
async function storeApplication(
	{ store, clock }: ApplicationDeps,
	transact: Transact,
	seen: Programme,
	input: PartnerApplicationInput,
	add: (trx: Db, programme: Locked<Programme>) => Promise<Result<true>>,
): Promise<Result<true>> {
	// The programme is checked before the limit is used, so that an applicant loses no try if the terms have
	// changed.
	const early = judgeProgramme(seen, input);
	if (!early.ok) return early;
	const full = await useLimits(store.db, usesFrom(input.address), clock.nowMs());
	if (full !== null) return full;
	return transact(async (trx) => {
		const programme = await lockProgramme(trx, seen.id);
		if (programme === undefined) return closed();
		const judged = judgeProgramme(programme, input);
		if (!judged.ok) return judged;
		if ((await countApplications(trx, programme.id)) >= MAX_WAITING) {
			return refuse("too_many_attempts", "Many applications to this programme are waiting. Try again later.");
		}
		return add(trx, programme);
	});
}

async function addApplication(
	trx: Db,
	{ clock, random }: ApplicationDeps,
	programme: Locked<Programme>,
	applicant: Pick<Application, "name" | "site" | "email" | "about" | "partner_id">,
	personId: number | null,
): Promise<Result<true>> {
	const nowMs = clock.nowMs();
	const public_id = makeId("apl", nowMs, random.bytes(ID_RANDOM_BYTES));
	const about = { programme_id: programme.id, terms: programme.partner_terms, created_at_ms: nowMs };
	if (!(await insertApplication(trx, { ...applicant, ...about, public_id }))) {
		return applicant.partner_id === null
			? refuse(
					"email_taken",
					"An application from this address is waiting already. The owner will answer it.",
					"email",
				)
			: refuse("already_partner", "Your application is waiting already. The owner will answer it.");
	}
	const entry = { personId, programmeId: programme.id, action: "application.made" } as const;
	await noteAudit(trx, { ...entry, subject: public_id, detail: applicant.name }, nowMs);
	return succeed(true);
}

/**
 * Returns the limits that an application uses up. The limit on address blocks stops a stranger who has a
 * whole block of IPv4 addresses. It does not apply to private addresses, which are in no block.
 */
function usesFrom(address: string): readonly Use[] {
	const block = blockOf(address);
	const ofBlock = block === null ? [] : [{ limit: LIMITS.applicationsFromBlock, subject: block }];
	return [...triesFrom(address, LIMITS.applications), ...ofBlock];
}

function judgeProgramme(
	{ takes_applications, archived_at_ms, partner_terms }: Programme,
	{ seenTerms }: PartnerApplicationInput,
): Result<true> {
	if (takes_applications === 0 || archived_at_ms !== null) return closed();
	if (readProse(seenTerms) === partner_terms) return succeed(true);
	const text = "The terms were changed while you read them. Read them again, and accept them.";
	return refuse("changed_meanwhile", text, "acceptsTerms");
}

function closed(): ReturnType<typeof refuse> {
	return refuse("unknown_programme", "This programme does not take applications.");
}

function readAbout(about: string): Result<string> {
	if (about !== "" && about.length <= MAX_ABOUT_LENGTH) return succeed(about);
	const rule = `Say in up to ${MAX_ABOUT_LENGTH} characters how you would bring sales.`;
	return refuse("invalid_field", rule, "about");
}

/**
 * Accepts an application. The partnership begins with the terms that the applicant saw, and the applicant is
 * invited to sign in for the partner. If accepting fails, the application stays open.
 */
export async function acceptApplication(
	deps: InvitationsDeps,
	actor: SignedInPerson,
	programmeId: number,
	publicId: string,
): Promise<Result<InvitedPartner>> {
	// The applicant's email address must be known before the transaction, because it decides which limit the
	// invitation uses up.
	const seen = await findApplication(deps.store.db, programmeId, publicId);
	if (seen === undefined) return alreadyAnswered();
	const accept = async (trx: Db): Promise<Result<InvitedPartner>> => {
		const programme = await lockProgramme(trx, programmeId);
		const application = await lockApplication(trx, programmeId, publicId);
		if (programme === undefined || application === undefined) return alreadyAnswered();
		if (actor.kind === "shop" && (await belongsToProgramme(trx, programme, application))) {
			return refuse("not_allowed", ONLY_STAFF_ACCEPT);
		}
		const judged = judgeArchived(programme, null);
		if (!judged.ok) return judged;
		const found =
			application.partner_id === null
				? await findOrMakePartner(trx, deps, actor, programme, application)
				: await welcomePartner(trx, deps, actor, programme, application, application.partner_id);
		// The refusal is replaced by a general one, so that the owner does not learn that the address belongs to,
		// for example, staff or an archived partner.
		const isPrivate = (code: string) =>
			code === "email_taken" || (code === "wrong_status" && actor.kind === "shop");
		if (!found.ok && isPrivate(found.fault.code)) {
			const text = "This address cannot be a partner here. Decline the application, or ask for another.";
			return refuse("email_taken", text);
		}
		if (!found.ok) return found;
		const { partner } = found.value;
		const joined = await joinProgramme(trx, deps, actor, programme, partner, {
			terms: application.terms,
		});
		if (!joined.ok) return joined;
		await removeApplication(trx, application);
		return found;
	};
	return sendAs(deps, actor, seen.email, inProgramme(programmeId), accept, "application");
}

const ONLY_STAFF_ACCEPT =
	"This applicant belongs to the programme, or signs in for a partner together with somebody who does. Only the network's staff can accept the application, because nobody may decide about a commission of their own.";

/**
 * Returns whether the applicant, or another person who signs in for the same partner, has a role in the
 * programme or is invited to it. This prevents owners from becoming the paid partner of their own shop.
 */
async function belongsToProgramme(
	trx: Db,
	programme: Locked<Programme>,
	{ email, partner_id: partnerId }: Locked<Application>,
): Promise<boolean> {
	if (await isInvitedTo(trx, programme.id, email)) return true;
	const personId = (await findPersonByEmail(trx, email))?.id ?? NO_ID;
	if (partnerId !== null) return hasPersonOf(trx, programme.id, personId, [partnerId]);
	const partners = await listPartnersOf(trx, personId);
	return hasPersonOf(
		trx,
		programme.id,
		personId,
		partners.map(({ id }) => id),
	);
}

export function declineApplication(
	deps: Pick<InvitationsDeps, "store" | "clock">,
	actor: SignedInPerson,
	programmeId: number,
	publicId: string,
): Promise<Result<true>> {
	return transactAs(deps.store, actor, inProgramme(programmeId), async (trx) => {
		const application = await lockApplication(trx, programmeId, publicId);
		if (application === undefined) return alreadyAnswered();
		await removeApplication(trx, application);
		await note(trx, deps, actor, "application.declined", publicId, application.name, programmeId);
		return succeed(true);
	});
}

/**
 * Declines all applications that the actor saw. Applications that arrived later stay open, because nobody has
 * read them.
 */
export function declineAllApplications(
	deps: Pick<InvitationsDeps, "store" | "clock">,
	actor: SignedInPerson,
	programmeId: number,
	/** Public ids of the applications that the actor's page showed. */
	seenIds: readonly string[],
): Promise<Result<number>> {
	return transactAs(deps.store, actor, inProgramme(programmeId), async (trx) => {
		const all = await lockApplications(trx, programmeId);
		const listed = new Set(seenIds);
		const seen = all.filter(({ public_id }) => listed.has(public_id));
		const [first] = seen;
		if (first === undefined) return alreadyAnswered();
		for (const application of seen) await removeApplication(trx, application);
		const detail = `${seen.length} at once`;
		await note(trx, deps, actor, "application.declined", first.public_id, detail, programmeId);
		return succeed(seen.length);
	});
}

function alreadyAnswered(): ReturnType<typeof refuse> {
	return refuse("already_decided", "This application was answered already. Look at the list again.");
}

/** Returns the partner that applied, and mails all of its people, because the one who applied may have left. */
async function welcomePartner(
	trx: Db,
	deps: InvitationsDeps,
	actor: SignedInPerson,
	programme: Locked<Programme>,
	{ email }: Locked<Application>,
	partnerId: number,
): Promise<Result<InvitedPartner>> {
	const partner = await lockPartner(trx, partnerId);
	if (partner === undefined) return alreadyAnswered();
	const judged = judgeArchived(programme, partner);
	if (!judged.ok) return judged;
	const partnerships = await listPartnerships(trx, "partner_id", [partnerId]);
	if (partnerships.some(({ programme_id }) => programme_id === programme.id)) {
		const text = `${partner.name} is a partner of this programme already. Decline the application.`;
		return refuse("already_partner", text);
	}
	const place = {
		kind: "partner" as const,
		partner,
		accepted: programme,
		conditions: [conditionsOf(programme)],
	};
	for (const reader of await addresseesOfPartner(trx, partnerId)) {
		await deps.mails.enqueue(trx, composeAccessMail(reader.email, place, deps.publicUrl));
	}
	return succeed({ ...describeSent(deps, actor, { email, link: null }), partner });
}

/**
 * Finds or creates the partner for a stranger who applied. If the address belongs to a person who signs in
 * for exactly one partner and has a password, that partner is used. The password is required, because anybody
 * can type an address, and a password proves that its owner reads the mailbox. A person who signs in for
 * several partners keeps them apart on purpose, so a new partner is created for this person. The application
 * is refused if the applicant already signs in for a partner of this programme.
 */
async function findOrMakePartner(
	trx: Db,
	deps: InvitationsDeps,
	actor: SignedInPerson,
	programme: Locked<Programme>,
	application: Locked<Application>,
): Promise<Result<InvitedPartner>> {
	const { email } = application;
	const person = await lockPerson(trx, "email", email);
	const partners = person === undefined ? [] : await listPartnersOf(trx, person.id);
	const ids = partners.map(({ id }) => id);
	const partnerships = await listPartnerships(trx, "partner_id", ids);
	const present = partnerships.find(({ programme_id }) => programme_id === programme.id);
	if (present !== undefined) {
		const { partner_name: name } = present;
		const cure = `Decline the application, or change the partnership with ${name}.`;
		return refuse("already_partner", `${email} signs in for ${name}, a partner of this programme. ${cure}`);
	}
	const about = { accepted: programme, conditions: [conditionsOf(programme)] };
	const [partner, ...others] = partners;
	const isOnlyPartner = partner !== undefined && others.length === 0;
	if (person === undefined || !isOnlyPartner || !(await hasPassword(trx, person.id))) {
		return makePartner(trx, deps, actor, application, about);
	}
	const judged = judgeArchived(programme, partner);
	if (!judged.ok) return judged;
	const sent = await admit(trx, deps, person, { kind: "partner", partner, ...about }, actor);
	return succeed({ ...sent, partner });
}
