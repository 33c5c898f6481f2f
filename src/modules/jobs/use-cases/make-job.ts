// Creates a job from a file, or from all conversions that match the filters of a list. Nothing else is
// changed yet. The lines are stored in batches, and the job becomes visible with the last batch.

import { type DecisionMove, judgeDecision, type Side } from "#core/conversions/decide.ts";
import { BATCH_ROWS, type ConversionsDeps } from "#core/conversions/deps.ts";
import { groupDigits, MEGABYTE } from "#core/domain/bytes.ts";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { MINUTE_MS } from "#core/domain/time.ts";
import { type Actor, personIdOf, type SignedInPerson, transactAs } from "#core/people/actor.ts";
import { type ConversionFilter, readAllConversions } from "#core/store/queries/conversion-list.ts";
import type { Db } from "#core/store/store.ts";
import {
	changeBatch,
	deleteJob,
	findBatch,
	insertBatch,
	insertJob,
	type Job,
	type JobChange,
	moveJob,
	removeLines,
	sumUnfinishedJobs,
} from "../store/jobs.ts";
import { DECISIONS } from "./decisions.ts";
import { type JobFile, readRows } from "./file.ts";
import { jobPermission, noteJob } from "./job.ts";
import type { JobKind, JobRow, JobScope } from "./kind.ts";
import { createSeenLines, readLines, type SeenLines, writeLines } from "./lines.ts";

type MakingDeps = Pick<ConversionsDeps, "store" | "clock" | "random">;

/**
 * Maximum number of jobs that wait to be applied or discarded. It is counted for each programme, and for all
 * imports together. The lines of these jobs stay in the database for days.
 */
export const MAX_WAITING_FILES = 50;
export const MAX_WAITING_MEGABYTES = 200;
/**
 * Maximum number of lines for the command line. Comparing this many lines takes about a gigabyte of memory.
 */
const MAX_COMMAND_ROWS = 10_000_000;

/**
 * Time without a new batch after which an upload counts as interrupted, because its process died. Storing a
 * batch, or comparing all lines of the largest file, takes much less time.
 */
const UPLOAD_CLAIM_MS = 5 * MINUTE_MS;

/** The columns that differ between new jobs, by the way in which a job starts. */
type JobStart = Pick<Job, "state" | "row_count" | "claim_until_ms">;

export interface NewJob extends JobScope {
	kind: JobKind;
	/** The party that creates the job. The limit on waiting jobs does not apply to the command line. */
	actor: Actor;
	file: Pick<JobFile, "name" | "bytes"> | null;
	listQuery: string | null;
	/** Checks whether the job may be created, in the transaction that creates it. */
	check?: (trx: Db) => Promise<Result<unknown>>;
}

/** Passes all rows to `take` in batches. Returns a refusal if the file as a whole is not valid. */
type Feed = (take: (rows: readonly JobRow[]) => Promise<Result<unknown>>) => Promise<Result<unknown>>;

/**
 * Creates a job from a file, which is read once, as a stream. A refused or interrupted upload leaves nothing
 * behind.
 */
export function uploadFile(
	deps: MakingDeps,
	kind: JobKind,
	{ actor, deciding = null }: { actor: Actor } & Partial<JobScope>,
	file: JobFile,
): Promise<Result<Job>> {
	const yieldLoop = () => deps.clock.yieldLoop();
	return makeJob(deps, { kind, actor, deciding, file, listQuery: null }, (take) =>
		readRows(file, kind, { take, yieldLoop }),
	);
}

