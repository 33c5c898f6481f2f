// Partners and the people who sign in for them. Staff invite them, and applicants whom an owner accepts
// become partners, too. partnerships.ts has the agreements between a partner and a programme.

import type { AuditAction } from "#core/domain/action.ts";
import { parseLines, readName } from "#core/domain/display-name.ts";
import { judgeErasedPartner } from "#core/domain/erasure.ts";
import { type Checked, checkAll, listFaults, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { parseRate, shortenRate } from "#core/domain/money.ts";
import type { Conditions, PartnerPlace } from "#core/domain/place.ts";
import { effectiveCommissions } from "#core/domain/rate.ts";
import { describeRates } from "#core/domain/rate-words.ts";
import {
	type Actor,
	type AuditedActor,
	forPartner,
	type PersonActor,
	personIdOf,
	type SignedInPerson,
	STAFF,
	transactAs,
} from "#core/people/actor.ts";
import { type EndedAccess, endAccess } from "#core/people/end-access.ts";
import {
	admit,
	findOrCreateInvitee,
	type InvitationsDeps,
	invite,
	renewLink,
	renewOffer,
	type SentLink,
	sendAs,
} from "#core/people/invitations.ts";
import { parseEmail } from "#core/people/people.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import * as peopleRows from "#core/store/queries/partner-people.ts";
import * as rows from "#core/store/queries/partners.ts";
import { findPersonByPublicId, type Person } from "#core/store/queries/people.ts";
import { type Programme, ratesOf } from "#core/store/queries/programmes.ts";
import { findPartnerInvitation, removePartnerInvitation } from "#core/store/queries/sign-in-links.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { agreedCommissions } from "../store/credits.ts";
import { listPartnerships } from "../store/partnerships.ts";

type Deps = Pick<InvitationsDeps, "store" | "clock" | "random">;

export interface PartnerInput {
	name: string;
	site: string;
	email: string;
}

/** Fields that staff enter to invite a partner. */
export interface InvitationInput extends PartnerInput {
	/**
	 * Public id of the partner, which the form already contains. If the same form is sent twice, only one partner is made.
	 * Without it, an id is made.
	 */
	publicId?: string | undefined;
}

export interface InvitedPartner extends SentLink {
	partner: Partner;
}

/** Creates a partner, and invites a person to sign in for it. */
export async function invitePartner(
	deps: InvitationsDeps,
	actor: Actor,
	input: InvitationInput,
): Promise<Result<InvitedPartner>> {
	const read = readPartner(input);
	if (!read.ok) return read;
	const invitation = { ...read.value, publicId: input.publicId };
	return sendAs(deps, actor, read.value.email, STAFF, (trx) => makePartner(trx, deps, actor, invitation));
}

export function readPartner({ name, site, email }: PartnerInput): Checked<PartnerInput> {
	return checkAll({
		name: readName(name, "the partner's"),
		site: readSite(site.trim()),
		email: parseEmail(email),
	});
}

/**
 * Corrects a partner's name, the address of its website, or both. A field that is left out stays as it is. Only staff
 * may do this. Resolves to whether something changed.
 */
export async function renamePartner(
	deps: Deps,
	actor: PersonActor,
	partnerId: number,
	{ name, site }: { name?: string | undefined; site?: string | undefined },
): Promise<Result<boolean>> {
	const read = checkAll<Partial<Pick<PartnerDetails, "name" | "site">>>({
		...(name === undefined ? {} : { name: readName(name, "the partner's") }),
		...(site === undefined ? {} : { site: readSite(site.trim()) }),
	});
	if (!read.ok) return read;
	return changePartner(deps, actor, partnerId, read.value);
}

/** Maximum length of the VAT note. It is enough for a sentence that cites a law. */
const MAX_VAT_NOTE_LENGTH = 300;

/**
 * Saves the VAT percentage and the note that the partner's statements show. Nothing is calculated from them. Only staff
 * may do this. Resolves to whether something changed.
 */
export async function savePartnerVat(
	deps: Deps,
	actor: SignedInPerson,
	partnerId: number,
	typed: { vatPercent: string; vatNote: string },
): Promise<Checked<boolean>> {
	const read = checkAll({
		vat_percent: readVatPercent(typed.vatPercent),
		vat_note: readVatNote(typed.vatNote),
	});
	if (!read.ok) return read;
	const saved = await changePartner(deps, actor, partnerId, read.value);
	return listFaults(saved);
}

function readVatPercent(text: string): Result<string | null> {
	if (text.trim() === "") return succeed(null);
	const rate = parseRate(text.trim(), "vatPercent");
	if (rate.ok) return succeed(shortenRate(rate.value));
	return refuse("invalid_rate", "Enter a percentage such as 19, or leave the field empty.", "vatPercent");
}

function readVatNote(text: string): Result<string> {
	const note = parseLines(text, MAX_VAT_NOTE_LENGTH);
	if (note !== null) return succeed(note);
	const rule = `Enter a note of at most ${MAX_VAT_NOTE_LENGTH} characters, and none that are invisible.`;
	return refuse("invalid_field", rule, "vatNote");
}

type PartnerDetails = Pick<Partner, "name" | "site" | "vat_percent" | "vat_note">;

const DETAIL_LABELS: Readonly<Record<keyof PartnerDetails, string>> = {
	name: "name",
	site: "site",
	vat_percent: "VAT percentage",
	vat_note: "VAT note",
};

function changePartner(
	deps: Deps,
	actor: PersonActor,
	partnerId: number,
	wanted: Partial<PartnerDetails>,
): Promise<Result<boolean>> {
	return transactAs<boolean>(deps.store, actor, STAFF, async (trx) => {
		const partner = await rows.lockPartner(trx, partnerId);
		if (partner === undefined) return refuse("unknown_partner", "This partner does not exist.");
		const judged = judgeErasedPartner(partner);
		if (!judged.ok) return judged;
		const names = Object.keys(wanted) as (keyof PartnerDetails)[];
		const changes = names.flatMap((name) =>
			wanted[name] === partner[name]
				? []
				: [`${DETAIL_LABELS[name]}: ${partner[name] || "none"} → ${wanted[name] || "none"}`],
		);
		if (changes.length === 0) return succeed(false);
		await rows.updatePartner(trx, partner, wanted);
		await note(trx, deps, actor, "partner.changed", partner.public_id, changes.join("; "));
		return succeed(true);
	});
}

const MAX_SITE_LENGTH = 200;

/** Parses the address of the partner's website, which is optional. People often leave out https://. */
function readSite(typed: string): Result<string> {
	const text = withScheme(typed);
	// The length comes first, because the parser takes quadratic time for host names in other scripts.
	const url = text.length <= MAX_SITE_LENGTH ? URL.parse(text) : null;
	const isSite = /^https?:$/.test(url?.protocol ?? "");
	if (text === "" || isSite) return succeed(url?.href ?? "");
	const rule = `Enter the site with https://, in at most ${MAX_SITE_LENGTH} characters, or leave the field empty.`;
	return refuse("invalid_field", rule, "site");
}

/** Adds https:// to an address that was typed without it, such as "blog.example" or "localhost:8201/shoes". */
export function withScheme(text: string): string {
	// A colon with digits after it begins a port, and any other colon ends a scheme.
	const hasScheme = /^[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|$))/i.test(text) || text.includes("://");
	return text === "" || hasScheme ? text : `https://${text}`;
}

