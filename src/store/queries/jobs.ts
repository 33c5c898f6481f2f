// Jobs from their first line to their end, and their lines while somebody needs them. A process that works on one holds a
// claim that lapses: one that dies leaves it to the next.

import { type Insertable, type Selectable, sql } from "kysely";
import type { Clock } from "../../ports.ts";
import type { Db, Store } from "../store.ts";
import type { JobLinesTable, JobState, JobsTable } from "../tables/jobs.ts";

export type Job = Selectable<JobsTable>;
export type JobBatch = Selectable<JobLinesTable>;

/** Their lines are still being stored, or go: no page shows them. */
const UNSEEN: readonly JobState[] = ["storing", "discarded"];

/** What may yet be applied, as long as its lines are kept. Their lines take room, also of what is still being stored. */
const UNFINISHED: readonly JobState[] = ["storing", "uploaded", "previewed", "applying", "stopped"];

export async function insertJob(db: Db, job: Insertable<JobsTable>): Promise<Job> {
	return db.insertInto("jobs").values(job).returningAll().executeTakeFirstOrThrow();
}

export interface ListedJob extends Job {
	/** Of whoever made it, and of whoever had it applied. */
	email: string | null;
	appliedByEmail: string | null;
}

/** `programmeId`: null for what staff import. */
export async function findJob(
	db: Db,
	programmeId: number | null,
	publicId: string,
): Promise<ListedJob | undefined> {
	return seenJobs(db, programmeId).where("jobs.public_id", "=", publicId).executeTakeFirst();
}

/** Those that may yet be applied, then the others; each the newest first. */
export async function listJobs(db: Db, programmeId: number | null, limit: number): Promise<ListedJob[]> {
	return seenJobs(db, programmeId)
		.orderBy(sql`case when jobs.state in (${sql.join(UNFINISHED)}) and jobs.lines = 'kept' then 0 else 1 end`)
		.orderBy("jobs.id", "desc")
		.limit(limit)
		.execute();
}

function seenJobs(db: Db, programmeId: number | null) {
	return db
		.selectFrom("jobs")
		.leftJoin("people", "people.id", "jobs.person_id")
		.leftJoin("people as appliers", "appliers.id", "jobs.applied_by")
		.selectAll("jobs")
		.select(["people.email", "appliers.email as appliedByEmail"])
		.where("jobs.programme_id", programmeId === null ? "is" : "=", programmeId)
		.where("jobs.state", "not in", UNSEEN);
}

export type JobChange = Partial<Omit<Job, "id" | "public_id" | "kind" | "person_id" | "created_at_ms">>;

/** False when it is in another state by now, or its lines go: of two who press the button at once, one moves it. */
export async function moveJob(
	db: Db,
	id: number,
	from: readonly JobState[],
	change: JobChange,
): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("jobs")
		.set(change)
		.where("id", "=", id)
		.where("state", "in", from)
		.where("lines", "=", "kept")
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

/** The process at work on it loses its claim, and writes nothing more. */
export function stoppedAt(nowMs: number) {
	return { state: "stopped", claim: null, claim_until_ms: 0, finished_at_ms: nowMs } as const;
}

/**
 * What hangs on somebody whose access, or whose right in one programme, ends: what is being applied for them stops, and of what waits that is noted.
 * Resolves to those that were stopped.
 */
export async function endJobsOf(
	trx: Db,
	personId: number,
	nowMs: number,
	programmeId?: number,
): Promise<Job[]> {
	const stopped = await trx
		.updateTable("jobs")
		.set(stoppedAt(nowMs))
		.where("state", "=", "applying")
		.where("applied_by", "=", personId)
		.$if(programmeId !== undefined, (jobs) => jobs.where("programme_id", "=", programmeId ?? null))
		.returningAll()
		.execute();
	await trx
		.updateTable("jobs")
		.set({ access_ended_at_ms: nowMs })
		.where("state", "in", UNFINISHED)
		.where("lines", "=", "kept")
		.where((eb) => eb(eb.fn.coalesce("applied_by", "person_id"), "=", personId))
		.$if(programmeId !== undefined, (jobs) => jobs.where("programme_id", "=", programmeId ?? null))
		.execute();
	return stopped;
}

