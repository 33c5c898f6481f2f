// A stranger applies as a partner on a programme's public page, if its owner opened it; the owner or staff accept.

import { checkAll, type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { type SignedInPerson, transactInProgramme } from "../people/actor.ts";
import { type InvitationsDeps, sendAs, welcomePerson } from "../people/invitations.ts";
import { LIMITS, triesFrom, useLimits } from "../people/limits.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	type Application,
	countApplications,
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
	note,
	type PartnerInput,
	readPartner,
} from "./partners.ts";
import { readProse } from "./terms.ts";

export const MAX_ABOUT_LENGTH = 1_000;
/** More than anybody reads: strangers who send more than that keep each other out, not the owner from the page. */
const MAX_WAITING = 200;

export interface ApplicationInput extends PartnerInput {
	/** What they do. */
	about: string;
	/** A box: empty if it is not ticked. */
	acceptsTerms: string;
	/** The terms that they saw: another person may have changed them since. */
	seenTerms: string;
	/** Where they apply from: five an hour from one network. */
	address: string;
}

/**
 * To a programme that takes applications. The answer does not tell who has an account; it does tell that an application
 * from this address waits. The first stands until it is answered: anybody may have typed the address of the second.
 */
export async function apply(
	{ store, clock, random }: Pick<InvitationsDeps, "store" | "clock" | "random">,
	programme: Programme,
	input: ApplicationInput,
): Promise<Result<true>> {
	const read = checkAll({
		partner: readPartner(input),
		about: readAbout(readProse(input.about)),
		acceptsTerms:
			programme.partner_terms === "" || input.acceptsTerms !== ""
				? succeed(true)
				: refuse("invalid_field", "Accept the terms to apply.", "acceptsTerms"),
	});
	if (!read.ok) return read;
	if (readProse(input.seenTerms) !== programme.partner_terms) {
		const text = "The terms were changed while you read them. Read them again, and accept them.";
		return refuse("changed_meanwhile", text, "acceptsTerms");
	}
	const nowMs = clock.nowMs();
	const full = await useLimits(store.db, triesFrom(input.address, LIMITS.applications), nowMs);
	if (full !== null) return full;
	const public_id = makeId("apl", nowMs, random.bytes(ID_RANDOM_BYTES));
	const { partner, about } = read.value;
	const row = { ...partner, public_id, about, terms: programme.partner_terms };
	return store.transact(async (trx) => {
		if ((await countApplications(trx, programme.id)) >= MAX_WAITING) {
			return refuse("too_many_attempts", "Many applications to this programme are waiting. Try again later.");
		}
		if (!(await insertApplication(trx, { ...row, programme_id: programme.id, created_at_ms: nowMs }))) {
			const text = "An application from this address is waiting already. The owner will answer it.";
			return refuse("email_taken", text, "email");
		}
		const note = { personId: null, programmeId: programme.id, action: "application.made" } as const;
		await noteAudit(trx, { ...note, subject: public_id, detail: row.name }, nowMs);
		return succeed(true);
	});
}

function readAbout(about: string): Result<string> {
	if (about !== "" && about.length <= MAX_ABOUT_LENGTH) return succeed(about);
	const rule = `Say in up to ${MAX_ABOUT_LENGTH} characters how you would bring sales.`;
	return refuse("invalid_field", rule, "about");
}

/**
 * Once, by the owner or staff; a refusal leaves the application open. One that is accepted starts the partnership with the
 * terms that the applicant saw, and invites them to sign in for it. Null: declined.
 */
export async function answerApplication(
	deps: InvitationsDeps,
	maker: SignedInPerson,
	programme: Programme,
	publicId: string,
	isAccepted: boolean,
): Promise<Result<InvitedPartner | null>> {
	const find = async (db: Db): Promise<Result<Application>> => {
		const open = await findApplication(db, programme.id, publicId);
		const text = "This application was answered already. Look at the list again.";
		return open === undefined ? refuse("already_decided", text) : succeed(open);
	};
	const seen = await find(deps.store.db);
	if (!seen.ok) return seen;
	const { id, email, name, terms } = seen.value;
	if (!isAccepted) {
		return transactInProgramme(deps.store, maker, programme.id, async (trx) => {
			const open = await find(trx);
			if (!open.ok) return open;
			await removeApplication(trx, id);
			await note(trx, deps, maker, "application.declined", publicId, name, programme.id);
			return succeed(null);
		});
	}
	return sendAs<InvitedPartner>(deps, maker, email, programme.id, async (trx) => {
		const open = await find(trx);
		if (!open.ok) return open;
		const found = await findOrMakePartner(trx, deps, maker, programme, open.value);
		// An owner does not learn whose address it is: that of staff, for example.
		if (!found.ok && found.fault.code === "email_taken") {
			const text = "This address cannot be a partner here. Decline the application, or ask for another.";
			return refuse("email_taken", text);
		}
		if (!found.ok) return found;
		const { partner } = found.value;
		const joined = await joinProgramme(trx, deps, maker, programme, partner, terms);
		if (joined.ok) await removeApplication(trx, id);
		return joined.ok ? found : joined;
	});
}

/**
 * The partner that they sign in for, if it is one, and they have shown that the mailbox is theirs: anybody may have typed
 * the address, and all that comes of it goes to its mailbox and to its account. Who signs in for several keeps them apart
 * on purpose. Refused for a partner of this programme.
 */
async function findOrMakePartner(
	trx: Db,
	deps: InvitationsDeps,
	maker: SignedInPerson,
	programme: Programme,
	application: Application,
): Promise<Result<InvitedPartner>> {
	const { email } = application;
	const person = await findPersonByEmail(trx, email);
	const partners = person === undefined ? [] : await listPartnersOf(trx, person.id);
	const ids = partners.map(({ id }) => id);
	const partnerships = await listPartnerships(trx, "partner_id", ids);
	const present = partnerships.find(({ programme_id }) => programme_id === programme.id);
	if (present !== undefined) {
		const { partner_name: name } = present;
		const cure = `Decline the application, or change the partnership with ${name}.`;
		return refuse("already_partner", `${email} signs in for ${name}, a partner of this programme. ${cure}`);
	}
	const [partner, ...others] = partners;
	const isOne = partner !== undefined && others.length === 0;
	if (person === undefined || !isOne || !(await hasPassword(trx, person.public_id)))
		return makePartner(trx, deps, maker, application, programme);
	const sent = await welcomePerson(trx, deps, person, { partner, accepted: programme }, maker);
	return succeed({ ...sent, partner });
}
