// Jobs of many decisions: made, moved on state by state by whoever has claimed them (job-claims), and removed when old.

import type { Insertable, Selectable } from "kysely";
import type { Clock } from "../../ports.ts";
import type { Db, Store } from "../store.ts";
import type { BulkJobsTable, BulkState } from "../tables/bulk.ts";

export type BulkJob = Selectable<BulkJobsTable>;

export async function insertJob(db: Db, job: Insertable<BulkJobsTable>): Promise<BulkJob> {
	return db.insertInto("bulk_jobs").values(job).returningAll().executeTakeFirstOrThrow();
}

/** A job whose rows are still being stored is nobody's business yet. */
export async function findJob(db: Db, programmeId: number, publicId: string): Promise<BulkJob | undefined> {
	return db
		.selectFrom("bulk_jobs")
		.selectAll()
		.where("public_id", "=", publicId)
		.where("programme_id", "=", programmeId)
		.where("state", "!=", "storing")
		.executeTakeFirst();
}

export interface ListedJob extends BulkJob {
	email: string | null;
}

/** The newest first. */
export async function listJobs(db: Db, programmeId: number, limit: number): Promise<ListedJob[]> {
	return db
		.selectFrom("bulk_jobs")
		.leftJoin("people", "people.id", "bulk_jobs.person_id")
		.selectAll("bulk_jobs")
		.select("people.email")
		.where("bulk_jobs.programme_id", "=", programmeId)
		.where("bulk_jobs.state", "!=", "storing")
		.orderBy("bulk_jobs.id", "desc")
		.limit(limit)
		.execute();
}

/** False when it is in another state by now: of two who press the button at once, one moves it. */
export async function moveJob(
	db: Db,
	id: number,
	from: BulkState,
	change: Partial<Pick<BulkJob, "state" | "row_count" | "done_rows" | "applied_at_ms" | "person_id">>,
): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("bulk_jobs")
		.set(change)
		.where("id", "=", id)
		.where("state", "=", from)
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

/** This very job, if it has work to do and nobody is at work on it. */
export async function claimThisJob(
	db: Db,
	id: number,
	claim: string,
	nowMs: number,
	claimUntilMs: number,
): Promise<BulkJob | undefined> {
	return db
		.updateTable("bulk_jobs")
		.set({ claim, claim_until_ms: claimUntilMs })
		.where("id", "=", id)
		.where("state", "in", ["uploaded", "applying"])
		.where("claim_until_ms", "<=", nowMs)
		.returningAll()
		.executeTakeFirst();
}

/** Undefined when the claim has lapsed and somebody else took it: then nothing of this batch may be written. */
export async function advanceClaim(
	db: Db,
	{ id, claim }: Pick<BulkJob, "id" | "claim">,
	change: Partial<Pick<BulkJob, "state" | "done_rows" | "claim_until_ms" | "finished_at_ms">>,
): Promise<BulkJob | undefined> {
	return db
		.updateTable("bulk_jobs")
		.set(change)
		.where("id", "=", id)
		.where("claim", "=", claim)
		.returningAll()
		.executeTakeFirst();
}

export async function deleteJob(db: Db, id: number): Promise<void> {
	await db.deleteFrom("bulk_rows").where("job_id", "=", id).execute();
	await db.deleteFrom("bulk_jobs").where("id", "=", id).execute();
}

/** One transaction a job: its rows are few enough, and the others wait no longer than for one. */
export async function pruneJobs(
	store: Store,
	clock: Clock,
	olderThanMs: number,
	isStopping: () => boolean,
): Promise<void> {
	while (!isStopping()) {
		const old = await store.db
			.selectFrom("bulk_jobs")
			.select("id")
			.where("created_at_ms", "<", olderThanMs)
			.orderBy("created_at_ms")
			.limit(1)
			.executeTakeFirst();
		if (old === undefined) return;
		await store.transact((trx) => deleteJob(trx, old.id));
		await clock.yieldLoop();
	}
}
