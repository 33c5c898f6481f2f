// Files that staff import: the job from its upload to its end, and the lines of its file while somebody needs them.

import type { Insertable, Selectable } from "kysely";
import type { Clock } from "../../ports.ts";
import type { Db, Store } from "../store.ts";
import type { ImportBatchesTable, ImportJobsTable, ImportState } from "../tables/imports.ts";

export type ImportJob = Selectable<ImportJobsTable>;
export type ImportBatch = Selectable<ImportBatchesTable>;

/** Nobody's business: their lines are still being stored, or go. */
const UNSEEN: readonly ImportState[] = ["storing", "discarded"];

/** What may yet come in, as long as its lines are kept. Their lines take room, also of what is still being stored. */
const UNFINISHED: readonly ImportState[] = ["storing", "uploaded", "previewed", "applying", "stopped"];

export async function insertImport(db: Db, job: Insertable<ImportJobsTable>): Promise<ImportJob> {
	return db.insertInto("import_jobs").values(job).returningAll().executeTakeFirstOrThrow();
}

export interface ListedImport extends ImportJob {
	/** Of whoever uploaded it, and of whoever had it brought in. */
	email: string | null;
	appliedByEmail: string | null;
}

export async function findImport(db: Db, publicId: string): Promise<ListedImport | undefined> {
	return seenImports(db).where("import_jobs.public_id", "=", publicId).executeTakeFirst();
}

/** Those that may yet come in, then the others; each the newest first. */
export async function listImports(db: Db, limit: number): Promise<ListedImport[]> {
	return seenImports(db)
		.orderBy((eb) =>
			eb
				.case()
				.when(eb.and([eb("import_jobs.state", "in", UNFINISHED), eb("import_jobs.lines", "=", "kept")]))
				.then(eb.lit(0))
				.else(eb.lit(1))
				.end(),
		)
		.orderBy("import_jobs.id", "desc")
		.limit(limit)
		.execute();
}

function seenImports(db: Db) {
	return db
		.selectFrom("import_jobs")
		.leftJoin("people", "people.id", "import_jobs.person_id")
		.leftJoin("people as appliers", "appliers.id", "import_jobs.applied_by")
		.selectAll("import_jobs")
		.select(["people.email", "appliers.email as appliedByEmail"])
		.where("import_jobs.state", "not in", UNSEEN);
}

export type ImportChange = Partial<
	Omit<ImportJob, "id" | "public_id" | "kind" | "person_id" | "created_at_ms">
>;

/** False when it is in another state by now, or its lines go: of two who press the button at once, one moves it. */
export async function moveImport(
	db: Db,
	id: number,
	from: readonly ImportState[],
	change: ImportChange,
): Promise<boolean> {
	const { numUpdatedRows } = await db
		.updateTable("import_jobs")
		.set(change)
		.where("id", "=", id)
		.where("state", "in", from)
		.where("lines", "=", "kept")
		.executeTakeFirst();
	return numUpdatedRows > 0n;
}

/** Whoever is at work on it loses their claim, and writes nothing more. */
export function stoppedAt(nowMs: number) {
	return { state: "stopped", claim: null, claim_until_ms: 0, finished_at_ms: nowMs } as const;
}

/**
 * What hangs on somebody whose access ends: what is being brought in for them stops, and of what waits that is noted.
 * Resolves to those that were stopped.
 */
export async function endImportsOf(
	trx: Db,
	personId: number,
	nowMs: number,
): Promise<Pick<ImportJob, "file_name">[]> {
	const stopped = await trx
		.updateTable("import_jobs")
		.set(stoppedAt(nowMs))
		.where("state", "=", "applying")
		.where("applied_by", "=", personId)
		.returning("file_name")
		.execute();
	await trx
		.updateTable("import_jobs")
		.set({ access_ended_at_ms: nowMs })
		.where("state", "in", UNFINISHED)
		.where("lines", "=", "kept")
		.where((eb) => eb(eb.fn.coalesce("applied_by", "person_id"), "=", personId))
		.execute();
	return stopped;
}