/** Creates a job from all conversions that match the filters now. Later conversions are not included. */
export async function decideMatching(
	deps: MakingDeps,
	actor: SignedInPerson,
	deciding: { programmeId: number; side: Side },
	asked: { move: DecisionMove; reason: string; listQuery: string; filter: ConversionFilter },
): Promise<Result<Job>> {
	const { move, reason, listQuery, filter } = asked;
	const decision = judgeDecision(deciding.side, move, reason);
	if (!decision.ok) return decision;
	return makeJob(deps, { kind: DECISIONS, actor, deciding, file: null, listQuery }, async (take) => {
		const inProgramme = { ...filter, programmeId: deciding.programmeId };
		let line = 0;
		for await (const batch of readAllConversions(deps.store.db, inProgramme, BATCH_ROWS)) {
			const rows = batch.map(({ public_id: conversionId, order_id: orderId, event_type: eventType }) => {
				line += 1;
				const says = { decision: move, reason: move === "approve" ? "" : reason };
				return { line, cells: { conversionId, orderId, eventType, ...says } };
			});
			const accepted = await take(rows);
			if (!accepted.ok) return accepted;
			await deps.clock.yieldLoop();
		}
		return succeed(line);
	});
}

/** Creates a job whose lines come from `feed`. */
async function makeJob(deps: MakingDeps, newJob: NewJob, feed: Feed): Promise<Result<Job>> {
	const { store, clock } = deps;
	// No page shows the job until its last line is stored.
	const opened = await openJob(deps, newJob, {
		state: "storing",
		row_count: 0,
		claim_until_ms: clock.nowMs() + UPLOAD_CLAIM_MS,
	});
	if (!opened.ok) return opened;
	const job = opened.value;
	try {
		const stored = await storeLines(deps, newJob, feed, job);
		if (!stored.ok) {
			await removeLines(store, clock, job.id, () => false);
			await deleteJob(store.db, job.id);
		}
		return stored;
	} catch (error) {
		// The failed job no longer counts towards the limits, and its lines are removed. If the database is
		// unavailable, both happen when the job's claim expires.
		const change = { state: "discarded", claim_until_ms: 0 } as const;
		await moveJob(store.db, job.id, ["storing"], change).catch(() => undefined);
		throw error;
	}
}

async function storeLines(deps: MakingDeps, newJob: NewJob, feed: Feed, job: Job): Promise<Result<Job>> {
	const { store, clock } = deps;
	const { kind, actor } = newJob;
	const maxRows = actor.kind === "command line" ? MAX_COMMAND_ROWS : kind.maxRows;
	const seen = createSeenLines(kind);
	let rowCount = 0;
	let batches = 0;
	const fed = await feed(async (read) => {
		const rows = kind.prepare === undefined ? read : await kind.prepare(store.db, newJob, read);
		rowCount += rows.length;
		if (rowCount > maxRows) return refuseTooMany(newJob, maxRows);
		seen.note(rows);
		await store.transact(async (trx) => {
			// The job's row is updated first, because this locks it. No line can then be stored for a job that is
			// being cleared.
			await hold(trx, job, { claim_until_ms: clock.nowMs() + UPLOAD_CLAIM_MS });
			for (let at = 0; at < rows.length; at += job.batch_rows) {
				batches += 1;
				const batch = rows.slice(at, at + job.batch_rows).map((row) => ({ ...row, settled: null }));
				await insertBatch(trx, {
					job_id: job.id,
					seq: batches,
					lines: writeLines(kind, batch),
					verdicts: null,
				});
			}
		});
		return succeed(null);
	});
	if (!fed.ok) return fed;
	if (rowCount === 0) return refuseNothing(newJob);
	if (seen.hasRepeats) await settleStored(deps, kind, job, seen);
	const change = { state: "uploaded", row_count: rowCount, claim_until_ms: 0 } as const;
	const uploaded = { ...job, ...change };
	await store.transact(async (trx) => {
		await hold(trx, job, change);
		await noteJob(trx, uploaded, "prepared", { personId: job.person_id, nowMs: clock.nowMs() });
	});
	return succeed(uploaded);
}

function refuseTooMany({ file }: NewJob, maxRows: number): ReturnType<typeof refuse> {
	const most = groupDigits(maxRows);
	return file === null
		? refuse(
				"too_many_rows",
				`More than ${most} conversions match. Set dates or other filters, and decide in parts.`,
			)
		: refuse("too_many_rows", `The file has more than ${most} rows. Split it into parts.`, "file");
}

