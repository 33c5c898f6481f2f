// Windows that end by themselves: recorded conversions are approved after the approval window, and parked ones that
// nobody confirmed expire. A batch is one transaction, so being killed in between loses nothing and repeats nothing, and
// a million due rows take no more memory than one batch. Workers share what is due: each passes over what another has.

import type { Status } from "../domain/conversion.ts";
import { type Conversion, findOldestEndedWindow, takeWindowEnded } from "../store/queries/conversions.ts";
import { BATCH_ROWS, type ConversionsDeps } from "./deps.ts";
import { makeMoves, type Step } from "./make-moves.ts";

interface Window {
	status: Status;
	stepFor(ended: Conversion, nowMs: number): Step;
}

const APPROVAL: Window = {
	status: "RECORDED",
	stepFor: (known) => ({
		move: "approve",
		known,
		change: { decided_by: "window", window_ends_at_ms: null },
		decidedBy: "window",
	}),
};

/** Expired ones are kept for the retention time, which counts from the end of their window. */
const PARKING: Window = {
	status: "PARKED",
	stepFor: (known, nowMs) => ({ move: "expire", known, change: { window_ends_at_ms: nowMs } }),
};

/** Resolves to how many were approved. Stops between batches when `isStopping` says so. */
export function approveDue(deps: ConversionsDeps, isStopping: () => boolean): Promise<number> {
	return endWindows(deps, APPROVAL, isStopping);
}

/** Resolves to how many expired. A postback that comes later records the order as a new sale. */
export function expireParked(deps: ConversionsDeps, isStopping: () => boolean): Promise<number> {
	return endWindows(deps, PARKING, isStopping);
}

async function endWindows(deps: ConversionsDeps, window: Window, isStopping: () => boolean): Promise<number> {
	const { store, clock } = deps;
	const { status } = window;
	// Asked outside a transaction first, because that takes no lock: most of the time nothing has ended.
	if ((await findOldestEndedWindow(store, status, clock.nowMs())) === null) return 0;
	let ended = 0;
	// Each batch goes on where the one before ended: while a long snapshot is open (a dump), PostgreSQL keeps the index
	// entries of all that have been ended, and would read them again for every batch. What another worker had in its hands
	// and gave back is found from the front at the next look.
	let fromMs = 0;
	while (!isStopping()) {
		// Read before anything is waited for: by then nobody may be sure of the time any more.
		const byMs = clock.nowMs();
		const { taken, made } = await store.transact(async (trx) => {
			const rows = await takeWindowEnded(trx, store, { status, fromMs, byMs, limit: BATCH_ROWS });
			const steps = rows.map((row) => window.stepFor(row, byMs));
			return { taken: rows, made: await makeMoves(trx, deps, steps) };
		});
		store.announceDue(made.owed);
		ended += made.conversions.filter((conversion) => conversion !== undefined).length;
		if (taken.length < BATCH_ROWS) break;
		fromMs = taken.at(-1)?.window_ends_at_ms ?? fromMs;
		await clock.yieldLoop();
	}
	return ended;
}
