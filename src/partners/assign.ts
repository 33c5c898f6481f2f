// Staff assign a conversion to a partner, or to nobody, while it is RECORDED: afterwards money has been decided about. The
// amounts follow; the shop was told the old ones and hears the new ones with the next status.

import type { ConversionsDeps } from "../conversions/deps.ts";
import { creditStep, makeMoves } from "../conversions/make-moves.ts";
import { creditedRates, NOBODY } from "../domain/credit.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Maker, transactAs } from "../people/links.ts";
import { type Conversion, findByPublicId } from "../store/queries/conversions.ts";
import { findPartnership } from "../store/queries/partners.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { note } from "./partners.ts";

const MAX_REASON_LENGTH = 200;

export async function assignPartner(
	deps: ConversionsDeps,
	maker: Maker,
	programme: Programme,
	conversionId: string,
	/** Empty: nobody. */
	partnershipId: string,
	reasonText: string,
): Promise<Result<Conversion>> {
	const { store } = deps;
	const reason = reasonText.trim();
	if (reason === "" || reason.length > MAX_REASON_LENGTH) {
		return refuse("invalid_field", `Say why, in at most ${MAX_REASON_LENGTH} characters.`, "reason");
	}
	if (programme.credits_partners === 0) {
		return refuse(
			"not_allowed",
			"This programme does not credit partners. Turn that on under its Partners first.",
		);
	}
	return transactAs(store, maker, async (trx) => {
		const conversion = await findByPublicId(trx, programme.id, conversionId);
		if (conversion === undefined) {
			return refuse("unknown_conversion", `There is no conversion ${conversionId} in this programme.`);
		}
		const chosen = partnershipId === "" ? null : await findPartnership(trx, partnershipId);
		if (chosen === undefined || (chosen !== null && chosen.programme_id !== programme.id)) {
			return refuse("unknown_partner", "Choose a partner of this programme, or nobody.", "partner");
		}
		// Before the conversion, as a repeated report does it: so neither waits for the other for ever.
		await store.writes.lockCredits(trx, [conversion.id]);
		const credit = { ...NOBODY, partnership_id: chosen?.id ?? null, word: "ASSIGNED" } as const;
		const step = creditStep(programme, conversion, credit, creditedRates(programme, chosen));
		const by = { decidedBy: "review", personId: maker.personId } as const;
		const isOpen = conversion.status === "RECORDED";
		const { conversions } = await makeMoves(trx, deps, isOpen ? [{ ...step, ...by }] : []);
		const [changed] = conversions;
		if (changed === undefined) {
			return refuse(
				"wrong_status",
				"A partner can be changed while a conversion is RECORDED. This one has been decided, or is being changed right now: open it again.",
			);
		}
		const detail = `${chosen?.partner_name ?? "nobody"}: ${reason}`;
		await note(trx, deps, maker, "credit.assigned", conversion.public_id, detail, programme.id);
		return succeed(changed);
	});
}