function refuseNothing({ file }: NewJob): ReturnType<typeof refuse> {
	return file === null
		? refuse("nothing_selected", "Nothing is selected. Select conversions first, then choose what to do.")
		: refuse(
				"malformed_file",
				"No line has a decision. Write approve, reject, reverse or refund into the column decision, and upload the file again.",
				"file",
			);
}

/** Updates the job's row. Throws if the upload counted as interrupted and was cleared. */
async function hold(trx: Db, job: Job, change: JobChange): Promise<void> {
	if (await moveJob(trx, job.id, ["storing"], change)) return;
	throw new Error("an upload was cleared before its last line was stored");
}

/** Marks the stored lines that contradict each other. This is possible only after all lines are stored. */
async function settleStored(
	{ store, clock }: MakingDeps,
	kind: JobKind,
	job: Job,
	seen: SeenLines,
): Promise<void> {
	for (let seq = 1; ; seq++) {
		const batch = await findBatch(store.db, job.id, seq);
		if (batch === undefined) return;
		const rows = seen.settle(readLines(batch.lines));
		if (rows.some(({ settled }) => settled !== null)) {
			await changeBatch(store.db, job.id, seq, { lines: writeLines(kind, rows) });
		}
		await clock.yieldLoop();
	}
}

/**
 * Creates a job without lines, and runs `afterwards` in the same transaction. A lock ensures that jobs that are created
 * at the same time respect the limits and the result of `check`.
 */
export function openJob(
	{ store, clock, random }: MakingDeps,
	{ kind, actor, deciding, file, listQuery, check }: NewJob,
	start: JobStart,
	afterwards: (trx: Db, job: Job) => Promise<void> = async () => undefined,
): Promise<Result<Job>> {
	const programmeId = deciding?.programmeId ?? null;
	return transactAs(store, actor, jobPermission(programmeId), async (trx) => {
		const room =
			actor.kind === "command line" ? succeed(true) : await judgeRoom(trx, programmeId, file?.bytes ?? 0);
		if (!room.ok) return room;
		const checked = await check?.(trx);
		if (checked?.ok === false) return checked;
		const nowMs = clock.nowMs();
		const job = await insertJob(trx, {
			public_id: makeId("job", nowMs, random.bytes(ID_RANDOM_BYTES)),
			kind: kind.name,
			programme_id: programmeId,
			decided_by: deciding?.side ?? null,
			file_name: file?.name ?? null,
			list_query: listQuery,
			file_bytes: file?.bytes ?? 0,
			person_id: personIdOf(actor),
			invites: 0,
			done_rows: 0,
			done_batches: 0,
			batch_rows: (store.kind === "sqlite" ? kind.batchRowsOnSqlite : undefined) ?? kind.batchRows,
			lines: "kept",
			created_at_ms: nowMs,
			...start,
		});
		await afterwards(trx, job);
		return succeed(job);
	});
}

async function judgeRoom(trx: Db, programmeId: number | null, fileBytes: number): Promise<Result<true>> {
	const { files, bytes } = await sumUnfinishedJobs(trx, programmeId);
	if (files < MAX_WAITING_FILES && bytes + fileBytes <= MAX_WAITING_MEGABYTES * MEGABYTE)
		return succeed(true);
	const megabytes = Math.ceil(bytes / MEGABYTE);
	const waiting = `${files === 1 ? "1 file waits" : `${files} files wait`} to be applied or discarded, ${megabytes} MB in all`;
	const shell = programmeId === null ? ", or import it from a shell with ringback import" : "";
	const detail = `There is no room for this file: ${waiting}. The limit is ${MAX_WAITING_FILES} files and ${MAX_WAITING_MEGABYTES} MB in total. Apply or discard some of those listed below, then upload it again${shell}.`;
	return refuse("too_many_uploads", detail, "file");
}
