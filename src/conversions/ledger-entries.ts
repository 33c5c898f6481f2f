// The entries that a move causes in the accounts of partners.

import { NO_SUB_IDS, type SubIds } from "../domain/click-token.ts";
import type { Reason } from "../domain/conversion.ts";
import { entriesFor, type Owing } from "../domain/ledger.ts";
import { REASSIGNED } from "../domain/partner-event.ts";
import type { NewEntry } from "../store/batch.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import type { CreditedMove } from "./credited-move.ts";

/** Returns the entries that a move causes. A conversion is owed to its partner while it is approved. */
export function entriesOf(
	made: CreditedMove,
	{ personId, reason, nowMs }: { personId: number | null; reason: Reason | null; nowMs: number },
): NewEntry[] {
	const { move, before, after } = made;
	if (after.status !== "APPROVED" && before?.status !== "APPROVED") return [];
	const partnerBefore = made.creditedBefore?.partner_id ?? null;
	const partnerAfter = made.creditedAfter?.partner_id ?? null;
	const owedBefore = before === null ? null : owingOf(before, partnerBefore);
	return entriesFor(owedBefore, owingOf(after, partnerAfter)).map(({ partnerId, kind, amount }) => ({
		...columnsOfSubIds((partnerId === partnerBefore ? made.creditBefore : made.creditAfter)?.subIds),
		decided_at_ms: after.decided_at_ms,
		partner_id: partnerId,
		programme_id: after.programme_id,
		conversion_id: after.id,
		kind,
		amount,
		currency: after.currency,
		person_id: personId,
		// Both partners read their entries, so the reason that staff gave is in the audit log only.
		reason: move === "credit" ? REASSIGNED : reason,
		at_ms: nowMs,
	}));
}

function owingOf({ status, commission, test }: Conversion, partnerId: number | null): Owing {
	return { status, commission, isTest: test === 1, partnerId };
}

function columnsOfSubIds([sub1, sub2, sub3]: SubIds = NO_SUB_IDS): Pick<
	NewEntry,
	"sub_1" | "sub_2" | "sub_3"
> {
	return { sub_1: sub1 || null, sub_2: sub2 || null, sub_3: sub3 || null };
}
