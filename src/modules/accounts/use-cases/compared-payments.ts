// Payments after a restore. Those that were recorded after the backup are unknown, so nothing is to be paid before a person
// has compared payments with the bank. Until then there is no payout file, and whoever marks a statement as paid must say
// that the bank's list has the payment.

import { type Result, refusalOf, refuse, succeed } from "#core/domain/fault.ts";
import { isoTime, utcSecond } from "#core/domain/time.ts";
import { type Actor, personIdOf, STAFF, transactAs } from "#core/people/actor.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { findUncompared, lockUncompared, markCompared } from "#core/store/queries/restores.ts";
import type { Db } from "#core/store/store.ts";
import type { StatementsDeps } from "./deps.ts";

/** Records that payments were compared. `lastId` is the last restore that the person saw. */
export function confirmCompared(
	deps: Pick<StatementsDeps, "store" | "clock">,
	actor: Actor,
	lastId: number,
	isConfirmed: boolean,
): Promise<Result<true>> {
	return transactAs<true>(deps.store, actor, STAFF, async (trx) => {
		if (!isConfirmed) {
			return refuse(
				"payments_not_compared",
				"Compare the payments with the bank first. Then tick the box.",
				"compared",
			);
		}
		const restores = await lockUncompared(trx, lastId);
		// Another person confirmed the comparison first.
		if (restores.length === 0) return succeed(true);
		const nowMs = deps.clock.nowMs();
		const personId = personIdOf(actor);
		await markCompared(trx, restores, personId, nowMs);
		const sinceMs = Math.min(...restores.map(({ as_of_ms }) => as_of_ms));
		const detail = `payments since ${isoTime(sinceMs)}`;
		await noteAudit(trx, { personId, action: "payments.compared", detail }, nowMs);
		return succeed(true);
	});
}

/**
 * Returns a refusal for callers that say what is to be paid, until a person has compared payments with the
 * bank since the last restore.
 */
export async function refuseUncompared(db: Db): Promise<Result<true>> {
	const uncompared = await findUncompared(db);
	if (uncompared === null) return succeed(true);
	return refusalOf("payments_not_compared", { since: utcSecond(uncompared.asOfMs) });
}
