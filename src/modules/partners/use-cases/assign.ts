// Lets staff assign a conversion to a partner, or to nobody, while its status is RECORDED or APPROVED. The
// amounts follow the partner (later-credit.ts), so staff see them before they decide. Callbacks tell both
// partners, and the entries of an approved conversion change in the same transaction.

import { changeOrders } from "#core/conversions/change-orders.ts";
import type { ConversionsDeps } from "#core/conversions/deps.ts";
import { awaitsConfirmation, moveRule } from "#core/domain/conversion.ts";
import { judgeErasedPartner } from "#core/domain/erasure.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { type SignedInPerson, STAFF, transactAs } from "#core/people/actor.ts";
import { type Conversion, findManyByPublicId, knownOrderOf } from "#core/store/queries/conversions.ts";
import { findPartnerById } from "#core/store/queries/partners.ts";
import { findProgrammesById, type Programme } from "#core/store/queries/programmes.ts";
import { NOTHING_OWED } from "#core/store/queries/queue.ts";
import type { Db } from "#core/store/store.ts";
import { NOBODY } from "../domain/credit.ts";
import { findNamedCredits } from "../store/credits.ts";
import { findPartnerships, type NamedPartnership } from "../store/partnerships.ts";
import { readRatesOnRecord } from "../store/rates-on-record.ts";
import { creditStep, type PricedCredit, priceLaterCredit } from "./later-credit.ts";
import { note } from "./partners.ts";
import { MATCHES_NAMED, pickNamed } from "./pick-named.ts";

const MAX_REASON_LENGTH = 200;

export interface AssignmentInput {
	/** The partner's name or id, or empty for nobody. */
	partner: string;
	reason: string;
}

/** Amounts of a conversion for a partner and for the network. */
interface AssignedAmounts {
	/** Partnership to which the conversion is assigned, or null for nobody. */
	partner: NamedPartnership | null;
	commission: string;
	networkFee: string;
}

/** A planned change of a conversion's partner. Staff see the plan before they confirm the change. */
export interface Assignment {
	conversion: Conversion;
	programme: Programme;
	reason: string;
	before: AssignedAmounts;
	after: AssignedAmounts;
	/** True if the conversion has this partner already, so that nothing would change. */
	isSame: boolean;
	/**
	 * Text that describes everything that staff see. If it is different when they confirm, nothing is assigned.
	 * See `assignPartner`.
	 */
	shown: string;
}

/** Computes what an assignment would lead to. It changes nothing. */
export async function previewAssignment(
	{ store }: Pick<ConversionsDeps, "store">,
	conversionId: string,
	input: AssignmentInput,
): Promise<Result<Assignment>> {
	const reason = readReason(input);
	if (!reason.ok) return reason;
	const [conversion] = await findManyByPublicId(store.db, [conversionId]);
	return planAssignment(store.db, conversion, conversionId, { ...input, reason: reason.value });
}

/**
 * Changes the partner of a conversion. `shown` is from the preview. If something that it showed has changed since,
 * nothing is changed. Assigning the partner that the conversion has already changes nothing and gives the same answer.
 */
export async function assignPartner(
	deps: ConversionsDeps,
	actor: SignedInPerson,
	conversionId: string,
	input: AssignmentInput & { shown: string },
): Promise<Result<Conversion>> {
	const { store } = deps;
	const reason = readReason(input);
	if (!reason.ok) return reason;
	const assigned = await transactAs(store, actor, STAFF, async (trx) => {
		const known = await lockConversion(trx, deps, conversionId);
		const planned = await planAssignment(trx, known, conversionId, { ...input, reason: reason.value });
		if (!planned.ok) return planned;
		const { conversion, programme, before, after, isSame, shown, priced } = planned.value;
		if (isSame) return succeed({ changed: conversion, owed: NOTHING_OWED });
		if (shown !== input.shown) return refuse("changed_meanwhile", CHANGED_SINCE_SHOWN);
		const credit = { ...NOBODY, partnershipId: after.partner?.id ?? null, word: "ASSIGNED" } as const;
		const decider = { decidedBy: "review", personId: actor.personId } as const;
		const step = { ...creditStep(credit, priced), ...decider };
		const request = {
			programmeId: conversion.programme_id,
			orderId: conversion.order_id,
			eventType: conversion.event_type,
			conversionId: conversion.id,
			partnershipId: after.partner?.id,
			judge: () => ({ kind: "move", step, done: (changed: Conversion) => changed }) as const,
		};
		const { results, owed } = await changeOrders(trx, deps, [request], [conversion]);
		const [changed] = results;
		if (changed?.ok !== true) throw new Error("a locked conversion was not assigned");
		const { currency } = programme;
		const detail = [
			`${nameOf(before)} → ${nameOf(after)}: ${reason.value}`,
			`commission: ${before.commission} ${currency} → ${after.commission} ${currency}`,
			`network fee: ${before.networkFee} ${currency} → ${after.networkFee} ${currency}`,
		].join("; ");
		await note(trx, deps, actor, "credit.assigned", conversion.public_id, detail, programme.id);
		return succeed({ changed: changed.value, owed });
	});
	if (!assigned.ok) return assigned;
	store.announceDue(assigned.value.owed);
	return succeed(assigned.value.changed);
}

