// Works off jobs of many decisions, a batch a transaction: uploaded → previewed, applying → done. A process that dies
// leaves its claim to lapse; whoever takes the job then goes on behind the last batch that was stored.

import { advanceClaim, type BulkJob, claimJob, claimThisJob } from "../store/bulk-jobs.ts";
import { judgeRows, listRows } from "../store/bulk-rows.ts";
import { applyBatch, previewBatch } from "./bulk-batch.ts";
import { compareRows } from "./bulk-compare.ts";
import { BATCH_ROWS, type ConversionsDeps } from "./deps.ts";

/** Far longer than a batch takes; how long a job stands still after its process died. */
const CLAIM_MS = 30_000;
const CLAIM_BYTES = 16;

/** Returns when there is nothing left to do here, or when asked to stop. */
export async function workOffJobs(deps: ConversionsDeps, isStopping: () => boolean): Promise<void> {
	while (!isStopping()) {
		const nowMs = deps.clock.nowMs();
		const job = await claimJob(deps.store.db, deps.random.hex(CLAIM_BYTES), nowMs, nowMs + CLAIM_MS);
		if (job === undefined) return;
		await workOffJob(deps, job, isStopping);
	}
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
	if (claimed !== undefined) await workOffJob(deps, claimed, () => false);
}

async function workOffJob(deps: ConversionsDeps, claimed: BulkJob, isStopping: () => boolean): Promise<void> {
	let job: BulkJob | undefined = claimed;
	while (job !== undefined && (job.state === "uploaded" || job.state === "applying")) {
		if (isStopping()) {
			// Given back at once, so that the next process need not wait for the claim to lapse.
			await advanceClaim(deps.store.db, job, { claim_until_ms: 0 });
			return;
		}
		job = await workOffBatch(deps, job);
		await deps.clock.yieldLoop();
	}
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
		if (advanced === undefined) return { job: undefined, owedProgrammeIds: [] };
		const batch = isPreview ? await previewBatch(trx, job, rows) : await applyBatch(trx, deps, job, rows);
		await judgeRows(trx, job.id, isPreview ? "verdict" : "outcome", batch.rows);
		if (isPreview && isLast) await compareRows(trx, deps, job);
		return { job: advanced, owedProgrammeIds: batch.owedProgrammeIds };
	});
	store.announceDue(done.owedProgrammeIds);
	return done.job;
}
