// Callbacks that a person has ticked in the list: what has ended is sent again, what waits is sent now. Each as the person
// saw it: what somebody else has sent meanwhile is left alone.

import { type Result, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { bringForward } from "../store/queries/bring-forward.ts";
import { findDeliveries, requeue } from "../store/queries/deliveries.ts";
import { type ResendDeps, refuseNoUrl } from "./resend.ts";

export interface SeenDelivery {
	publicId: string;
	run: number;
	/** The number of its last attempt. */
	seq: number;
}

export interface SelectedSent {
	/** In a new run. */
	resent: number;
	/** Those that waited for their next attempt. */
	sentNow: number;
	/** Cancelled for good, being sent at this moment, or sent by somebody else. */
	leftAlone: number;
}

/** At most as many as a page shows. */
export async function sendSelected(
	{ store, clock }: ResendDeps,
	programmeId: number,
	selected: readonly SeenDelivery[],
	personId: number | null = null,
): Promise<Result<SelectedSent>> {
	const seen = new Map(selected.map((delivery) => [delivery.publicId, delivery]));
	const nowMs = clock.nowMs();
	const found = await findDeliveries(store.db, programmeId, [...seen.keys()]);
	const asSeen = found.filter(({ public_id, run, attempts }) => {
		const { run: seenRun, seq } = seen.get(public_id) ?? {};
		return run === seenRun && attempts === seq;
	});
	const ended = asSeen.filter(({ state }) => state === "delivered" || state === "failed");
	const waiting = asSeen.filter(({ state }) => state === "pending");
	const resent = await store.transact(async (trx) => {
		const started = await requeue(trx, programmeId, ended, nowMs);
		const detail = `${started?.length ?? 0} chosen from the list`;
		const note = { personId, programmeId, action: "deliveries.resent", detail } as const;
		if (started !== null && started.length > 0) await noteAudit(trx, note, nowMs);
		return started;
	});
	const sentNow =
		waiting.length === 0
			? []
			: await store.transact(async (trx) => {
					const rows = waiting.map(({ id, attempts }) => ({ id, seq: attempts }));
					const brought = await bringForward(trx, programmeId, rows, nowMs);
					const detail = `${brought?.length ?? 0} chosen from the list`;
					const note = { personId, programmeId, action: "deliveries.sent_now", detail } as const;
					if (brought !== null && brought.length > 0) await noteAudit(trx, note, nowMs);
					return brought;
				});
	if (resent === null || sentNow === null) return refuseNoUrl();
	if (resent.length + sentNow.length > 0) store.announceDue({ programmeIds: [programmeId], dueAtMs: nowMs });
	const leftAlone = seen.size - resent.length - sentNow.length;
	return succeed({ resent: resent.length, sentNow: sentNow.length, leftAlone });
}
