// Windows that end by themselves: recorded conversions are approved after the approval window, and parked ones that
// nobody confirmed expire. A batch is one transaction, so being killed in between loses nothing and repeats nothing, and
// a million due rows take no more memory than one batch.

import type { Status } from "../domain/conversion.ts";
import { type Conversion, hasWindowEnded, listWindowEnded } from "../store/conversions.ts";
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
	let ended = 0;
	// Asked outside a transaction first, because that takes no lock: most of the time nothing has ended.
	while (!isStopping() && (await hasWindowEnded(store.db, window.status, clock.nowMs()))) {
		const { conversions, owedProgrammeIds } = await store.transact(async (trx) => {
			const nowMs = clock.nowMs();
			const rows = await listWindowEnded(trx, window.status, nowMs, BATCH_ROWS);
			return makeMoves(
				trx,
				deps,
				rows.map((row) => window.stepFor(row, nowMs)),
			);
		});
		store.announceDue(owedProgrammeIds);
		ended += conversions.filter((conversion) => conversion !== undefined).length;
		if (conversions.length < BATCH_ROWS) break;
		await clock.yieldLoop();
	}
	return ended;
}
