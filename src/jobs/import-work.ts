// Works off uploaded files in the background, a batch a transaction: uploaded → previewed, applying → done. What a batch
// brings in, what became of its lines and how far the job is are written together: killed at any moment, it goes on
// where it was, and no line counts twice.

import { DAY_MS } from "../domain/time.ts";
import type { InvitationsDeps } from "../people/invitations.ts";
import {
	advanceImport,
	deleteImport,
	findBatch,
	findImportToClear,
	type ImportJob,
	moveImport,
	noteLinesGone,
	removeLines,
	writeVerdicts,
} from "../store/queries/import-jobs.ts";
import { claimJob } from "../store/queries/job-claims.ts";
import { lockLinks } from "../store/queries/links.ts";
import type { Db } from "../store/store.ts";
import { writeFailure } from "./batch-failure.ts";
import { CLAIM_MS, type JobWork, workOffAll } from "./claimed-jobs.ts";
import { applyBatch, judgeBatch, type SettledRow } from "./import-batch.ts";
import { discardImport, noteJob } from "./import-job.ts";
import type { ImportDeps, ImportKind, JudgedRow } from "./import-kind.ts";
import { importKind } from "./import-kinds.ts";
import { readLines, writeVerdictsOf } from "./stored-lines.ts";
import { createSummary, type ImportSummary, parseSummary, sayCounts } from "./summary.ts";

export type ImportWorkDeps = InvitationsDeps;

/** How long the lines of a file are kept: in wait for somebody who looks at the preview, and after their import. */
const LINES_KEPT_MS = DAY_MS;

/** Where a batch took long because the machine is busy, or its clock was set. */
const LONGEST_REST_MS = 500;

/** Returns when there is nothing left to do here, or when asked to stop. */
export async function workOffImports(deps: ImportWorkDeps, isStopping: () => boolean): Promise<void> {
	await workOffAll(deps, importsWork(deps), isStopping);
	await clearOld(deps, isStopping);
}

function importsWork(deps: ImportWorkDeps): JobWork<ImportJob> {
	const { db } = deps.store;
	return {
		claim: (claim, nowMs, untilMs) => claimJob(db, "import_jobs", claim, nowMs, untilMs),
		hasWork: ({ state }) => state === "uploaded" || state === "applying",
		workOnBatch: (job) => workOnBatch(deps, job),
		giveBack: (job) => advanceImport(db, job, { claim_until_ms: 0 }),
	};
}

interface Batch {
	seq: number;
	kind: ImportKind;
	rows: readonly SettledRow[];
	isLast: boolean;
}

async function workOnBatch(deps: ImportWorkDeps, job: ImportJob): Promise<ImportJob | undefined> {
	const sinceMs = deps.clock.nowMs();
	const batch = await findNext(deps, job);
	// Discarded meanwhile.
	if (batch === undefined) return undefined;
	const work = job.state === "uploaded" ? previewOne : applyOne;
	const done = await work(deps, job, batch).catch(async (error: unknown) => {
		await noteFailure(deps, job, batch, error);
		throw error;
	});
	await rest(deps, sinceMs);
	return done;
}

/** As long as the batch took: calls and callbacks come first, and find half of the time their own. */
async function rest({ clock }: ImportWorkDeps, sinceMs: number): Promise<void> {
	const restMs = Math.min(clock.nowMs() - sinceMs, LONGEST_REST_MS);
	if (restMs > 0) await new Promise<void>((resolve) => clock.after(restMs, resolve));
}

async function findNext({ store }: ImportWorkDeps, job: ImportJob): Promise<Batch | undefined> {
	const seq = job.done_batches + 1;
	const stored = await findBatch(store.db, job.id, seq);
	if (stored === undefined) return undefined;
	const rows = readLines(stored.lines);
	const isLast = job.done_rows + rows.length >= job.row_count;
	return { seq, rows, isLast, kind: importKind(job.kind) };
}

