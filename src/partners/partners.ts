// Partners and their partnerships. Staff make and end them; a programme's owner accepts who applies, and may end a
// partnership. One that has ended keeps what it earned, and earns from clicks that were made before.

import { MAX_NAME_LENGTH, parseName } from "../domain/display-name.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { parseRate } from "../domain/money.ts";
import { composePartnerMail } from "../mail/letters.ts";
import { type EndedAccess, endAccess } from "../people/end-access.ts";
import type { InvitationsDeps, SentLink } from "../people/invitations.ts";
import { issueLink, type Maker, transactAs, transactInProgramme } from "../people/links.ts";
import { findOrMakePerson, parseEmail } from "../people/people.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	addPartnerPerson,
	changePartnership,
	findPartner,
	insertPartner,
	insertPartnership,
	type NamedPartnership,
	type Partner,
	type Partnership,
	removePartnerPerson,
	setPartnerEnded,
} from "../store/queries/partners.ts";
import { findPersonByPublicId, type Person } from "../store/queries/people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { hasPassword } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";

type Deps = Pick<InvitationsDeps, "store" | "clock" | "random">;

export interface PartnerInput {
	name: string;
	site: string;
	email: string;
}

/** By staff: the partner, and somebody who signs in for it. */
export async function invitePartner(
	deps: InvitationsDeps,
	maker: Maker | null,
	input: PartnerInput,
): Promise<Result<SentLink & { partner: Partner }>> {
	const read = readPartner(input);
	if (!read.ok) return read;
	const sent = await transactAs(deps.store, maker, (trx) => makePartner(trx, deps, maker, read.value));
	if (sent.ok) deps.mails.wake();
	return sent;
}

export function readPartner({ name: nameText, site, email: emailText }: PartnerInput): Result<PartnerInput> {
	const name = parseName(nameText);
	if (name === null) {
		return refuse(
			"invalid_name",
			`A partner's name has 1 to ${MAX_NAME_LENGTH} characters, without line breaks.`,
			"name",
		);
	}
	const email = parseEmail(emailText);
	if (!email.ok) return email;
	const url = site.trim() === "" ? null : URL.parse(site.trim());
	if (site.trim() !== "" && url?.protocol !== "https:" && url?.protocol !== "http:") {
		return refuse("invalid_field", "Enter the site with https://, or leave the field empty.", "site");
	}
	return succeed({ name, email: email.value, site: url?.href ?? "" });
}

/** In the caller's transaction: to be followed by `wake`. */
export async function makePartner(
	trx: Db,
	deps: InvitationsDeps,
	maker: Maker | null,
	{ name, site, email }: PartnerInput,
): Promise<Result<SentLink & { partner: Partner }>> {
	const nowMs = deps.clock.nowMs();
	const partner = await insertPartner(trx, {
		public_id: makeId("ptn", nowMs, deps.random.bytes(ID_RANDOM_BYTES)),
		name,
		site,
		created_at_ms: nowMs,
	});
	const personId = maker?.personId ?? null;
	await noteAudit(
		trx,
		{ personId, action: "partner.invited", subject: partner.public_id, detail: email },
		nowMs,
	);
	const sent = await invitePersonOf(trx, deps, maker, partner, email);
	return sent.ok ? succeed({ ...sent.value, partner }) : sent;
}

/** Somebody else of the partner, or a new link for one who has not joined. */
export async function inviteToPartner(
	deps: InvitationsDeps,
	maker: Maker | null,
	partner: Partner,
	emailText: string,
): Promise<Result<SentLink>> {
	const email = parseEmail(emailText);
	if (!email.ok) return email;
	const sent = await transactAs(deps.store, maker, async (trx) => {
		const personId = maker?.personId ?? null;
		const note = { personId, action: "person.invited", subject: email.value } as const;
		await noteAudit(trx, { ...note, detail: partner.name }, deps.clock.nowMs());
		return invitePersonOf(trx, deps, maker, partner, email.value);
	});
	if (sent.ok) deps.mails.wake();
	return sent;
}

/** They are signed out, and their links end, as for everybody whose access ends. */
export function removePersonOf(
	deps: Deps,
	maker: Maker,
	partner: Partner,
	publicId: string,
): Promise<Result<{ email: string; ended: EndedAccess }>> {
	return transactAs(deps.store, maker, async (trx) => {
		const person = await findPersonByPublicId(trx, publicId);
		if (person === undefined || !(await removePartnerPerson(trx, partner.id, person.id))) {
			return refuse(
				"unknown_person",
				"This person does not sign in for the partner. Look at the list again.",
			);
		}
		const nowMs = deps.clock.nowMs();
		const ended = await endAccess(trx, person, { endedBy: maker.personId, nowMs });
		const note = { personId: maker.personId, action: "person.removed", subject: person.email } as const;
		await noteAudit(trx, { ...note, detail: partner.name }, nowMs);
		return succeed({ email: person.email, ended });
	});
}

