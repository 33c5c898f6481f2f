// Staff assign a conversion to a partner, or to nobody, while it is RECORDED: afterwards money has been decided about. The
// amounts follow; the shop was told the old ones and hears the new ones with the next status.

import { rowOf } from "../conversions/make-moves.ts";
import { NO_SUB_IDS } from "../domain/click-token.ts";
import { type Credit, creditedRates } from "../domain/credit.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { shareOf } from "../domain/money.ts";
import { type Maker, transactAs } from "../people/links.ts";
import type { Clock } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { type Conversion, findManyByPublicId } from "../store/queries/conversions.ts";
import { replaceCredit } from "../store/queries/credits.ts";
import { findPartnership } from "../store/queries/partners.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Store } from "../store/store.ts";

const MAX_REASON_LENGTH = 200;

export async function assignPartner(
	{ store, clock }: { store: Store; clock: Clock },
	maker: Maker,
	programme: Programme,
	conversionId: string,
	/** Empty: nobody. */
	partnershipId: string,
	reasonText: string,
): Promise<Result<Conversion>> {
	const reason = reasonText.trim();
	if (reason === "" || reason.length > MAX_REASON_LENGTH) {
		return refuse("invalid_field", `Say why, in at most ${MAX_REASON_LENGTH} characters.`, "reason");
	}
	return transactAs(store, maker, async (trx) => {
		const [conversion] = await findManyByPublicId(trx, [conversionId]);
		if (conversion === undefined || conversion.programme_id !== programme.id) {
			return refuse("unknown_conversion", `There is no conversion ${conversionId} in this programme.`);
		}
		const chosen = partnershipId === "" ? null : await findPartnership(trx, partnershipId);
		if (chosen === undefined || (chosen !== null && chosen.programme_id !== programme.id)) {
			return refuse("unknown_partner", "Choose a partner of this programme, or nobody.", "partner");
		}
		const rates = creditedRates(programme, chosen);
		const after: Conversion = {
			...conversion,
			commission: shareOf(conversion.basket_value, rates.commission_rate),
			network_fee: shareOf(conversion.basket_value, rates.fee_rate),
			updated_at_ms: clock.nowMs(),
		};
		const isOpen = conversion.status === "RECORDED";
		const changed = isOpen
			? await store.writes.updateUnlessChanged(trx, [{ before: conversion, after }])
			: new Set<number>();
		if (!changed.has(conversion.id)) {
			return refuse(
				"wrong_status",
				"A partner can be changed while a conversion is RECORDED. This one has been decided, or is being changed right now: open it again.",
			);
		}
		const credit: Credit = {
			partnershipId: chosen?.id ?? null,
			word: "ASSIGNED",
			linkId: null,
			clickedAtMs: null,
			subIds: NO_SUB_IDS,
		};
		await replaceCredit(trx, rowOf(credit, conversion));
		const note = { personId: maker.personId, programmeId: programme.id, action: "credit.assigned" } as const;
		const detail = `${chosen?.partner_name ?? "nobody"}: ${reason}`;
		await noteAudit(trx, { ...note, subject: conversion.public_id, detail }, clock.nowMs());
		return succeed(after);
	});
}
