// Works off jobs of many decisions, a batch a transaction: uploaded → previewed, applying → done.

import { BATCH_ROWS, type ConversionsDeps } from "../conversions/deps.ts";
import { advanceClaim, type BulkJob, claimThisJob } from "../store/queries/bulk-jobs.ts";
import { judgeRows, listRows } from "../store/queries/bulk-rows.ts";
import { claimJob } from "../store/queries/job-claims.ts";
import { NOTHING_OWED } from "../store/queries/queue.ts";
import { applyBatch, previewBatch } from "./bulk-batch.ts";
import { compareRows } from "./bulk-compare.ts";
import { CLAIM_BYTES, CLAIM_MS, type JobWork, workOffAll, workOffJob } from "./claimed-jobs.ts";

/** Returns when there is nothing left to do here, or when asked to stop. */
export function workOffJobs(deps: ConversionsDeps, isStopping: () => boolean): Promise<void> {
	return workOffAll(deps, decisionsWork(deps), isStopping);
}

/**
 * A job of one batch, done while the person waits: whoever ticked two rows sees what they would do, and not first how far
 * the work has come. A larger one, or one that somebody else has begun, goes on in the background.
 */
export async function workOffSmall(deps: ConversionsDeps, job: BulkJob): Promise<void> {
	if (job.row_count >= BATCH_ROWS) return;
	const nowMs = deps.clock.nowMs();
	const claim = deps.random.hex(CLAIM_BYTES);
	const claimed = await claimThisJob(deps.store.db, job.id, claim, nowMs, nowMs + CLAIM_MS);
	if (claimed !== undefined) await workOffJob(deps, decisionsWork(deps), claimed, () => false);
}

function decisionsWork(deps: ConversionsDeps): JobWork<BulkJob> {
	const { db } = deps.store;
	return {
		claim: (claim, nowMs, untilMs) => claimJob(db, "bulk_jobs", claim, nowMs, untilMs),
		hasWork: ({ state }) => state === "uploaded" || state === "applying",
		workOnBatch: (job) => workOffBatch(deps, job),
		giveBack: (job) => advanceClaim(db, job, { claim_until_ms: 0 }),
	};
}

async function workOffBatch(deps: ConversionsDeps, job: BulkJob): Promise<BulkJob | undefined> {
	const { store, clock } = deps;
	const nowMs = clock.nowMs();
	const done = await store.transact(async (trx) => {
		const rows = await listRows(trx, { jobId: job.id, afterSeq: job.done_rows, limit: BATCH_ROWS });
		const isLast = rows.length < BATCH_ROWS;
		const isPreview = job.state === "uploaded";
		// First, because it also locks the job: a process whose claim has lapsed decides nothing more.
		const advanced = await advanceClaim(trx, job, {
			done_rows: isLast && isPreview ? 0 : job.done_rows + rows.length,
			claim_until_ms: isLast ? 0 : nowMs + CLAIM_MS,
			...(isLast ? { state: isPreview ? ("previewed" as const) : ("done" as const) } : {}),
			...(isLast && !isPreview ? { finished_at_ms: nowMs } : {}),
		});
		if (advanced === undefined) return { job: undefined, owed: NOTHING_OWED };
		const batch = isPreview ? await previewBatch(trx, job, rows) : await applyBatch(trx, deps, job, rows);
		await judgeRows(trx, job.id, isPreview ? "verdict" : "outcome", batch.rows);
		if (isPreview && isLast) await compareRows(trx, deps, job);
		return { job: advanced, owed: batch.owed };
	});
	store.announceDue(done.owed);
	return done.job;
}
