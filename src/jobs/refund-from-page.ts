// A refund that a person enters on a conversion's page. The transaction that stores it also writes the audit entry.

import { changeOrders } from "../conversions/change-orders.ts";
import { judgeRight } from "../conversions/decide.ts";
import type { ConversionsDeps } from "../conversions/deps.ts";
import { refuseBusy } from "../conversions/order-request.ts";
import { parseReason } from "../domain/conversion.ts";
import { type Checked, checkAll, type Result, refuse, succeed } from "../domain/fault.ts";
import { parseRefundId } from "../domain/order-id.ts";
import { parseTypedRefund, type RefundValue } from "../domain/refund.ts";
import { transactAs } from "../people/actor.ts";
import { type RefundedRequest, refundOn } from "../refunds/refund.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findByPublicId } from "../store/queries/conversions.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Decider } from "./decide-from-page.ts";
import { jobPermission } from "./job.ts";

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
	const refunded = await transactAs(deps.store, decider, jobPermission(programme.id), async (trx) => {
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
