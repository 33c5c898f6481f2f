// Jobs and their lines. The process that works on a job holds a claim that expires, so that another process continues
// the job if the first one dies.

import { type Insertable, type Selectable, sql } from "kysely";
import type { Clock } from "#core/ports.ts";
import type { Db, Store } from "#core/store/store.ts";
import type { JobKindName, JobLinesTable, JobState, JobsTable } from "./tables.ts";

export type Job = Selectable<JobsTable>;
export type JobBatch = Selectable<JobLinesTable>;

/** States of jobs that no page shows, because their lines are still being stored or are being removed. */
const UNSEEN: readonly JobState[] = ["storing", "discarded"];

/** States of jobs that may still be applied, and whose lines take up space. */
const UNFINISHED: readonly JobState[] = [
	"storing",
	"preparing",
	"uploaded",
	"previewed",
	"applying",
	"stopped",
];

export async function insertJob(db: Db, job: Insertable<JobsTable>): Promise<Job> {
	return db.insertInto("jobs").values(job).returningAll().executeTakeFirstOrThrow();
}

export interface ListedJob extends Job {
	/** E-mail addresses of the person who created the job and of the person who applied it. */
	email: string | null;
	appliedByEmail: string | null;
}

/** Returns the area of the audit log that entries about the job belong to. */
export function auditAreaOf({ kind }: Pick<Job, "kind">) {
	return kind === "decisions" || kind === "statements" || kind === "payments" ? kind : "import";
}

/** Returns the subject of audit entries about the job: the file or the month, or the id of a job of decisions. */
export function auditSubjectOf({ kind, public_id, file_name, list_query }: Job): string | null {
	if (kind === "decisions") return public_id;
	return kind === "statements" ? monthOfJob({ list_query }) : file_name;
}

export function monthOfJob({ list_query }: Pick<Job, "list_query">): string | null {
	return new URLSearchParams(list_query ?? "").get("month");
}

/** Finds a job that pages may show. `programmeId` is null for jobs of the network's staff. */
export async function findJob(
	db: Db,
	programmeId: number | null,
	publicId: string,
): Promise<ListedJob | undefined> {
	return seenJobs(db, programmeId).where("jobs.public_id", "=", publicId).executeTakeFirst();
}

/**
 * Lists the jobs of some kinds that may still be applied, and after them the others. Both groups begin with the newest
 * job.
 */
