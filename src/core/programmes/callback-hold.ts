// Lets staff hold all callbacks while the service runs, and release them later. Conversions and decisions are
// still accepted, and requests that are in flight finish. Deliveries that become due meanwhile wait, and the
// wait costs them no attempt.

import { type Result, succeed } from "../domain/fault.ts";
import { type Actor, personIdOf, STAFF, transactAs } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { beginPause, type DeliveryPause, endPause, readPause } from "../store/queries/delivery-pause.ts";

/** Holds or releases all callbacks. Returns the pause that began or ended, or null if nothing changed. */
export function changeHold(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: Actor,
	to: "held" | "released",
): Promise<Result<DeliveryPause | null>> {
	return transactAs(store, actor, STAFF, async (trx) => {
		const nowMs = clock.nowMs();
		const personId = personIdOf(actor);
		const isNew = to === "held" && (await beginPause(trx, personId, nowMs));
		const pause = await readPause(trx, nowMs);
		if (!isNew && (to === "held" || (await endPause(trx, nowMs)) === null)) return succeed(null);
		const detail = `${pause?.waiting ?? 0} ${isNew ? "wait" : "waited"}`;
		await noteAudit(trx, { personId, action: `callbacks.${to}`, detail }, nowMs);
		return succeed(pause);
	});
}
