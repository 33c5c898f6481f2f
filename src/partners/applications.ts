// A stranger applies as a partner on a programme's public page, if its owner opened it; the owner or staff accept.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { sha256Hex } from "../domain/signature.ts";
import type { InvitationsDeps } from "../people/invitations.ts";
import { LIMITS, triesFrom, useLimits } from "../people/limits.ts";
import { type Maker, transactInProgramme } from "../people/links.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	decideApplication,
	findApplication,
	insertApplication,
	type Partnership,
} from "../store/queries/partners.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { joinProgramme, makePartner, type PartnerInput, readPartner } from "./partners.ts";

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

/** The answer is the same for every address, whether or not it is known. */
export async function apply(
	{ store, clock, random }: Pick<InvitationsDeps, "store" | "clock" | "random">,
	programme: Programme,
	input: ApplicationInput,
): Promise<Result<true>> {
	if (programme.takes_applications === 0) {
		return refuse("not_allowed", "This programme does not take applications at the moment.");
	}
	const read = readPartner(input);
	if (!read.ok) return read;
	// Browsers send line breaks as two characters.
	const about = input.about.replaceAll("\r\n", "\n").trim();
	if (about === "" || about.length > MAX_ABOUT_LENGTH) {
		return refuse(
			"invalid_field",
			`Say in up to ${MAX_ABOUT_LENGTH} characters how you would bring sales.`,
			"about",
		);
	}
	if (programme.partner_terms !== "" && !input.acceptsTerms)
		return refuse("invalid_field", "Accept the terms to apply.", "acceptsTerms");
	if (input.termsMark !== markOf(programme)) {
		return refuse(
			"changed_meanwhile",
			"The terms were changed while you read them. Read them again, and accept them.",
			"acceptsTerms",
		);
	}
	const nowMs = clock.nowMs();
	const full = await useLimits(store.db, triesFrom(input.address, LIMITS.applications), nowMs);
	if (full !== null) return full;
	const public_id = makeId("apl", nowMs, random.bytes(ID_RANDOM_BYTES));
	const row = { ...read.value, public_id, about, terms: programme.partner_terms };
	await store.transact(async (trx) => {
		await insertApplication(trx, { ...row, programme_id: programme.id, created_at_ms: nowMs });
		const note = { personId: null, programmeId: programme.id, action: "application.made" } as const;
		await noteAudit(trx, { ...note, subject: public_id, detail: row.name }, nowMs);
	});
	return succeed(true);
}

/** Makes the partner, invites the applicant to sign in, and starts the partnership with the terms that they saw. */
export async function acceptApplication(
	deps: InvitationsDeps,
	maker: Maker,
	programme: Programme,
	publicId: string,
): Promise<Result<Partnership>> {
	const done = await transactInProgramme<Partnership>(deps.store, maker, programme.id, async (trx) => {
		const application = await findApplication(trx, publicId);
		const isOurs = application?.programme_id === programme.id;
		if (!isOurs || !(await decideApplication(trx, application.id, true, deps.clock.nowMs())))
			return decided();
		const made = await makePartner(trx, deps, maker, application);
		if (!made.ok) return made;
		const { terms: partner_terms } = application;
		return joinProgramme(trx, deps, maker, { ...programme, partner_terms }, made.value.partner, null);
	});
	if (done.ok) deps.mails.wake();
	return done;
}

export function declineApplication(
	{ store, clock }: InvitationsDeps,
	maker: Maker,
	programme: Programme,
	publicId: string,
): Promise<Result<true>> {
	return transactInProgramme<true>(store, maker, programme.id, async (trx) => {
		const application = await findApplication(trx, publicId);
		const nowMs = clock.nowMs();
		const isOurs = application?.programme_id === programme.id;
		if (!isOurs || !(await decideApplication(trx, application.id, false, nowMs))) return decided();
		const note = { personId: maker.personId, programmeId: programme.id } as const;
		await noteAudit(
			trx,
			{ ...note, action: "application.declined", subject: publicId, detail: application.name },
			nowMs,
		);
		return succeed(true);
	});
}

function decided(): ReturnType<typeof refuse> {
	return refuse("already_decided", "This application was answered before. Look at the list again.");
}
