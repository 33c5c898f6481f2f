// The approval window passes: recorded conversions are approved by themselves, a page at a time. Each page
// is one transaction, so being killed in between loses nothing and repeats nothing, and a million due rows
// take no more memory than one page.

import { hasWindowEnded, insertMoves, updateWindowEnded } from "../store/conversions.ts";
import type { ConversionsDeps } from "./deps.ts";
import { oweEvents } from "./owe.ts";

/** Large enough that a commit's cost disappears, small enough that other writers hardly wait. */
const PAGE_ROWS = 500;

/** Resolves to how many were approved. Stops between pages when `isStopping` says so. */
export async function approveDue(deps: ConversionsDeps, isStopping: () => boolean): Promise<number> {
	let approved = 0;
	while (!isStopping() && (await hasWindowEnded(deps.store.db, "RECORDED", deps.clock.nowMs()))) {
		const page = await approvePage(deps);
		deps.store.announceDue(page.owedProgrammeIds);
		approved += page.count;
		if (page.count < PAGE_ROWS) break;
		await deps.clock.yieldLoop();
	}
	return approved;
}

async function approvePage(
	deps: ConversionsDeps,
): Promise<{ count: number; owedProgrammeIds: readonly number[] }> {
	const nowMs = deps.clock.nowMs();
	return deps.store.transact(async (trx) => {
		const approved = await updateWindowEnded(trx, {
			from: "RECORDED",
			endedBeforeMs: nowMs,
			limit: PAGE_ROWS,
			change: { status: "APPROVED", decided_by: "window", window_ends_at_ms: null, updated_at_ms: nowMs },
		});
		await insertMoves(
			trx,
			approved.map(({ id }) => ({
				conversion_id: id,
				move: "approve" as const,
				to_status: "APPROVED" as const,
				decided_by: "window" as const,
				at_ms: nowMs,
			})),
		);
		const owedProgrammeIds = await oweEvents(trx, deps, "conversion.approved", approved);
		return { count: approved.length, owedProgrammeIds };
	});
}