const CHANGED_SINCE_SHOWN =
	"The conversion or its amounts have changed since you looked at them, so nothing was changed. Look at the new amounts and confirm again.";

function readReason(input: AssignmentInput): Result<string> {
	const reason = input.reason.trim();
	if (reason !== "" && reason.length <= MAX_REASON_LENGTH) return succeed(reason);
	return refuse("invalid_field", `Say why, in at most ${MAX_REASON_LENGTH} characters.`, "reason");
}

function nameOf({ partner }: AssignedAmounts): string {
	return partner?.partner_name ?? "nobody";
}

/** Computes what an assignment would change, from the conversion that the caller has read or locked. */
async function planAssignment(
	db: Db,
	conversion: Conversion | undefined,
	conversionId: string,
	{ partner: partnerInput, reason }: AssignmentInput,
): Promise<Result<Assignment & { priced: PricedCredit }>> {
	const programmeId = conversion?.programme_id ?? 0;
	const programme = (await findProgrammesById(db, [programmeId])).get(programmeId);
	if (conversion === undefined || programme === undefined) {
		return refuse("unknown_conversion", `There is no conversion ${conversionId}.`);
	}
	const fixed = whyPartnerIsFixed(conversion, programme);
	if (fixed !== null) return refuse(fixed.code, fixed.sentence);
	const picked = await pickPartner(db, programmeId, partnerInput.trim());
	if (!picked.ok) return picked;
	const chosen = picked.value;
	const partner = chosen === null ? undefined : await findPartnerById(db, chosen.partner_id);
	const judged = partner === undefined ? succeed(true) : judgeErasedPartner(partner);
	if (!judged.ok) return judged;
	const credit = (await findNamedCredits(db, [conversion.id])).get(conversion.id);
	const present = credit?.partnership ?? null;
	const [record] = await readRatesOnRecord(db, [{ programme, partnership: chosen }]);
	if (record === undefined) throw new Error("the rates of the programme were not read");
	const change = { from: present?.id ?? null, to: chosen?.id ?? null };
	const priced = priceLaterCredit(conversion, change, record);
	// If the sale is credited to nobody, staff may decide that this remains so, whatever the shop reports
	// later.
	const isSame = change.from === change.to && (present !== null || credit?.word === "ASSIGNED");
	const { commission, network_fee: networkFee } = conversion;
	const before = { partner: present, commission, networkFee };
	const after = isSame
		? before
		: { partner: chosen, commission: priced.commission, networkFee: priced.network_fee };
	const shown = JSON.stringify([
		...[conversion.status, conversion.basket_value, conversion.refunded_value],
		...[before, after].flatMap((side) => [side.partner?.public_id ?? null, side.commission, side.networkFee]),
	]);
	return succeed({ conversion, programme, reason, before, after, isSame, shown, priced });
}

/** Locks the conversion, and returns its row as it is under the lock. */
async function lockConversion(
	trx: Db,
	{ store }: ConversionsDeps,
	publicId: string,
): Promise<Conversion | undefined> {
	const found = await findManyByPublicId(trx, [publicId]);
	const [conversion] = await store.batch.lock(
		trx,
		found.map(({ id }) => id),
	);
	return conversion;
}

/** Returns why the partner of the conversion cannot be changed, or null if it can. */
export function whyPartnerIsFixed(
	conversion: Conversion,
	{ credits_partners }: Pick<Programme, "credits_partners">,
): { code: "not_allowed" | "wrong_status"; sentence: string } | null {
	const { status } = conversion;
	if (credits_partners === 0) {
		return {
			code: "not_allowed",
			sentence:
				"The partner cannot be changed, because the programme does not credit partners. Turn that on under its Partners first.",
		};
	}
	if (awaitsConfirmation(knownOrderOf(conversion))) {
		return {
			code: "wrong_status",
			sentence:
				"Only a pixel has reported this order. The partner can be changed once the shop's server has confirmed it, or the shop has approved it.",
		};
	}
	if (moveRule("credit").from.includes(status)) return null;
	return {
		code: "wrong_status",
		sentence: `This conversion is ${status.toLowerCase()}, so no partner earns anything with it. The partner can be changed while a conversion is recorded or approved.`,
	};
}

async function pickPartner(
	db: Db,
	programmeId: number,
	search: string,
): Promise<Result<NamedPartnership | null>> {
	if (search === "") return succeed(null);
	const found = await findPartnerships(db, { programmeId, search, limit: MATCHES_NAMED });
	const named = found.map((partnership) => ({
		...partnership,
		name: partnership.partner_name,
		publicId: partnership.partner_public_id,
	}));
	return pickNamed(named, search, "partner");
}
