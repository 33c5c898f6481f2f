// A refund that a person enters on a conversion's page. The transaction that stores it also writes the audit entry.

import { changeOrders } from "#core/conversions/change-orders.ts";
import { judgeRight } from "#core/conversions/decide.ts";
import type { Decider } from "#core/conversions/decide-from-page.ts";
import type { ConversionsDeps } from "#core/conversions/deps.ts";
import { refuseBusy } from "#core/conversions/order-request.ts";
import { parseReason } from "#core/domain/conversion.ts";
import { type Checked, checkAll, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { parseRefundId } from "#core/domain/order-id.ts";
import { inProgramme, transactAs } from "#core/people/actor.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { findByPublicId } from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { parseTypedRefund, type RefundValue } from "../domain/refund.ts";
import { type RefundedRequest, refundOn } from "./refund.ts";

export interface RefundInput {
	amount: string;
	refundId: string;
	reason: string;
}

export async function refundFromPage(
	deps: ConversionsDeps,
	decider: Decider,
	programme: Pick<Programme, "id" | "public_id" | "currency">,
	conversionId: string,
	input: RefundInput,
): Promise<Checked<RefundedRequest> | Result<RefundedRequest>> {
	const right = judgeRight(decider.side, "refund");
	if (!right.ok) return right;
	const asked = checkAll({
		value: parseEnteredAmount(input.amount.trim(), programme.currency),
		refundId: parseRefundId(input.refundId.trim()),
		reason: parseReason(input.reason),
	});
	if (!asked.ok) return asked;
	const decision = {
		move: "refund",
		decidedBy: "shop",
		...asked.value,
	} as const;
	const refunded = await transactAs(deps.store, decider, inProgramme(programme.id, "decide"), async (trx) => {
		const conversion = await findByPublicId(trx, programme.id, conversionId);
		if (conversion === undefined) return refuse("unknown_conversion", "There is no such conversion.");
		const { results, owed } = await changeOrders(trx, deps, [
			refundOn(conversion, decision, decider.personId),
		]);
		const result = results[0] ?? refuseBusy();
		if (!result.ok) return result;
		const decided = result.value;
		if (decided.outcome === "already") return succeed({ decided, owed });
		const { refund } = decided;
		const note = {
			personId: decider.personId,
			programmeId: programme.id,
			action: "conversion.refunded",
			subject: conversionId,
			detail: `${refund.refund_id}: ${refund.amount} ${conversion.currency} (${decision.reason})`,
		} as const;
		await noteAudit(trx, note, deps.clock.nowMs());
		return succeed({ decided, owed });
	});
	if (!refunded.ok) return refunded;
	deps.store.announceDue(refunded.value.owed);
	return succeed(refunded.value.decided);
}

function parseEnteredAmount(text: string, currency: string): Result<RefundValue> {
	if (text === "") return refuse("invalid_field", "Enter the amount that was refunded.", "amount");
	return parseTypedRefund(text, currency);
}