/**
 * Creates a partner and invites a person to sign in for it. It must run in the transaction that `sendAs`
 * opens, because `sendAs` sends the queued mail after the commit.
 */
export async function makePartner(
	trx: Db,
	deps: InvitationsDeps,
	actor: Actor,
	{ name, site, email, publicId }: InvitationInput,
	/** Content of the mail about the partner's first programme, if there is one. */
	about: Pick<PartnerPlace, "accepted" | "conditions"> = {},
): Promise<Result<InvitedPartner>> {
	if (publicId !== undefined && (await rows.findPartner(trx, publicId)) !== undefined) {
		return refuse("already_partner", `${name} was invited already. Look for it in the list.`);
	}
	const invitee = await findOrCreateInvitee(trx, deps, email, "shop");
	if (!invitee.ok) return invitee;
	const created_at_ms = deps.clock.nowMs();
	const public_id = publicId ?? makeId("ptn", created_at_ms, deps.random.bytes(ID_RANDOM_BYTES));
	const partner = await rows.insertPartner(trx, { public_id, name, site, created_at_ms });
	await note(trx, deps, actor, "partner.invited", public_id, email);
	const sent = await admit(trx, deps, invitee.value, { kind: "partner", partner, ...about }, actor);
	return succeed({ ...sent, partner });
}

/**
 * Invites a person to sign in for a partner. Staff add the partner to an existing account at once. An invitation
 * by the partner's own people takes effect when it is accepted.
 */
export async function inviteToPartner(
	deps: InvitationsDeps,
	actor: SignedInPerson,
	partner: Partner,
	email: string,
): Promise<Result<SentLink>> {
	return invite(deps, actor, await placeOf(deps.store.db, partner), email);
}

/**
 * Makes a new sign-in link for one of the partner's people, with which they join or choose a new password, or
 * sends an open invitation again. `publicId` is that of the person or of the invitation.
 */
