// Lets staff assign a conversion to a partner, or to nobody, while its status is RECORDED or APPROVED. The
// amounts change with the partner. The shop has received the old amounts, and gets the new ones with the next
// status change. If the conversion is approved, the account of the old partner gets a minus and that of the
// new one a plus, in the same transaction (make-moves.ts). Both hear of it by a callback, if they have a URL.

import type { ConversionsDeps } from "../conversions/deps.ts";
import { creditStep, makeMoves } from "../conversions/make-moves.ts";
import { awaitsConfirmation, moveRule } from "../domain/conversion.ts";
import { NOBODY } from "../domain/credit.ts";
import { judgeErasedPartner } from "../domain/erasure.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { zeroIn } from "../domain/money.ts";
import { noRates, ratesFor } from "../domain/rate.ts";
import { type SignedInPerson, transactAs } from "../people/actor.ts";
import { type Conversion, findManyByPublicId, knownOrderOf } from "../store/queries/conversions.ts";
import { commissionsOf } from "../store/queries/credits.ts";
import { findPartnerById, findPartnerships, type NamedPartnership } from "../store/queries/partners.ts";
import { findProgrammesById, type Programme, ratesOf } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";
import { note } from "./partners.ts";
import { MATCHES_NAMED, pickNamed } from "./pick-named.ts";

const MAX_REASON_LENGTH = 200;

export async function assignPartner(
	deps: ConversionsDeps,
	actor: SignedInPerson,
	conversionId: string,
	/** The partner's name or id (empty for nobody), and the reason for the change. */
	input: { partner: string; reason: string },
): Promise<Result<Conversion>> {
	const { store } = deps;
	const reason = input.reason.trim();
	if (reason === "" || reason.length > MAX_REASON_LENGTH) {
		return refuse("invalid_field", `Say why, in at most ${MAX_REASON_LENGTH} characters.`, "reason");
	}
	const assigned = await transactAs(store, actor, async (trx) => {
		const conversion = await lockConversion(trx, deps, conversionId);
		const programmeId = conversion?.programme_id ?? 0;
		const programme = (await findProgrammesById(trx, [programmeId])).get(programmeId);
		if (conversion === undefined || programme === undefined) {
			return refuse("unknown_conversion", `There is no conversion ${conversionId}.`);
		}
		const fixed = whyPartnerIsFixed(conversion, programme);
		if (fixed !== null) return refuse(fixed.code, fixed.sentence);
		const picked = await pickPartner(trx, programmeId, input.partner.trim());
		if (!picked.ok) return picked;
		const chosen = picked.value;
		const partner = chosen === null ? undefined : await findPartnerById(trx, chosen.partner_id);
		const judged = partner === undefined ? succeed(true) : judgeErasedPartner(partner);
		if (!judged.ok) return judged;
		const credit = { ...NOBODY, partnershipId: chosen?.id ?? null, word: "ASSIGNED" } as const;
		const rates =
			chosen === null
				? noRates(zeroIn(programme.currency))
				: ratesFor(ratesOf(programme), commissionsOf(chosen, programme.currency), conversion.event_type);
		const step = creditStep(programme, conversion, credit, rates);
		const decider = { decidedBy: "review", personId: actor.personId } as const;
		// `makeMoves` changes the conversion only if it is still as it was read here.
		const { conversions, owed } = await makeMoves(trx, deps, [{ ...step, ...decider }]);
		const [changed] = conversions;
		if (changed === undefined) {
			return refuse("changed_meanwhile", "This conversion is being changed right now. Open it again.");
		}
		const detail = `${chosen?.partner_name ?? "nobody"}: ${reason}`;
		await note(trx, deps, actor, "credit.assigned", conversion.public_id, detail, programmeId);
		return succeed({ changed, owed });
	});
	if (!assigned.ok) return assigned;
	store.announceDue(assigned.value.owed);
	return succeed(assigned.value.changed);
}

/** Locks the conversion with its credit, and reads it after that. */
async function lockConversion(
	trx: Db,
	{ store }: ConversionsDeps,
	publicId: string,
): Promise<Conversion | undefined> {
	const [found] = await findManyByPublicId(trx, [publicId]);
	if (found === undefined) return undefined;
	await store.writes.lockCredits(trx, [found.id]);
	const [conversion] = await findManyByPublicId(trx, [publicId]);
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
