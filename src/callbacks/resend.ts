// A person sends finished deliveries again: a new run of the same delivery, up to seven attempts, to the
// URL saved now. The event is the same, so receivers that deduplicate take it once.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { isoTime } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { failedSince, findDelivery, requeue } from "../store/queries/deliveries.ts";
import type { Store } from "../store/store.ts";

export interface ResendDeps {
	store: Store;
	clock: Clock;
}

/** Per transaction; resending everything goes batch by batch. */
const BATCH_ROWS = 500;

export async function resendDelivery(
	{ store, clock }: ResendDeps,
	programmeId: number,
	publicId: string,
	personId: number | null = null,
): Promise<Result<true>> {
	const nowMs = clock.nowMs();
	const resent = await store.transact(async (trx): Promise<Result<true>> => {
		const delivery = await findDelivery(trx, programmeId, publicId);
		if (delivery === undefined) return refuseUnknown(publicId);
		if (delivery.state === "pending") {
			return refuse(
				"delivery_not_finished",
				"This callback is still pending. Wait until it has finished, or send it now.",
			);
		}
		if (delivery.state === "cancelled") return refuseCancelled();
		// None started means that somebody else has just pressed the same button.
		const started = await requeue(trx, programmeId, [delivery], nowMs);
		if (started === null) return refuseNoUrl();
		await noteAudit(trx, { personId, programmeId, action: "delivery.resent", subject: publicId }, nowMs);
		return succeed(true);
	});
	if (resent.ok) store.announceDue({ programmeIds: [programmeId], dueAtMs: nowMs });
	return resent;
}

/** All that have failed, or since a time. Resolves to how many were sent again. */
export async function resendFailed(
	{ store, clock }: ResendDeps,
	programmeId: number,
	sinceMs: number | null = null,
	personId: number | null = null,
): Promise<Result<number>> {
	// Only what had failed by now: what is refused again meanwhile must not be sent round and round.
	const untilMs = clock.nowMs();
	const what = sinceMs === null ? "all that had failed" : `that failed since ${isoTime(sinceMs)}`;
	let resent = 0;
	for (;;) {
		const dueAtMs = clock.nowMs();
		const batch = await store.transact(async (trx) => {
			const failed = await failedSince(trx, programmeId, sinceMs ?? 0, BATCH_ROWS, untilMs);
			const started = await requeue(trx, programmeId, failed, dueAtMs);
			const detail = `${started?.length ?? 0}: ${what}`;
			const note = { personId, programmeId, action: "deliveries.resent", detail } as const;
			if (started !== null && started.length > 0) await noteAudit(trx, note, clock.nowMs());
			return { found: failed.length, started };
		});
		if (batch.started === null) return batch.found === 0 ? succeed(resent) : refuseNoUrl();
		resent += batch.started.length;
		store.announceDue({ programmeIds: [programmeId], dueAtMs });
		if (batch.found < BATCH_ROWS) return succeed(resent);
		await clock.yieldLoop();
	}
}

export function refuseUnknown(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_delivery", `There is no callback ${publicId} here.`);
}

export function refuseCancelled(): ReturnType<typeof refuse> {
	return refuse(
		"delivery_cancelled",
		"This callback was cancelled for good when the Postback URL was removed. Read the conversion's current status from the API instead.",
	);
}

export function refuseNoUrl(): ReturnType<typeof refuse> {
	return refuse(
		"no_postback_url",
		"There is no Postback URL or no signing secret now. Save a URL first, then resend.",
	);
}
