// Partnerships between partners and programmes. Staff add a partner to a programme and set its rate, and the
// programme's owner enters coupon codes. Both may end a partnership. It then still earns from earlier clicks,
// unless staff end its clicks, too.

import type { AuditAction } from "#core/domain/action.ts";
import { parseName } from "#core/domain/display-name.ts";
import { judgeErasedPartner } from "#core/domain/erasure.ts";
import { type Checked, checkAll, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { compareForm } from "#core/domain/form-changes.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { parseRate, zeroIn } from "#core/domain/money.ts";
import {
	type PartnershipRates,
	type Rate,
	readRate,
	storedRate,
	writeByType,
	writeRate,
} from "#core/domain/rate.ts";
import { parseCommissionsByType, parseFixed, sayByType, sayRate } from "#core/domain/rate-words.ts";
import {
	type Actor,
	type AuditedActor,
	inProgramme,
	type PersonActor,
	STAFF,
	transactAs,
} from "#core/people/actor.ts";
import { type InvitationsDeps, sendAs } from "#core/people/invitations.ts";
import type { Locked } from "#core/store/locked.ts";
import { findPartnerById, lockPartner } from "#core/store/queries/partners.ts";
import { findProgrammesById, lockProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { foldCode, MAX_COUPON_CODE_CHARACTERS } from "../domain/credit.ts";
import { insertCode, listCodes, removeCode, respellCode } from "../store/coupon-codes.ts";
import { commissionsOf } from "../store/credits.ts";
import * as rows from "../store/partnerships.ts";
import type { Partnership } from "../store/tables.ts";
import {
	conditionsOf,
	type InvitationInput,
	type InvitedPartner,
	makePartner,
	note,
	readPartner,
} from "./partners.ts";

type Deps = Pick<InvitationsDeps, "store" | "clock" | "random">;

export function addPartnership(
	deps: Deps,
	actor: Actor,
	programmeId: number,
	partner: Pick<Partner, "id" | "name">,
): Promise<Result<Partnership>> {
	return transactAs(deps.store, actor, inProgramme(programmeId), async (trx) => {
		const programme = await lockProgramme(trx, programmeId);
		if (programme === undefined) return refuse("unknown_programme", "This programme does not exist.");
		return joinProgramme(trx, deps, actor, programme, partner);
	});
}

/** Creates a partner of the programme, and invites a person to sign in for it. The mail names the commission. */
export async function invitePartnerTo(
	deps: InvitationsDeps,
	actor: Actor,
	programmeId: number,
	input: InvitationInput,
): Promise<Result<InvitedPartner>> {
	const read = readPartner(input);
	if (!read.ok) return read;
	const invitation = { ...read.value, publicId: input.publicId };
	return sendAs(deps, actor, read.value.email, inProgramme(programmeId), async (trx) => {
		const programme = await lockProgramme(trx, programmeId);
		if (programme === undefined) return refuse("unknown_programme", "This programme does not exist.");
		const judged = judgeArchived(programme, null);
		if (!judged.ok) return judged;
		const invited = await makePartner(trx, deps, actor, invitation, {
			conditions: [conditionsOf(programme)],
		});
		if (!invited.ok) return invited;
		const joined = await joinProgramme(trx, deps, actor, programme, invited.value.partner);
		return joined.ok ? invited : joined;
	});
}

/**
 * Adds the partner to the programme. The partnership keeps the terms that the applicant saw, or the programme's
 * present terms if nobody applied. It has the programme's commission, unless `agreed` has another one. Refuses
 * an archived programme or partner.
 */
export async function joinProgramme(
	trx: Db,
	deps: Pick<Deps, "clock" | "random">,
	actor: AuditedActor,
	programme: Locked<Programme>,
	partner: Pick<Partner, "id" | "name">,
	agreed: Partial<Pick<Partnership, "terms" | "commission_rate" | "event_rates">> = {},
	action: "partnership.started" | "partnership.imported" = "partnership.started",
): Promise<Result<Partnership>> {
	const judged = judgeArchived(programme, (await lockPartner(trx, partner.id)) ?? null);
	if (!judged.ok) return judged;
	const nowMs = deps.clock.nowMs();
	const partnership = await rows.insertPartnership(trx, {
		public_id: makeId("pts", nowMs, deps.random.bytes(ID_RANDOM_BYTES)),
		programme_id: programme.id,
		partner_id: partner.id,
		commission_rate: null,
		terms: programme.partner_terms,
		...agreed,
		created_at_ms: nowMs,
	});
	if (partnership === undefined) {
		const text = `${partner.name} is a partner of this programme already. Open the partnership to change it.`;
		return refuse("already_partner", text);
	}
	await note(trx, deps, actor, action, partnership.public_id, partner.name, programme.id);
	return succeed(partnership);
}

/** Refuses a programme or partner that staff have archived. */
export function judgeArchived(
	programme: Locked<Programme>,
	/** Null if the partner does not exist yet. */
	partner: JudgedPartner | null,
): Result<true> {
	if (programme.archived_at_ms !== null) {
		const text = `The network archived the programme ${programme.name}. Its staff must resume it first.`;
		return refuse("wrong_status", text);
	}
	return partner === null ? succeed(true) : judgeArchivedPartner(partner);
}

type JudgedPartner = Pick<Partner, "name" | "archived_at_ms" | "erased_at_ms">;

function judgeArchivedPartner(partner: JudgedPartner): Result<true> {
	const { name, archived_at_ms, erased_at_ms } = partner;
	if (erased_at_ms !== null) return judgeErasedPartner(partner);
	if (archived_at_ms === null) return succeed(true);
	const text = `The network archived the partner ${name}. Its staff must resume it first.`;
	return refuse("wrong_status", text);
}

/** The fields of a partnership's form, as a person typed them. */
export interface PartnershipFields {
	/**
	 * General commission as a percentage, which replaces the programme's general commission. If this field and
	 * `fixed` are empty, the programme's commission applies. Changes apply to sales that are recorded from now
	 * on.
	 */
	rate: string;
	/** Amount that is added to the percentage for each conversion. */
	fixed: string;
	/** Commissions for single event types, one on each line, as core/domain/rate-words.ts reads and writes them. */
	eventRates: string;
	/** All coupon codes of the partnership, one on each line. */
	codes: string;
}

/**
 * Saves a partnership's form. A form of an owner never changes the commission. Fields that are left out of
 * `typed` stay as they are.
 *
 * `shown` has the values of the form when it was opened, and only differences from them are saved. Without
 * `shown`, all fields of `typed` are saved.
 */
export async function savePartnership(
	deps: Deps,
	actor: Actor,
	{ programmeId, publicId }: PartnershipAddress,
	typed: Partial<PartnershipFields>,
	shown: Partial<PartnershipFields> = {},
): Promise<Result<true>> {
	// The currency of a programme never changes, so it can be read before the transaction.
	const programme = (await findProgrammesById(deps.store.db, [programmeId])).get(programmeId);
	if (programme === undefined) return unknownPartnership();
	const { currency } = programme;
	const read = checkAll({
		commission: actor.kind === "shop" ? succeed({}) : readCommission(typed, currency),
		codes: typed.codes === undefined ? succeed(null) : readCodes(typed.codes),
	});
	if (!read.ok) return read;
	const wanted = read.value;
	return transactAs<true>(deps.store, actor, inProgramme(programmeId), async (trx) => {
		const partnership = await rows.lockPartnership(trx, { programme_id: programmeId, public_id: publicId });
		if (partnership === undefined) return unknownPartnership();
		const partner = await findPartnerById(trx, partnership.partner_id);
		const erased = partner === undefined ? unknownPartnership() : judgeErasedPartner(partner);
		if (!erased.ok) return erased;
		const commission = judgeCommission(partnership, currency, wanted.commission, shown);
		if (!commission.ok) return commission;
		const codes = await planCodes(trx, actor, partnership, wanted.codes, shown.codes);
		if (!codes.ok) return codes;
		const nowMs = deps.clock.nowMs();
		const changes = [
			...(await saveCommission(trx, partnership, currency, commission.value, nowMs)),
			...(await saveCodes(trx, partnership, codes.value, nowMs)),
		];
		if (changes.length > 0) {
			const detail = [await nameOf(trx, partnership), ...changes].join("; ");
			await note(trx, deps, actor, "partnership.changed", publicId, detail, programmeId);
		}
		return succeed(true);
	});
}

/**
 * Identifies a partnership without its contents, so that use cases must read the contents under the
 * partnership's lock.
 */
export interface PartnershipAddress {
	programmeId: number;
	publicId: string;
}

/** A partnership's own commission in canonical form, so that two can be compared. */
interface OwnCommission {
	/** General commission as it is stored, or null for the programme's. */
	rate: string | null;
	/** Commissions for event types as people write them. */
	eventRates: string;
}

const COMMISSION_FIELDS = ["rate", "eventRates"] as const satisfies readonly (keyof OwnCommission)[];

const COMMISSION_LABELS: Readonly<Record<keyof OwnCommission, string>> = {
	rate: "rate",
	eventRates: "rates for event types",
};

/**
 * Parses the given fields of a commission. `rate` and `fixed` are parts of one value, so if only one of them
 * is empty, it counts as 0.
 */
function readCommission(
	{ rate, fixed, eventRates }: Partial<PartnershipFields>,
	currency: string,
): Checked<Partial<OwnCommission>> {
	const isGeneralGiven = rate !== undefined || fixed !== undefined;
	return checkAll<Partial<OwnCommission>>({
		...(isGeneralGiven ? { rate: readGeneralRate((rate ?? "").trim(), (fixed ?? "").trim(), currency) } : {}),
		...(eventRates === undefined ? {} : { eventRates: readEventRates(eventRates, currency) }),
	});
}

/** Parses the commission of a partnership's form, for the preview before it is saved. */
export function readTypedCommission(
	typed: Pick<PartnershipFields, "rate" | "fixed" | "eventRates">,
	currency: string,
): Checked<PartnershipRates> {
	const read = readCommission(typed, currency);
	if (!read.ok) return read;
	const { rate = null, eventRates = "" } = read.value;
	return succeed({
		commission: rate === null ? null : readRate(rate, zeroIn(currency)),
		byType: byTypeOf(eventRates, currency),
	});
}

/** Parses commissions for event types and writes them in canonical form. */
function readEventRates(text: string, currency: string): Result<string> {
	const byType = parseCommissionsByType(text, currency, "eventRates");
	return byType.ok ? succeed(sayByType(byType.value, (each) => sayRate(each, currency))) : byType;
}

/** Parses the general commission. A fixed amount without a percentage is the whole commission. */
function readGeneralRate(rate: string, fixed: string, currency: string): Checked<string | null> {
	if (rate === "" && fixed === "") return succeed(null);
	const read = checkAll<Rate>({
		percent: parseRate(rate === "" ? "0" : rate, "rate"),
		fixed: parseFixed(fixed, currency, "fixed"),
	});
	return read.ok ? succeed(storedRate(read.value)) : read;
}

function ownCommissionOf(partnership: Partnership, currency: string): OwnCommission {
	const { commission, byType } = commissionsOf(partnership, currency);
	return {
		rate: commission === null ? null : storedRate(commission),
		eventRates: sayByType(byType, (rate) => sayRate(rate, currency)),
	};
}

/** Checks a change of the commission. Returns the fields that change. */
function judgeCommission(
	partnership: Locked<Partnership>,
	currency: string,
	wanted: Partial<OwnCommission>,
	shownFields: Partial<PartnershipFields>,
): Result<Partial<OwnCommission>> {
	const stored = ownCommissionOf(partnership, currency);
	const seen = readCommission(shownFields, currency);
	const shown = { ...stored, ...(seen.ok ? seen.value : {}) };
	const { changed, overtaken } = compareForm(COMMISSION_FIELDS, { shown, wanted, stored });
	const [field] = overtaken;
	if (field !== undefined) {
		const now = sayCommission(field, stored, currency);
		const text = `Another person changed the ${COMMISSION_LABELS[field]} to ${now} while this page was open. Nothing was saved. Check the rate and save again.`;
		return refuse("changed_meanwhile", text, field);
	}
	return succeed(Object.fromEntries(changed.map((name) => [name, wanted[name]])));
}

/** Saves the changed fields. Resolves to descriptions of the changes for the audit log. */
async function saveCommission(
	trx: Db,
	partnership: Locked<Partnership>,
	currency: string,
	change: Partial<OwnCommission>,
	nowMs: number,
): Promise<string[]> {
	const changed = COMMISSION_FIELDS.filter((field) => field in change);
	if (changed.length === 0) return [];
	const stored = ownCommissionOf(partnership, currency);
	const after = { ...stored, ...change };
	const event_rates = writeByType(byTypeOf(after.eventRates, currency), writeRate);
	await rows.changeCommission(trx, partnership, { commission_rate: after.rate, event_rates }, nowMs);
	return changed.map((field) => {
		const [before, now] = [stored, after].map((each) => sayCommission(field, each, currency));
		return `${COMMISSION_LABELS[field]}: ${before} → ${now}`;
	});
}

/** Reads commissions for event types in canonical form. */
function byTypeOf(eventRates: string, currency: string): PartnershipRates["byType"] {
	const byType = parseCommissionsByType(eventRates, currency, "eventRates");
	if (!byType.ok) throw new Error(`rates that were checked are not readable: ${eventRates}`);
	return byType.value;
}

function sayCommission(
	field: keyof OwnCommission,
	{ rate, eventRates }: OwnCommission,
	currency: string,
): string {
	if (field === "eventRates") return eventRates.replaceAll("\n", " and ") || "none";
	return rate === null ? "the programme's" : sayRate(readRate(rate, zeroIn(currency)), currency);
}

interface CodeChanges {
	added: CouponCodes;
	removed: CouponCodes;
	/** Codes whose spelling changes, such as "berg10" to "BERG10". */
	respelled: CouponCodes;
}

/**
 * Finds the codes to add and to remove. Codes that another person added while the form was open stay, because
 * the form did not show them.
 */
async function planCodes(
	trx: Db,
	actor: Actor,
	partnership: Locked<Partnership>,
	/** All codes of the form, or null if the form did not contain them. */
	wanted: CouponCodes | null,
	shownText: string | undefined,
): Promise<Result<CodeChanges>> {
	if (wanted === null) return succeed({ added: new Map(), removed: new Map(), respelled: new Map() });
	const listed = await listCodes(trx, [partnership.id]);
	const stored: CouponCodes = new Map(listed.map(({ folded, code }) => [folded, code]));
	const seen = shownText === undefined ? succeed(stored) : readCodes(shownText);
	const shown = seen.ok ? seen.value : stored;
	const added = new Map([...wanted].filter(([folded]) => !stored.has(folded) && !shown.has(folded)));
	const removed = new Map([...stored].filter(([folded]) => !wanted.has(folded) && shown.has(folded)));
	// A spelling that the form showed and did not change stays as it is stored.
	const respelled = new Map(
		[...wanted].filter(([folded, code]) => {
			const present = stored.get(folded);
			return present !== undefined && code !== present && code !== shown.get(folded);
		}),
	);
	if (added.size > 0 && stored.size + added.size - removed.size > MAX_CODES) {
		const text = `A partner has at most ${MAX_CODES} codes in a programme. Remove some that are not used any more.`;
		return refuse("invalid_field", text, "codes");
	}
	for (const [folded, code] of added) {
		const other = await rows.findByCode(trx, partnership.programme_id, folded);
		if (other === undefined) continue;
		const whose = actor.kind === "shop" ? "another partner of this programme" : other.partner_name;
		const text = `The code ${code} belongs to ${whose} already. Remove it there first.`;
		return refuse("code_taken", text, "codes");
	}
	return succeed({ added, removed, respelled });
}

/** Saves the codes. Resolves to descriptions of the changes for the audit log. */
async function saveCodes(
	trx: Db,
	partnership: Locked<Partnership>,
	{ added, removed, respelled }: CodeChanges,
	nowMs: number,
): Promise<string[]> {
	const { id: partnership_id, programme_id } = partnership;
	for (const [folded, code] of added) {
		await insertCode(trx, { folded, code, partnership_id, programme_id, created_at_ms: nowMs });
	}
	for (const folded of removed.keys()) await removeCode(trx, partnership, folded);
	for (const [folded, code] of respelled) await respellCode(trx, partnership, folded, code);
	return [
		...[...added.values()].map((code) => `code added: ${code}`),
		...[...removed.values()].map((code) => `code removed: ${code}`),
		...[...respelled.values()].map((code) => `code now written: ${code}`),
	];
}

/** Maximum number of coupon codes of a partnership. Its form lists all of them. */
export const MAX_CODES = 200;

/** Coupon codes as they were entered, by their normalized form, which is used for comparisons. */
type CouponCodes = ReadonlyMap<string, string>;

/** Characters that separate the codes of a form. */
export const CODE_SEPARATORS = /[\r\n,;]+/;

export function readCodes(text: string): Result<CouponCodes> {
	const lines = text.split(CODE_SEPARATORS).filter((line) => line.trim() !== "");
	if (lines.length > MAX_CODES) return refuse("invalid_field", `Enter at most ${MAX_CODES} codes.`, "codes");
	const codes = lines.map(parseName);
	if (codes.some((code) => code === null || code.length > MAX_COUPON_CODE_CHARACTERS)) {
		const rule = `A coupon code has at most ${MAX_COUPON_CODE_CHARACTERS} characters. Enter one a line.`;
		return refuse("invalid_field", rule, "codes");
	}
	return succeed(new Map(codes.flatMap((code) => (code === null ? [] : [[foldCode(code), code]]))));
}

type State = "ended" | "active";

/**
 * Ends or resumes a partnership. The links and codes of a resumed partnership count again. Staff can also end
 * its clicks. A click that was made before the partnership is resumed then never credits a sale. The
 * partnerships of an archived partner cannot be resumed.
 */
export function changeState(
	deps: Deps,
	actor: Actor,
	{ programmeId, publicId }: PartnershipAddress,
	to: State,
	endsClicks = false,
): Promise<Result<true>> {
	return transactAs(deps.store, actor, inProgramme(programmeId), async (trx) => {
		// The partner is locked before the partnership, in the same order as when a partner is archived.
		const found = await rows.findPartnership(trx, publicId);
		const partner = found && (await lockPartner(trx, found.partner_id));
		const partnership = await rows.lockPartnership(trx, { programme_id: programmeId, public_id: publicId });
		if (partner === undefined || partnership === undefined) return unknownPartnership();
		if (partnership.ended_by_staff === 1 && actor.kind === "shop") {
			return refuse("partnership_ended", "The network ended this partnership. Ask its staff to resume it.");
		}
		const judged = to === "active" ? judgeArchivedPartner(partner) : succeed(true);
		if (!judged.ok) return judged;
		if (endsClicks && actor.kind === "shop") {
			return refuse("not_allowed", "Only the network's staff can end the clicks of a partnership.");
		}
		await setState(trx, deps, actor, partnership, to, endsClicks);
		return succeed(true);
	});
}

/** Ends all partnerships of a partner. Only staff can resume them. */
export function endPartner(
	deps: Deps,
	actor: PersonActor,
	partnerId: number,
	endsClicks = false,
): Promise<Result<true>> {
	return transactAs<true>(deps.store, actor, STAFF, async (trx) => {
		await endPartnerships(trx, deps, actor, partnerId, endsClicks);
		return succeed(true);
	});
}

/** Ends all partnerships of a partner in the caller's transaction. */
export async function endPartnerships(
	trx: Db,
	deps: Pick<Deps, "clock">,
	actor: Actor,
	partnerId: number,
	endsClicks = false,
): Promise<void> {
	for (const partnership of await rows.lockPartnershipsOf(trx, partnerId)) {
		await setState(trx, deps, actor, partnership, "ended", endsClicks);
	}
}

async function setState(
	trx: Db,
	deps: Pick<Deps, "clock">,
	actor: Actor,
	partnership: Locked<Partnership>,
	to: State,
	endsClicks: boolean,
): Promise<void> {
	const nowMs = deps.clock.nowMs();
	const { columns, actions } =
		to === "active"
			? planResuming(partnership, nowMs)
			: planEnding(partnership, { endsClicks, isByStaff: actor.kind !== "shop", nowMs });
	if (actions.length === 0) return;
	await rows.changePartnership(trx, partnership, columns);
	const name = await nameOf(trx, partnership);
	const { programme_id, public_id } = partnership;
	for (const action of actions) await note(trx, deps, actor, action, public_id, name, programme_id);
}

interface StateChange {
	columns: Pick<Partnership, "ended_at_ms" | "ended_by_staff" | "clicks_ended_at_ms">;
	/** Actions for the audit log. The list is empty if nothing changes. */
	actions: readonly AuditAction[];
}

function planResuming(present: Partnership, nowMs: number): StateChange {
	// If the partnership was ended with its clicks, click IDs that were handed out until now do not count.
	const clicks_ended_at_ms = present.clicks_ended_at_ms === null ? null : nowMs;
	return {
		columns: { ended_at_ms: null, ended_by_staff: 0, clicks_ended_at_ms },
		actions: present.ended_at_ms === null ? [] : ["partnership.started"],
	};
}

function planEnding(
	present: Partnership,
	{ endsClicks, isByStaff, nowMs }: { endsClicks: boolean; isByStaff: boolean; nowMs: number },
): StateChange {
	const { ended_at_ms, clicks_ended_at_ms } = present;
	const ended_by_staff = isByStaff ? 1 : 0;
	const isNew = ended_at_ms === null || present.ended_by_staff !== ended_by_staff;
	const endsClicksNow = endsClicks && clicks_ended_at_ms === null;
	return {
		columns: {
			ended_at_ms: ended_at_ms ?? nowMs,
			ended_by_staff,
			clicks_ended_at_ms: endsClicksNow ? nowMs : clicks_ended_at_ms,
		},
		actions: [
			...(isNew ? (["partnership.ended"] as const) : []),
			...(endsClicksNow ? (["partnership.clicks_ended"] as const) : []),
		],
	};
}

async function nameOf(db: Db, { partner_id }: Partnership): Promise<string> {
	return (await findPartnerById(db, partner_id))?.name ?? "";
}

export function unknownPartnership(): ReturnType<typeof refuse> {
	return refuse("unknown_partner", "This programme has no such partner. Look at the list again.");
}