/** For its page; the chore tells the log. The batch is tried again once the claim has lapsed. */
async function noteFailure(
	{ store, clock }: ImportWorkDeps,
	job: ImportJob,
	{ rows }: Batch,
	error: unknown,
): Promise<void> {
	try {
		await advanceImport(store.db, job, { failure: writeFailure(error, rows, clock.nowMs()) });
	} catch {
		// What kept the batch from being stored keeps this from being stored, too.
	}
}

async function previewOne(
	{ store, clock }: ImportWorkDeps,
	job: ImportJob,
	batch: Batch,
): Promise<ImportJob | undefined> {
	const judged = await judgeBatch(store.db, batch.kind, batch.rows, clock.nowMs());
	return store.transact(async (trx) => {
		const summary = summaryWith(job, judged);
		const change = progressOf(job, batch, summary, clock.nowMs());
		const advanced = await advanceImport(trx, job, batch.isLast ? { ...change, state: "previewed" } : change);
		if (advanced !== undefined) await writeVerdicts(trx, job.id, batch.seq, writeVerdictsOf(judged));
		return advanced;
	});
}

async function applyOne(deps: ImportWorkDeps, job: ImportJob, batch: Batch): Promise<ImportJob | undefined> {
	const { store, clock, mails, publicUrl } = deps;
	const inviting = job.invites === 1 ? { mails, publicUrl } : null;
	const importDeps: ImportDeps = { ...deps, personId: job.applied_by, inviting };
	const done = await store.transact(async (trx) => {
		if (batch.kind.makesPeople) await lockLinks(trx);
		// First, because it also locks the job: a process whose claim has lapsed, or was taken with the access of whoever
		// began it, brings in nothing more.
		const held = await advanceImport(trx, job, { claim_until_ms: clock.nowMs() + CLAIM_MS });
		if (held === undefined) return undefined;
		const judged = await applyBatch(trx, importDeps, batch.kind, batch.rows);
		await writeVerdicts(trx, job.id, batch.seq, writeVerdictsOf(judged));
		return advanceApplied(trx, job, batch, summaryWith(job, judged), clock.nowMs());
	});
	inviting?.mails.wake();
	return done;
}

async function advanceApplied(
	trx: Db,
	job: ImportJob,
	batch: Batch,
	summary: ImportSummary,
	nowMs: number,
): Promise<ImportJob | undefined> {
	const change = progressOf(job, batch, summary, nowMs);
	if (!batch.isLast) return advanceImport(trx, job, change);
	const note = { personId: job.applied_by, action: "import.finished" } as const;
	await noteJob(trx, job, { ...note, detail: sayCounts(batch.kind, summary) }, nowMs);
	return advanceImport(trx, job, { ...change, state: "done", finished_at_ms: nowMs });
}

function summaryWith(job: ImportJob, judged: readonly JudgedRow[]): ImportSummary {
	const summary = createSummary(job.summary === null ? undefined : parseSummary(job.summary));
	summary.add(judged);
	return summary.read();
}

function progressOf(job: ImportJob, { seq, rows, isLast }: Batch, summary: ImportSummary, nowMs: number) {
	return {
		done_batches: seq,
		done_rows: job.done_rows + rows.length,
		summary: JSON.stringify(summary),
		failure: null,
		claim_until_ms: isLast ? 0 : nowMs + CLAIM_MS,
	};
}

/** Lines name people and amounts: they stay no longer than somebody needs them. */
async function clearOld(deps: ImportWorkDeps, isStopping: () => boolean): Promise<void> {
	const { store, clock } = deps;
	while (!isStopping()) {
		const nowMs = clock.nowMs();
		const job = await findImportToClear(store.db, nowMs, nowMs - LINES_KEPT_MS);
		if (job === undefined) return;
		if (job.state === "previewed") {
			await discardImport(deps, job, null);
			continue;
		}
		// Whoever goes on with it at this moment is either before this, or refused.
		if (job.lines === "kept" && !(await moveImport(store.db, job.id, [job.state], { lines: "going" })))
			continue;
		if (!(await removeLines(store, clock, job.id, isStopping))) return;
		if (job.state === "done" || job.state === "stopped") await noteLinesGone(store.db, job.id);
		else await deleteImport(store.db, job.id);
	}
}
