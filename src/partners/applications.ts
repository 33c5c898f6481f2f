// A stranger applies as a partner on a programme's public page, if its owner opened it; the owner or staff accept.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { sha256Hex } from "../domain/signature.ts";
import type { InvitationsDeps } from "../people/invitations.ts";
import { LIMITS, triesFrom, useLimits } from "../people/limits.ts";
import { type Maker, transactInProgramme } from "../people/links.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	type Application,
	findApplication,
	insertApplication,
	removeApplication,
} from "../store/queries/partners.ts";
import type { Programme } from "../store/queries/programmes.ts";
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

/** To a programme that takes applications. The answer is the same for every address, whether or not it is known. */
export async function apply(
	{ store, clock, random }: Pick<InvitationsDeps, "store" | "clock" | "random">,
	programme: Programme,
	input: ApplicationInput,
): Promise<Result<true>> {
	const read = readPartner(input);
	if (!read.ok) return read;
	// Browsers send line breaks as two characters.
	const about = input.about.replaceAll("\r\n", "\n").trim();
	if (about === "" || about.length > MAX_ABOUT_LENGTH) {
		const text = `Say in up to ${MAX_ABOUT_LENGTH} characters how you would bring sales.`;
		return refuse("invalid_field", text, "about");
	}
	if (programme.partner_terms !== "" && !input.acceptsTerms)
		return refuse("invalid_field", "Accept the terms to apply.", "acceptsTerms");
	if (input.termsMark !== markOf(programme)) {
		const text = "The terms were changed while you read them. Read them again, and accept them.";
		return refuse("changed_meanwhile", text, "acceptsTerms");
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
): Promise<Result<InvitedPartner>> {
	const accepted = await answer<InvitedPartner>(deps, maker, programme, publicId, async (trx, row) => {
		const made = await makePartner(trx, deps, maker, row);
		if (!made.ok) return made;
		const agreed = { ...programme, partner_terms: row.terms };
		const joined = await joinProgramme(trx, deps, maker, agreed, made.value.partner, null);
		return joined.ok ? made : joined;
	});
	if (accepted.ok) deps.mails.wake();
	return accepted;
}

export function declineApplication(
	deps: InvitationsDeps,
	maker: Maker,
	programme: Programme,
	publicId: string,
): Promise<Result<true>> {
	return answer<true>(deps, maker, programme, publicId, async (trx, { name }) => {
		const note = { personId: maker.personId, programmeId: programme.id } as const;
		const entry = { ...note, action: "application.declined", subject: publicId, detail: name } as const;
		await noteAudit(trx, entry, deps.clock.nowMs());
		return succeed(true);
	});
}

/** Once, and only where `work` has done what the answer says: a refusal leaves the application open. */
function answer<Value>(
	{ store }: InvitationsDeps,
	maker: Maker,
	{ id: programmeId }: Programme,
	publicId: string,
	work: (trx: Db, application: Application) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	return transactInProgramme(store, maker, programmeId, async (trx) => {
		const open = await findApplication(trx, programmeId, publicId);
		if (open === undefined) {
			return refuse("already_decided", "This application was answered before. Look at the list again.");
		}
		const done = await work(trx, open);
		if (done.ok) await removeApplication(trx, open.id);
		return done;
	});
}