/** In the caller's transaction: to be followed by `wake`. */
async function invitePersonOf(
	trx: Db,
	deps: InvitationsDeps,
	maker: Maker | null,
	partner: Partner,
	email: string,
): Promise<Result<SentLink>> {
	const person: Person = await findOrMakePerson(trx, deps, email, "shop");
	if (person.kind === "staff") {
		return refuse("email_taken", `${email} is the address of a staff account. Use another one.`, "email");
	}
	await addPartnerPerson(trx, partner.id, person.id);
	const isKnown = await hasPassword(trx, person.public_id);
	const order = { purpose: "programme_invitation", personId: person.id, maker } as const;
	const link = isKnown ? null : `${deps.publicUrl}${await issueLink(trx, deps, order)}`;
	await deps.mails.enqueue(trx, composePartnerMail(email, partner.name, link, deps.publicUrl));
	return succeed({
		email,
		link,
		isLinkWithheld: false,
		isMailed: deps.mails.isOn,
		isForPassword: false,
	});
}

export function endPartner(deps: Deps, maker: Maker | null, publicId: string): Promise<Result<Partner>> {
	return transactAs(deps.store, maker, async (trx) => {
		const partner = await findPartner(trx, publicId);
		if (partner === undefined) return unknownPartner(publicId);
		if (partner.ended_at_ms !== null) return succeed(partner);
		const nowMs = deps.clock.nowMs();
		await setPartnerEnded(trx, partner.id, nowMs);
		const note = { personId: maker?.personId ?? null, action: "partner.ended" } as const;
		await noteAudit(trx, { ...note, subject: publicId, detail: partner.name }, nowMs);
		return succeed({ ...partner, ended_at_ms: nowMs });
	});
}

/** An empty rate is the programme's own. */
function readRate(text: string): Result<string | null> {
	return text.trim() === "" ? succeed(null) : parseRate(text.trim(), "rate");
}

export async function addPartnership(
	deps: Deps,
	maker: Maker | null,
	programme: Programme,
	partnerId: string,
	rateText: string,
): Promise<Result<Partnership>> {
	const rate = readRate(rateText);
	if (!rate.ok) return rate;
	return transactInProgramme(deps.store, maker, programme.id, async (trx) => {
		const partner = await findPartner(trx, partnerId);
		if (partner === undefined) return unknownPartner(partnerId);
		return joinProgramme(trx, deps, maker, programme, partner, rate.value);
	});
}

/** In the caller's transaction. The terms are kept as they are now. */
export async function joinProgramme(
	trx: Db,
	{ clock, random }: Pick<Deps, "clock" | "random">,
	maker: Maker | null,
	programme: Programme,
	partner: Partner,
	rate: string | null,
): Promise<Result<Partnership>> {
	const nowMs = clock.nowMs();
	const partnership = await insertPartnership(trx, {
		public_id: makeId("pts", nowMs, random.bytes(ID_RANDOM_BYTES)),
		programme_id: programme.id,
		partner_id: partner.id,
		commission_rate: rate,
		terms: programme.partner_terms,
		created_at_ms: nowMs,
	});
	if (partnership === undefined) {
		return refuse(
			"already_partner",
			`${partner.name} is a partner of this programme already. Open the partnership to change it.`,
		);
	}
	const note = { personId: maker?.personId ?? null, programmeId: programme.id } as const;
	await noteAudit(
		trx,
		{ ...note, action: "partnership.started", subject: partnership.public_id, detail: partner.name },
		nowMs,
	);
	return succeed(partnership);
}

/** The rate holds for sales that are recorded from now on. */
export async function changeRate(
	deps: Deps,
	maker: Maker | null,
	partnership: NamedPartnership,
	rateText: string,
): Promise<Result<string | null>> {
	const rate = readRate(rateText);
	if (!rate.ok) return rate;
	return changeIn(deps, maker, partnership, "partnership.rate_changed", rate.value ?? "the programme's", {
		commission_rate: rate.value,
	}).then((changed) => (changed.ok ? rate : changed));
}

export function endPartnership(
	deps: Deps,
	maker: Maker | null,
	partnership: NamedPartnership,
): Promise<Result<true>> {
	return changeIn(deps, maker, partnership, "partnership.ended", partnership.partner_name, {
		ended_at_ms: deps.clock.nowMs(),
	});
}

/** An ended one goes on: its links and codes count again. */
export function resumePartnership(
	deps: Deps,
	maker: Maker | null,
	partnership: NamedPartnership,
): Promise<Result<true>> {
	return changeIn(deps, maker, partnership, "partnership.started", partnership.partner_name, {
		ended_at_ms: null,
	});
}

function changeIn(
	{ store, clock }: Deps,
	maker: Maker | null,
	{ id, public_id, programme_id }: NamedPartnership,
	action: "partnership.rate_changed" | "partnership.ended" | "partnership.started",
	detail: string,
	change: Parameters<typeof changePartnership>[2],
): Promise<Result<true>> {
	return transactInProgramme(store, maker, programme_id, async (trx) => {
		await changePartnership(trx, id, change);
		const note = { personId: maker?.personId ?? null, programmeId: programme_id, action } as const;
		await noteAudit(trx, { ...note, subject: public_id, detail }, clock.nowMs());
		return succeed(true);
	});
}

function unknownPartner(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_partner", `There is no partner ${publicId}. Check the ID: it starts with ptn_.`);
}
