// Ends the windows of conversions. Recorded conversions are approved after the approval window, and parked ones that
// nobody confirmed expire. Each batch is one transaction, so a crash loses and repeats nothing, and a million due rows
// take no more memory than one batch. Several workers share the work, because each skips rows that another has locked.

import type { Status } from "../domain/conversion.ts";
import { type Conversion, findOldestEndedWindow, takeWindowEnded } from "../store/queries/conversions.ts";
import { changeOrders } from "./change-orders.ts";
import { BATCH_ROWS, type ConversionsDeps } from "./deps.ts";
import type { Step } from "./moves.ts";
import type { OrderRequest } from "./order-request.ts";

interface Window {
	status: Status;
	stepAt(nowMs: number): Step;
}

const APPROVAL: Window = {
	status: "RECORDED",
	stepAt: () => ({
		move: "approve",
		change: { decided_by: "window", window_ends_at_ms: null },
		decidedBy: "window",
	}),
};

/**
 * Window of parked conversions. Expired ones are removed after the retention time, which counts from the end of this
 * window.
 */
const PARKING: Window = {
	status: "PARKED",
	stepAt: (nowMs) => ({ move: "expire", change: { window_ends_at_ms: nowMs } }),
};

/** Approves due conversions and returns their number. Stops between two batches if the service stops. */
export function approveDue(deps: ConversionsDeps, isStopping: () => boolean): Promise<number> {
	return endWindows(deps, APPROVAL, isStopping);
}

/** Lets parked conversions expire and returns their number. A later sale report records the order as a new sale. */
export function expireParked(deps: ConversionsDeps, isStopping: () => boolean): Promise<number> {
	return endWindows(deps, PARKING, isStopping);
}

async function endWindows(deps: ConversionsDeps, window: Window, isStopping: () => boolean): Promise<number> {
	const { store, clock } = deps;
	const { status } = window;
	// The first query runs outside a transaction, so that it takes no lock. Most of the time no window has ended.
	if ((await findOldestEndedWindow(store, status, clock.nowMs())) === null) return 0;
	let ended = 0;
	// Each batch continues where the one before ended. While a long snapshot is open, such as a dump, PostgreSQL keeps the
	// index entries of finished rows and would read them again for every batch. Rows that another worker had locked and
	// released are found by the next run.
	let fromMs = 0;
	while (!isStopping()) {
		// The time is read before any await, because the clock may no longer be trusted afterwards.
		const byMs = clock.nowMs();
		const { taken, owed } = await store.transact(async (trx) => {
			const rows = await takeWindowEnded(trx, store, { status, fromMs, byMs, limit: BATCH_ROWS });
			const requests = rows.map((row) => requestFor(row, window.stepAt(byMs)));
			return { taken: rows, ...(await changeOrders(trx, deps, requests, rows)) };
		});
		store.announceDue(owed);
		ended += taken.length;
		if (taken.length < BATCH_ROWS) break;
		fromMs = taken.at(-1)?.window_ends_at_ms ?? fromMs;
		await clock.yieldLoop();
	}
	return ended;
}

function requestFor(ended: Conversion, step: Step): OrderRequest<null> {
	const { id: conversionId, programme_id: programmeId, order_id: orderId, event_type: eventType } = ended;
	return {
		programmeId,
		orderId,
		eventType,
		conversionId,
		judge: () => ({ kind: "move", step, done: () => null }),
	};
}