/** What waits for somebody to apply or to discard it, or is under way: how many, and how large together. */
export async function sumUnfinishedJobs(
	db: Db,
	programmeId: number | null,
): Promise<{ files: number; bytes: number }> {
	const { files, bytes } = await db
		.selectFrom("jobs")
		.select((eb) => [
			eb.fn.countAll<number>().as("files"),
			// PostgreSQL's sum of large integers is a numeric, which comes as text.
			eb.fn.sum<number | string | null>("file_bytes").as("bytes"),
		])
		.where("programme_id", programmeId === null ? "is" : "=", programmeId)
		.where("state", "in", UNFINISHED)
		.where("lines", "=", "kept")
		.executeTakeFirstOrThrow();
	return { files, bytes: Number(bytes ?? 0) };
}

/** The oldest that has work to do and no process at work on it; of one alone where `only` is its id. */
export async function claimJob(
	db: Db,
	claim: string,
	nowMs: number,
	claimUntilMs: number,
	only: number | null = null,
): Promise<Job | undefined> {
	const isMeant = only === null ? sql`true` : sql`id = ${only}`;
	// Looked at again, because on PostgreSQL another process may have claimed it after the list was read.
	const { rows } = await sql<Job>`update jobs set claim = ${claim}, claim_until_ms = ${claimUntilMs}
		where id = (select id from jobs where state in ('uploaded', 'applying') and claim_until_ms <= ${nowMs}
				and ${isMeant} order by claim_until_ms, id limit 1)
			and claim_until_ms <= ${nowMs}
		returning *`.execute(db);
	return rows[0];
}

/** Undefined when the claim was taken: by another process, or by whoever stopped the job. Then nothing may be written. */
export async function advanceJob(
	db: Db,
	{ id, claim }: Pick<Job, "id" | "claim">,
	change: JobChange,
): Promise<Job | undefined> {
	return db
		.updateTable("jobs")
		.set(change)
		.where("id", "=", id)
		.where("claim", "=", claim)
		.returningAll()
		.executeTakeFirst();
}

export async function insertBatch(db: Db, batch: Insertable<JobLinesTable>): Promise<void> {
	await db.insertInto("job_lines").values(batch).execute();
}

export async function findBatch(db: Db, jobId: number, seq: number): Promise<JobBatch | undefined> {
	return db
		.selectFrom("job_lines")
		.selectAll()
		.where("job_id", "=", jobId)
		.where("seq", "=", seq)
		.executeTakeFirst();
}

export async function changeBatch(
	db: Db,
	jobId: number,
	seq: number,
	change: Partial<Pick<JobBatch, "lines" | "verdicts">>,
): Promise<void> {
	await db.updateTable("job_lines").set(change).where("job_id", "=", jobId).where("seq", "=", seq).execute();
}

/** Whose lines are to go: discarded, broken off while they were stored, ended long ago, or left for as long. */
export async function findJobToClear(db: Db, nowMs: number, endedBeforeMs: number): Promise<Job | undefined> {
	// As its index is written.
	const { rows } =
		await sql<Job>`select * from jobs where lines <> 'gone' and (lines = 'going' or state = 'discarded'
		or (state = 'storing' and claim_until_ms < ${nowMs})
		or (state = 'previewed' and created_at_ms < ${endedBeforeMs})
		or (state in ('done', 'stopped') and finished_at_ms < ${endedBeforeMs})) order by id limit 1`.execute(db);
	return rows[0];
}

export async function noteLinesGone(db: Db, id: number): Promise<void> {
	await db.updateTable("jobs").set({ lines: "gone" }).where("id", "=", id).execute();
}

/** Some 5 MB at a time: the others wait no longer than for that. */
const BATCHES_AT_ONCE = 100;

/** False when it was asked to stop before the last of them. */
export async function removeLines(
	{ db }: Pick<Store, "db">,
	clock: Pick<Clock, "yieldLoop">,
	jobId: number,
	isStopping: () => boolean,
): Promise<boolean> {
	while (!isStopping()) {
		const { numDeletedRows } = await db
			.deleteFrom("job_lines")
			.where("job_id", "=", jobId)
			.where("seq", "in", (eb) =>
				eb
					.selectFrom("job_lines")
					.select("seq")
					.where("job_id", "=", jobId)
					.orderBy("seq")
					.limit(BATCHES_AT_ONCE),
			)
			.executeTakeFirst();
		if (numDeletedRows < BATCHES_AT_ONCE) return true;
		await clock.yieldLoop();
	}
	return false;
}

export async function deleteJob(db: Db, id: number): Promise<void> {
	await db.deleteFrom("jobs").where("id", "=", id).execute();
}
