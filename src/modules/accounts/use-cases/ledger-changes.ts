// The part of the accounts of partners in changes of conversions: the entries that a move causes. A conversion is owed to the
// partner to whom it is credited while it is approved. This module runs after the one of credits
// (modules/partners/use-cases/credit-changes.ts), whose facts it uses.

import type { ChangeModule, Followed, MadeMove } from "#core/conversions/change-module.ts";
import { REASSIGNED } from "#core/domain/partner-event.ts";
import type { Conversion } from "#core/store/tables/conversions.ts";
import { NO_SUB_IDS, type SubIds } from "#modules/partners/domain/click-token.ts";
import { entriesFor, type Owing } from "../domain/ledger.ts";
import { ENTRIES, type NewEntry } from "../store/tables.ts";

export const LEDGER: ChangeModule = { name: "ledger", tables: [ENTRIES], follow };

function follow({ move, before, after, row, knownBefore, known, facts }: MadeMove): Followed {
	if (after.status !== "APPROVED" && before?.status !== "APPROVED") return {};
	const partnerBefore = knownBefore.credited?.partner_id ?? null;
	const partnerAfter = known.credited?.partner_id ?? null;
	const owedBefore = before === null ? null : owingOf(before, partnerBefore);
	const entries = entriesFor(owedBefore, owingOf(after, partnerAfter));
	const rows = entries.map(({ partnerId, kind, amount }) => ({
		...columnsOfSubIds((partnerId === partnerBefore ? knownBefore : known).credit?.subIds),
		decided_at_ms: after.decided_at_ms,
		partner_id: partnerId,
		programme_id: after.programme_id,
		conversion_id: after.id,
		kind,
		amount,
		currency: after.currency,
		person_id: row.person_id ?? null,
		// The former and the new partner can read their entries, so the reason that staff gave is only in the
		// audit log.
		reason: move === "credit" ? REASSIGNED : (row.reason ?? null),
		at_ms: facts.nowMs,
	}));
	return { rows: [ENTRIES.add(rows)] };
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
