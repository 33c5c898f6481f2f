// Partners and their partnerships. Staff make and end them; a programme's owner accepts who applies, says which coupon
// codes are whose, and may end a partnership. One that has ended keeps what it earned, and earns from clicks that were
// made before.

import type { AuditAction } from "../domain/action.ts";
import { foldCode, MAX_COUPON_CODE_CHARACTERS } from "../domain/credit.ts";
import { parseName, readName } from "../domain/display-name.ts";
import { type Checked, checkAll, type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { parseRate } from "../domain/money.ts";
import {
	type Actor,
	personIdOf,
	type SignedInPerson,
	transactAs,
	transactInProgramme,
} from "../people/actor.ts";
import { type EndedAccess, endAccess } from "../people/end-access.ts";
import {
	findOrMakeInvitee,
	type InvitationsDeps,
	renewLink,
	type SentLink,
	sendAs,
	welcomePerson,
} from "../people/invitations.ts";
import { parseEmail } from "../people/people.ts";
import { noteAudit } from "../store/queries/audit.ts";
import type { NamedPartnership, Partner, Partnership } from "../store/queries/partners.ts";
import * as rows from "../store/queries/partners.ts";
import { findPersonByPublicId, type Person } from "../store/queries/people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";

type Deps = Pick<InvitationsDeps, "store" | "clock" | "random">;

export interface PartnerInput {
	name: string;
	site: string;
	email: string;
}

export interface InvitedPartner extends SentLink {
	partner: Partner;
}

/** By staff: the partner, and somebody who signs in for it. */
export async function invitePartner(
	deps: InvitationsDeps,
	maker: Actor,
	input: PartnerInput,
): Promise<Result<InvitedPartner>> {
	const read = readPartner(input);
	if (!read.ok) return read;
	return sendAs(deps, maker, read.value.email, null, (trx) => makePartner(trx, deps, maker, read.value));
}

export function readPartner({ name, site, email }: PartnerInput): Checked<PartnerInput> {
	return checkAll({
		name: readName(name, "the partner's"),
		site: readSite(site.trim()),
		email: parseEmail(email),
	});
}

const MAX_SITE_LENGTH = 200;

/** May be empty. */
function readSite(text: string): Result<string> {
	const url = URL.parse(text);
	const isSite = /^https?:$/.test(url?.protocol ?? "") && text.length <= MAX_SITE_LENGTH;
	if (text === "" || isSite) return succeed(url?.href ?? "");
	const rule = `Enter the site with https://, in at most ${MAX_SITE_LENGTH} characters, or leave the field empty.`;
	return refuse("invalid_field", rule, "site");
}

/** In the transaction of `sendAs`. Refused before anything is written. */
export async function makePartner(
	trx: Db,
	deps: InvitationsDeps,
	maker: Actor,
	{ name, site, email }: PartnerInput,
	/** That accepted their application. */
	accepted?: Pick<Programme, "name">,
): Promise<Result<InvitedPartner>> {
	const invitee = await findOrMakeInvitee(trx, deps, email, "shop");
	if (!invitee.ok) return invitee;
	const created_at_ms = deps.clock.nowMs();
	const public_id = makeId("ptn", created_at_ms, deps.random.bytes(ID_RANDOM_BYTES));
	const partner = await rows.insertPartner(trx, { public_id, name, site, created_at_ms });
	await note(trx, deps, maker, "partner.invited", public_id, email);
	const sent = await welcomePerson(trx, deps, invitee.value, { partner, accepted }, maker);
	return succeed({ ...sent, partner });
}

/** To join with, or for a new password. */
export async function renewPartnerLink(
	deps: InvitationsDeps,
	maker: SignedInPerson,
	partner: Partner,
	publicId: string,
): Promise<Result<SentLink>> {
	const found = await findPersonOf(deps.store.db, partner, publicId);
	return found.ok ? renewLink(deps, maker, found.value, { partner }) : found;
}

/** They are signed out, and their links end, as for everybody whose access ends. */
export function removePersonOf(
	deps: Deps,
	maker: SignedInPerson,
	partner: Partner,
	publicId: string,
): Promise<Result<{ person: Person; ended: EndedAccess }>> {
	return transactAs(deps.store, maker, async (trx) => {
		const found = await findPersonOf(trx, partner, publicId);
		if (!found.ok) return found;
		const person = found.value;
		await rows.removePartnerPerson(trx, partner.id, person.id);
		const ended = await endAccess(trx, person, { endedBy: maker.personId, nowMs: deps.clock.nowMs() });
		await note(trx, deps, maker, "person.removed", person.email, partner.name);
		return succeed({ person, ended });
	});
}

async function findPersonOf(db: Db, partner: Partner, publicId: string): Promise<Result<Person>> {
	const person = await findPersonByPublicId(db, publicId);
	const own = person === undefined ? [] : await rows.listPartnersOf(db, person.id);
	if (person !== undefined && own.some(({ id }) => id === partner.id)) return succeed(person);
	return refuse("unknown_person", "This person does not sign in for the partner. Look at the list again.");
}

export function addPartnership(
	deps: Deps,
	maker: Actor,
	programme: Programme,
	partner: Pick<Partner, "id" | "name">,
): Promise<Result<Partnership>> {
	return transactInProgramme(deps.store, maker, programme.id, (trx) =>
		joinProgramme(trx, deps, maker, programme, partner),
	);
}

/**
 * In the caller's transaction, at the programme's own rate. The terms are kept: those that an applicant saw, or as they are
 * now.
 */
export async function joinProgramme(
	trx: Db,
	deps: Pick<Deps, "clock" | "random">,
	maker: Actor,
	programme: Programme,
	partner: Pick<Partner, "id" | "name">,
	terms = programme.partner_terms,
): Promise<Result<Partnership>> {
	const nowMs = deps.clock.nowMs();
	const partnership = await rows.insertPartnership(trx, {
		public_id: makeId("pts", nowMs, deps.random.bytes(ID_RANDOM_BYTES)),
		programme_id: programme.id,
		partner_id: partner.id,
		commission_rate: null,
		terms,
		created_at_ms: nowMs,
	});
	if (partnership === undefined) {
		const text = `${partner.name} is a partner of this programme already. Open the partnership to change it.`;
		return refuse("already_partner", text);
	}
	const { public_id: id } = partnership;
	await note(trx, deps, maker, "partnership.started", id, partner.name, programme.id);
	return succeed(partnership);
}

export interface PartnershipInput {
	/** Percent; empty for the programme's own. Staff alone change it, for sales that are recorded from now on. */
	rate: string;
	/** All of its coupon codes, one a line. */
	codes: string;
}

export async function savePartnership(
	deps: Deps,
	maker: Actor,
	{ id, public_id, programme_id: programmeId, partner_name: name, commission_rate }: NamedPartnership,
	input: PartnershipInput,
): Promise<Result<true>> {
	const read = checkAll({
		rate: maker.kind === "shop" ? succeed(commission_rate) : readRate(input.rate),
		codes: readCodes(input.codes),
	});
	if (!read.ok) return read;
	const { rate, codes } = read.value;
	return transactInProgramme<true>(deps.store, maker, programmeId, async (trx) => {
		const known = new Map((await rows.listCodes(trx, [id])).map(({ folded, code }) => [folded, code]));
		const added = [...codes].filter(([folded]) => !known.has(folded));
		for (const [folded, code] of added) {
			const other = await rows.findByCode(trx, programmeId, folded);
			if (other === undefined) continue;
			const whose = maker.kind === "shop" ? "another partner of this programme" : other.partner_name;
			const text = `The code ${code} belongs to ${whose} already. Remove it there first.`;
			return refuse("code_taken", text, "codes");
		}
		const changes = rate === commission_rate ? [] : [`rate: ${rate ?? "the programme's"}`];
		for (const [folded, code] of added) {
			const row = { folded, code, partnership_id: id, created_at_ms: deps.clock.nowMs() };
			await rows.insertCode(trx, { ...row, programme_id: programmeId });
			changes.push(`code added: ${code}`);
		}
		for (const [folded, code] of known) {
			if (codes.has(folded)) continue;
			await rows.removeCode(trx, programmeId, folded);
			changes.push(`code removed: ${code}`);
		}
		await rows.changePartnership(trx, id, { commission_rate: rate });
		const detail = [name, ...changes].join("; ");
		if (changes.length > 0)
			await note(trx, deps, maker, "partnership.changed", public_id, detail, programmeId);
		return succeed(true);
	});
}

function readRate(text: string): Result<string | null> {
	return text.trim() === "" ? succeed(null) : parseRate(text.trim(), "rate");
}

const MAX_CODES = 200;

/** By how they are compared. */
function readCodes(text: string): Result<ReadonlyMap<string, string>> {
	const lines = text.split(/[\r\n,;]+/).filter((line) => line.trim() !== "");
	const codes = lines.map(parseName);
	if (codes.some((code) => code === null || code.length > MAX_COUPON_CODE_CHARACTERS)) {
		const rule = `A coupon code has at most ${MAX_COUPON_CODE_CHARACTERS} characters. Enter one a line.`;
		return refuse("invalid_field", rule, "codes");
	}
	if (codes.length > MAX_CODES) return refuse("invalid_field", `Enter at most ${MAX_CODES} codes.`, "codes");
	return succeed(new Map(codes.flatMap((code) => (code === null ? [] : [[foldCode(code), code]]))));
}

/** One that has ended and becomes active again goes on: its links and codes count. What staff ended is theirs to resume. */
export function changeState(
	deps: Deps,
	maker: Actor,
	{ id, public_id, programme_id, partner_name, ended_at_ms, ended_by_staff }: NamedPartnership,
	to: "ended" | "active",
): Promise<Result<true>> {
	return transactInProgramme(deps.store, maker, programme_id, async (trx) => {
		const isByStaff = maker.kind !== "shop";
		const endedByStaff = to === "ended" && isByStaff ? 1 : 0;
		if (ended_by_staff === 1 && !isByStaff) {
			return refuse("partnership_ended", "The network ended this partnership. Ask its staff to resume it.");
		}
		// Sent twice.
		if ((ended_at_ms === null) === (to === "active") && ended_by_staff === endedByStaff) return succeed(true);
		await rows.changePartnership(trx, id, {
			ended_at_ms: to === "ended" ? (ended_at_ms ?? deps.clock.nowMs()) : null,
			ended_by_staff: endedByStaff,
		});
		const action = to === "ended" ? "partnership.ended" : "partnership.started";
		await note(trx, deps, maker, action, public_id, partner_name, programme_id);
		return succeed(true);
	});
}

export function note(
	trx: Db,
	{ clock }: Pick<Deps, "clock">,
	maker: Actor,
	action: AuditAction,
	subject: string,
	detail: string,
	programmeId: number | null = null,
): Promise<void> {
	const personId = personIdOf(maker);
	return noteAudit(trx, { personId, programmeId, action, subject, detail }, clock.nowMs());
}