export async function listJobs(
	db: Db,
	programmeId: number | null,
	kinds: readonly JobKindName[],
	limit: number,
): Promise<ListedJob[]> {
	return seenJobs(db, programmeId)
		.where("jobs.kind", "in", kinds)
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

/**
 * Changes a job if it is still in one of the states `from`. Returns false otherwise. If two people press the button at
 * once, only one succeeds.
 */
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

/**
 * Returns the column values that stop a job. They remove the claim, so that the process that works on the job
 * writes nothing more.
 */
export function stoppedAt(nowMs: number) {
	return { state: "stopped", claim: null, claim_until_ms: 0, finished_at_ms: nowMs } as const;
}

/**
 * Handles the jobs of a person whose access ends, or whose right in one programme ends. Jobs that are being applied
 * stop, and all unfinished jobs record that the access has ended. Returns the jobs that were stopped.
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

/** Returns the number and the total file size of the jobs that wait for a person or are in progress. */
export async function sumUnfinishedJobs(
	db: Db,
	programmeId: number | null,
): Promise<{ files: number; bytes: number }> {
	const { files, bytes } = await db
		.selectFrom("jobs")
		.select((eb) => [
			eb.fn.countAll<number>().as("files"),
			// In PostgreSQL the sum of large integers is a numeric, which the driver returns as text.
			eb.fn.sum<number | string | null>("file_bytes").as("bytes"),
		])
		.where("programme_id", programmeId === null ? "is" : "=", programmeId)
		.where("state", "in", UNFINISHED)
		.where("lines", "=", "kept")
		.executeTakeFirstOrThrow();
	return { files, bytes: Number(bytes ?? 0) };
}

/** Returns whether a job needs work and no process works on it. */
export async function hasUnclaimedJob(db: Db, nowMs: number): Promise<boolean> {
	// The states are written out, because SQLite uses the partial index jobs_to_do only for literals.
	const { rows } = await sql`select id from jobs where state in ('preparing', 'uploaded', 'applying')
		and claim_until_ms <= ${nowMs} limit 1`.execute(db);
	return rows.length > 0;
}

/**
 * Claims the job that has waited longest among the jobs that need work and on which no process works. If
 * `only` is given, no other job is claimed.
 */
export async function claimJob(
	{ db, takeFreeRows }: Pick<Store, "db" | "takeFreeRows">,
	claim: string,
	nowMs: number,
	claimUntilMs: number,
	only: number | null = null,
): Promise<Job | undefined> {
	const isMeant = only === null ? sql`true` : sql`id = ${only}`;
	// A locked row means that a process is in the middle of a batch of this job, so the row is skipped. The
	// condition is repeated, because on PostgreSQL another process may have claimed the job after the list was
	// read.
	const { rows } = await sql<Job>`update jobs set claim = ${claim}, claim_until_ms = ${claimUntilMs}
		where id = (select id from jobs where state in ('preparing', 'uploaded', 'applying') and claim_until_ms <= ${nowMs}
				and ${isMeant} order by claim_until_ms, id limit 1 ${takeFreeRows})
			and claim_until_ms <= ${nowMs}
		returning *`.execute(db);
	return rows[0];
}

/** Prolongs a claim that was neither released nor taken away. */
export async function renewClaim(
	db: Db,
	{ id, claim }: Pick<Job, "id" | "claim">,
	untilMs: number,
): Promise<void> {
	const jobs = db.updateTable("jobs").set({ claim_until_ms: untilMs }).where("id", "=", id);
	await jobs.where("claim", "=", claim).where("claim_until_ms", ">", 0).execute();
}

/**
 * Stores the progress of a job. Returns undefined if another process has the claim or a person stopped the job. The
 * caller must then write nothing more.
 */
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

/** Returns whether statements of the month are being prepared or issued now. */
export async function isMonthInWork(db: Db, listQuery: string): Promise<boolean> {
	const found = await db
		.selectFrom("jobs")
		.select("id")
		.where("programme_id", "is", null)
		.where("kind", "=", "statements")
		.where("list_query", "=", listQuery)
		.where("state", "in", ["preparing", "applying"])
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}

export async function insertBatch(db: Db, batch: Insertable<JobLinesTable>): Promise<void> {
	await db.insertInto("job_lines").values(batch).execute();
}

/** Stores a batch whose first lines may be stored already. */
export async function saveBatch(db: Db, batch: Insertable<JobLinesTable>): Promise<void> {
	const { lines, verdicts = null } = batch;
	await db
		.insertInto("job_lines")
		.values(batch)
		.onConflict((conflict) => conflict.columns(["job_id", "seq"]).doUpdateSet({ lines, verdicts }))
		.execute();
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

/**
 * Finds a job whose lines can be removed. It was discarded, it was interrupted while being stored, or it has been
 * finished or unused for long.
 */
export async function findJobToClear(db: Db, nowMs: number, endedBeforeMs: number): Promise<Job | undefined> {
	// The statement must repeat the condition of the index jobs_to_clear word for word.
	const { rows } =
		await sql<Job>`select * from jobs where lines <> 'gone' and (lines = 'going' or state = 'discarded'
		or (state = 'storing' and claim_until_ms < ${nowMs})
		or (state = 'previewed' and created_at_ms < ${endedBeforeMs})
		or (state in ('done', 'stopped') and finished_at_ms < ${endedBeforeMs})) order by id limit 1`.execute(db);
	return rows[0];
}

export async function markLinesGone(db: Db, id: number): Promise<void> {
	await db.updateTable("jobs").set({ lines: "gone" }).where("id", "=", id).execute();
}

/**
 * Number of batches of lines that one statement removes, about 5 MB. Other writes wait at most for one such statement.
 */
const BATCHES_AT_ONCE = 100;

/** Removes the lines of a job. Returns false if the service stopped before all lines were removed. */
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

/** Removes old jobs whose lines are gone. */
export async function pruneJobs({ db }: Pick<Store, "db">, olderThanMs: number): Promise<void> {
	await sql`delete from jobs where lines = 'gone' and created_at_ms < ${olderThanMs}`.execute(db);
}
