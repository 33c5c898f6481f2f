// Many decisions from a file to their end, over a real database: uploaded, previewed, applied.

import { ok } from "node:assert/strict";
import { createClock, type MovableClock } from "../../test/support/clock.ts";
import { createLog } from "../../test/support/log.ts";
import { createRandom } from "../outside/random.ts";
import { type BulkJob, findJob } from "../store/queries/bulk-jobs.ts";
import { listRows } from "../store/queries/bulk-rows.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Store } from "../store/store.ts";
import { startApplying } from "./bulk-apply.ts";
import { type Decider, type UploadedFile, uploadDecisions } from "./bulk-upload.ts";
import { workOffJobs } from "./bulk-work.ts";

export const OWNER: Decider = { personId: 1, side: "shop" };
export const STAFF: Decider = { personId: 2, side: "review" };

export interface BulkDeps {
	store: Store;
	clock: MovableClock;
	random: ReturnType<typeof createRandom>;
	log: ReturnType<typeof createLog>;
}

export function openBulk(store: Store): BulkDeps {
	return { store, clock: createClock(), random: createRandom(), log: createLog() };
}

function fileOf(text: string): UploadedFile {
	async function* read() {
		yield new TextEncoder().encode(text);
	}
	return { name: "decisions.csv", read };
}

/** The first line names the columns. */
export async function uploadLines(
	deps: BulkDeps,
	programme: Programme,
	lines: readonly string[],
	decider = OWNER,
): Promise<BulkJob> {
	const job = await uploadDecisions(deps, programme, decider, fileOf(lines.join("\n")));
	ok(job.ok, JSON.stringify(job));
	return job.value;
}

export async function reloadJob({ store }: Pick<BulkDeps, "store">, job: BulkJob): Promise<BulkJob> {
	const found = await findJob(store.db, job.programme_id, job.public_id);
	ok(found !== undefined);
	return found;
}

export async function applyJob(deps: BulkDeps, job: BulkJob, decider = OWNER): Promise<BulkJob> {
	const started = await startApplying(deps, await reloadJob(deps, job), decider);
	ok(started.ok, JSON.stringify(started));
	await workOffJobs(deps, () => false);
	return reloadJob(deps, job);
}

export async function rowsOfJob({ store }: BulkDeps, job: BulkJob) {
	return listRows(store.db, { jobId: job.id, afterSeq: 0, limit: 100 });
}