export async function renewPartnerLink(
	deps: InvitationsDeps,
	actor: SignedInPerson,
	partner: Partner,
	publicId: string,
): Promise<Result<SentLink>> {
	const place = await placeOf(deps.store.db, partner);
	const invitation = await findPartnerInvitation(deps.store.db, partner.id, publicId);
	if (invitation !== undefined) {
		return renewOffer(deps, actor, place, invitation.email, async (trx) => {
			return (await findPartnerInvitation(trx, partner.id, publicId)) !== undefined;
		});
	}
	const person = await findPartnerPerson(deps.store.db, partner.id, publicId);
	return person.ok ? renewLink(deps, actor, person.value.id, place) : person;
}

/** Returns what an invitation to the partner says: its name, and the conditions of its programmes. */
export async function placeOf(db: Db, partner: Partner): Promise<PartnerPlace> {
	const partnerships = await listPartnerships(db, "partner_id", [partner.id]);
	const active = partnerships.filter(({ ended_at_ms }) => ended_at_ms === null);
	const conditions = active.slice(0, MAX_CONDITIONS).map((partnership) => ({
		programmeName: partnership.programme_name,
		commissions: describeRates(agreedCommissions(partnership), partnership.programme_currency),
		clickDays: partnership.programme_click_days,
	}));
	return { kind: "partner", partner, conditions };
}

/** Maximum number of programmes that an invitation describes, so that the mail stays short. */
const MAX_CONDITIONS = 10;

/** Returns the conditions of a programme for a partner who has no commission of its own. */
export function conditionsOf(programme: Programme): Conditions {
	const commissions = effectiveCommissions(ratesOf(programme), null);
	return {
		programmeName: programme.name,
		commissions: describeRates(commissions, programme.currency),
		clickDays: programme.click_days,
	};
}

export interface PartnerPersonRemoved {
	person: Pick<Person, "email" | "name">;
	/** The person's sessions, links and jobs that ended, or null if only an invitation was withdrawn. */
	ended: EndedAccess | null;
}

/**
 * Ends a person's access to the partner, or withdraws an open invitation. A removed person is signed out, and
 * their sign-in links become invalid. The API tokens that they issued for the partner and the signing secret that they
 * prepared for it end, too. An active secret stays. `publicId` is that of the person or of the invitation.
 */
export async function removePartnerPerson(
	deps: Deps,
	actor: SignedInPerson,
	partner: Partner,
	publicId: string,
): Promise<Result<PartnerPersonRemoved>> {
	const removed = await transactAs<PartnerPersonRemoved>(
		deps.store,
		actor,
		forPartner(partner.id),
		async (trx) => {
			const invitation = await findPartnerInvitation(trx, partner.id, publicId);
			if (invitation !== undefined) {
				const { email } = invitation;
				await removePartnerInvitation(trx, partner.id, email);
				await note(trx, deps, actor, "invitation.withdrawn", email, partner.name);
				return succeed({ person: { email, name: "" }, ended: null });
			}
			const found = await findPartnerPerson(trx, partner.id, publicId);
			if (!found.ok) return found;
			const person = found.value;
			if (person.id === actor.personId) {
				return refuse("not_allowed", "You cannot remove yourself. Ask a colleague or the network's staff.");
			}
			if (!(await peopleRows.removePartnerPerson(trx, partner.id, person.id))) return notTheirs();
			const ending = { endedBy: actor.personId, partnerId: partner.id, nowMs: deps.clock.nowMs() };
			const ended = await endAccess(trx, person.id, ending);
			await note(trx, deps, actor, "person.removed", person.email, partner.name);
			// Colleagues must not learn what the person did in programmes and for other partners.
			return succeed({ person, ended: actor.kind === "shop" ? { ...ended, links: 0, jobs: 0 } : ended });
		},
	);
	// This process must stop accepting the person's API tokens at once.
	if (removed.ok) deps.store.announceChange(null);
	return removed;
}

async function findPartnerPerson(db: Db, partnerId: number, publicId: string): Promise<Result<Person>> {
	const person = await findPersonByPublicId(db, publicId);
	if (person === undefined || !(await peopleRows.signsInFor(db, partnerId, person.id))) return notTheirs();
	return succeed(person);
}

function notTheirs(): ReturnType<typeof refuse> {
	return refuse("unknown_person", "This person does not sign in for the partner. Look at the list again.");
}

/** Writes an audit entry about a partner. */
export function note(
	trx: Db,
	{ clock }: Pick<Deps, "clock">,
	actor: AuditedActor,
	action: AuditAction,
	subject: string,
	detail: string,
	programmeId: number | null = null,
): Promise<void> {
	const personId = personIdOf(actor);
	return noteAudit(trx, { personId, programmeId, action, subject, detail }, clock.nowMs());
}