/** Files that wait for somebody to import or to discard them, or come in: how many, and how large together. */
export async function sumUnfinishedImports(db: Db): Promise<{ files: number; bytes: number }> {
	const { files, bytes } = await db
		.selectFrom("import_jobs")
		.select((eb) => [
			eb.fn.countAll<number>().as("files"),
			// PostgreSQL's sum of large integers is a numeric, which comes as text.
			eb.fn.sum<number | string | null>("file_bytes").as("bytes"),
		])
		.where("state", "in", UNFINISHED)
		.where("lines", "=", "kept")
		.executeTakeFirstOrThrow();
	return { files, bytes: Number(bytes ?? 0) };
}

/** Undefined when the claim was taken: by another process, or by whoever stopped the job. Then nothing may be written. */
export async function advanceImport(
	db: Db,
	{ id, claim }: Pick<ImportJob, "id" | "claim">,
	change: ImportChange,
): Promise<ImportJob | undefined> {
	return db
		.updateTable("import_jobs")
		.set(change)
		.where("id", "=", id)
		.where("claim", "=", claim)
		.returningAll()
		.executeTakeFirst();
}

export async function insertBatch(db: Db, batch: Insertable<ImportBatchesTable>): Promise<void> {
	await db.insertInto("import_batches").values(batch).execute();
}

export async function findBatch(db: Db, jobId: number, seq: number): Promise<ImportBatch | undefined> {
	return db
		.selectFrom("import_batches")
		.selectAll()
		.where("job_id", "=", jobId)
		.where("seq", "=", seq)
		.executeTakeFirst();
}

export function rewriteLines(db: Db, jobId: number, seq: number, lines: string): Promise<void> {
	return changeBatch(db, jobId, seq, { lines });
}

export function writeVerdicts(db: Db, jobId: number, seq: number, verdicts: string): Promise<void> {
	return changeBatch(db, jobId, seq, { verdicts });
}

async function changeBatch(
	db: Db,
	jobId: number,
	seq: number,
	change: Partial<Pick<ImportBatch, "lines" | "verdicts">>,
): Promise<void> {
	await db
		.updateTable("import_batches")
		.set(change)
		.where("job_id", "=", jobId)
		.where("seq", "=", seq)
		.execute();
}

/** Whose lines are to go: discarded, broken off while they were stored, ended long ago, or left for as long. */
export async function findImportToClear(
	db: Db,
	nowMs: number,
	endedBeforeMs: number,
): Promise<ImportJob | undefined> {
	return db
		.selectFrom("import_jobs")
		.selectAll()
		.where((eb) =>
			eb.or([
				eb("lines", "=", "going"),
				eb("state", "=", "discarded"),
				eb.and([eb("lines", "=", "kept"), eb("state", "=", "storing"), eb("claim_until_ms", "<", nowMs)]),
				eb.and([
					eb("lines", "=", "kept"),
					eb("state", "=", "previewed"),
					eb("created_at_ms", "<", endedBeforeMs),
				]),
				eb.and([
					eb("lines", "=", "kept"),
					eb("state", "in", ["done", "stopped"]),
					eb("finished_at_ms", "<", endedBeforeMs),
				]),
			]),
		)
		.orderBy("id")
		.limit(1)
		.executeTakeFirst();
}

export async function noteLinesGone(db: Db, id: number): Promise<void> {
	await db.updateTable("import_jobs").set({ lines: "gone" }).where("id", "=", id).execute();
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
			.deleteFrom("import_batches")
			.where("job_id", "=", jobId)
			.where("seq", "in", (eb) =>
				eb
					.selectFrom("import_batches")
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

export async function deleteImport(db: Db, id: number): Promise<void> {
	await db.deleteFrom("import_jobs").where("id", "=", id).execute();
}

/** What is left of them once their lines have gone: a small row each. */
export async function pruneImports(db: Db, olderThanMs: number): Promise<void> {
	await db
		.deleteFrom("import_jobs")
		.where("lines", "=", "gone")
		.where("created_at_ms", "<", olderThanMs)
		.execute();
}
