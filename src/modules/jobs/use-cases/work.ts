// Works on jobs. One transaction stores the changes of a batch, the verdicts on its lines and the progress of
// the job, so a job continues after a crash and no line counts twice. If a process dies, another one takes
// over the job when its claim has expired (claim.ts).

import type { ConversionsDeps } from "#core/conversions/deps.ts";
import { DAY_MS, SECOND_MS } from "#core/domain/time.ts";
import { SERVICE } from "#core/people/actor.ts";
import type { InvitationsDeps } from "#core/people/invitations.ts";
import { repeatConflicts } from "#core/store/conflict.ts";
import { NOTHING_OWED, type Owed } from "#core/store/queries/queue.ts";
import { lockAccess } from "#core/store/queries/sign-in-links.ts";
import type { Db } from "#core/store/store.ts";
import type { StatementsDeps } from "#modules/accounts/use-cases/deps.ts";
import {
	advanceJob,
	changeBatch,
	deleteJob,
	findBatch,
	findJob,
	findJobToClear,
	hasUnclaimedJob,
	type Job,
	markLinesGone,
	moveJob,
	removeLines,
} from "../store/jobs.ts";
import { CLAIM_MS, claim, keepClaimDuring, RETRY_MS } from "./claim.ts";
import { discardJob, noteJob } from "./job.ts";
import type { Cells, EarlierLines, JobKind, JobRow, JobScope, RowVerdict } from "./kind.ts";
import { JOB_KINDS } from "./kinds.ts";
import {
	appendLines,
	type BatchFailure,
	failureOf,
	type JudgedRow,
	judgedRowsOf,
	readLines,
	readVerdicts,
	type SettledRow,
	writeVerdicts,
} from "./lines.ts";
import { addToSummary, type JobSummary, parseSummary } from "./summary.ts";

export type JobWorkDeps = InvitationsDeps & StatementsDeps & ConversionsDeps;

/** Minimum time between two searches for lines of jobs that are no longer needed. */
const CLEARED_EVERY_MS = 10 * SECOND_MS;

/** Time for which a process works on a job before it turns to another one that waits. */
const TURN_MS = SECOND_MS;

/**
 * Time for which lines are stored while they wait for a person to read the preview, and after the job has
 * ended. It is longer than a weekend.
 */
const LINES_KEPT_MS = 3 * DAY_MS;

/**
 * Minimum pause after a batch on SQLite. A call that arrived during the batch is stored in this time, so that it does
 * not also wait for the next batch.
 */
const SHORTEST_REST_MS = 10;
/** Maximum pause after a batch, even if the batch took very long or the clock was changed. */
const LONGEST_REST_MS = 500;

/**
 * Returns the work of the chore for jobs. It runs in every process, so that any of them can continue a job whose process
 * ended.
 */
export function createJobWork(deps: JobWorkDeps): (isStopping: () => boolean) => Promise<void> {
	const { clock } = deps;
	let clearsAtMs = Number.NEGATIVE_INFINITY;
	return async (isStopping) => {
		if (clock.nowMs() < clearsAtMs && !(await isJobWaiting(deps))) return;
		await workOffJobs(deps, isStopping);
		clearsAtMs = clock.nowMs() + CLEARED_EVERY_MS;
	};
}

/** Returns whether a job waits for a process. Processes ask this once a second. */
function isJobWaiting({ store, clock }: Pick<JobWorkDeps, "store" | "clock">): Promise<boolean> {
	return hasUnclaimedJob(store.db, clock.nowMs());
}

/**
 * Works on jobs until there is no more work for this process, or until the service stops. If several jobs wait, they
 * take turns, so that a long one does not hold up the job of a process that died.
 */
export async function workOffJobs(deps: JobWorkDeps, isStopping: () => boolean): Promise<void> {
	const earlierOf = new Map<number, Earlier>();
	while (!isStopping()) {
		const job = await claim(deps);
		if (job === undefined) break;
		const earlier = earlierOf.getOrInsertComputed(job.id, () => createEarlier(deps, job));
		let turnEndsMs = deps.clock.nowMs() + TURN_MS;
		const mustRelease = async (): Promise<boolean> => {
			if (isStopping()) return true;
			if (deps.clock.nowMs() < turnEndsMs) return false;
			turnEndsMs = deps.clock.nowMs() + TURN_MS;
			return isJobWaiting(deps);
		};
		const afterBatch = (_: Job, sinceMs: number) => rest(deps, sinceMs);
		if (await workOff(deps, job, { earlier, mustRelease, afterBatch })) earlierOf.delete(job.id);
	}
	await clearOld(deps, isStopping);
}

/** Interval at which the command line checks a job that another process works on. */
const LOOK_MS = SECOND_MS;

/**
 * Waits until a job has finished, in whichever process it runs. Returns undefined if it was discarded. The
 * command line uses it.
 */
export async function finishJob(
	deps: JobWorkDeps,
	{ id, programme_id: programmeId, public_id: publicId }: Job,
	tell: (job: Job) => void,
): Promise<Job | undefined> {
	for (;;) {
		const claimed = await claim(deps, id);
		if (claimed !== undefined) {
			await workOff(deps, claimed, {
				earlier: createEarlier(deps, claimed),
				mustRelease: async () => false,
				afterBatch: async (job) => tell(job),
			});
		}
		const job = await findJob(deps.store.db, programmeId, publicId);
		if (job === undefined || !hasWork(job)) return job;
		tell(job);
		await new Promise<void>((resolve) => deps.clock.after(LOOK_MS, resolve));
	}
}

export function hasWork({ state }: Job): boolean {
	return state === "preparing" || state === "uploaded" || state === "applying";
}

interface Turn {
	earlier: Earlier;
	/** Returns whether the job must be left to another process, or to a later turn. */
	mustRelease(): Promise<boolean>;
	afterBatch(job: Job, sinceMs: number): Promise<void>;
}

/** Works on a job until it has no more work or must be released. Returns false if it was released. */
async function workOff(
	deps: JobWorkDeps,
	claimed: Job,
	{ earlier, mustRelease, afterBatch }: Turn,
): Promise<boolean> {
	const { store, clock } = deps;
	let job: Job | undefined = claimed;
	while (job !== undefined && hasWork(job)) {
		if (await mustRelease()) {
			// The claim ends now, so that the next process need not wait until it expires. The job becomes the last
			// in the queue.
			await advanceJob(store.db, job, { claim_until_ms: clock.nowMs() });
			return false;
		}
		const sinceMs = clock.nowMs();
		const present: Job = job;
		job = await keepClaimDuring(deps, present, () =>
			present.state === "preparing" ? prepareBatch(deps, present) : workOnBatch(deps, present, earlier),
		);
		if (job !== undefined) await afterBatch(job, sinceMs);
		await clock.yieldLoop();
	}
	return true;
}

/** Pauses for as long as the batch took, so that requests and callbacks get at least half of the time. */
async function rest({ store, clock }: JobWorkDeps, sinceMs: number): Promise<void> {
	const tookMs = Math.min(clock.nowMs() - sinceMs, LONGEST_REST_MS);
	const restMs = store.kind === "sqlite" ? Math.max(tookMs, SHORTEST_REST_MS) : tookMs;
	if (tookMs > 0) await new Promise<void>((resolve) => clock.after(restMs, resolve));
}

interface Batch {
	seq: number;
	kind: JobKind;
	rows: readonly SettledRow[];
	/** Verdicts of the preview. The list is empty before the preview. */
	promised: readonly RowVerdict[];
	isLast: boolean;
}

/**
 * Finds and stores the next lines of a job whose lines come from the database, together with their verdicts. Returns
 * undefined, without having written anything, if the claim has expired or was taken away.
 */
async function prepareBatch(deps: JobWorkDeps, job: Job): Promise<Job | undefined> {
	const { store, clock } = deps;
	const kind = JOB_KINDS[job.kind];
	if (kind.collect === undefined) throw new Error(`a job of ${job.kind} has nothing to prepare`);
	const nowMs = clock.nowMs();
	try {
		const collected = await kind.collect(store.reader, job, nowMs);
		const before = parseSummary(job.summary).rows;
		const rows = collected.lines.map((cells, index) => ({ line: before + index + 1, cells }));
		const judged = await judgeOpen(
			rows,
			rows.map(() => null),
			(open) => kind.judge(store.db, scopeOf(job), open, nowMs, NO_EARLIER),
		);
		const summary = summaryWith(job, judged);
		const change = {
			done_rows: job.done_rows + collected.read,
			done_batches: Math.ceil(summary.rows / job.batch_rows),
			prepared_to: collected.preparedTo,
			summary: JSON.stringify(summary),
			failure: null,
			claim_until_ms: clock.nowMs() + CLAIM_MS,
		};
		return await store.transact(async (trx) => {
			// The job's row is updated first, because this locks it, as in applyBatch.
			const advanced = await advanceJob(trx, job, change);
			if (advanced === undefined) return undefined;
			await appendLines(trx, kind, job, before, judged);
			return collected.isLast ? endPreparation(trx, advanced, summary.rows, clock.nowMs()) : advanced;
		});
	} catch (error) {
		await storeFailure(deps, job, failureOf(error, [], clock.nowMs()));
		throw error;
	}
}

/** Ends the preparation of a job. If it found nothing, nobody has to decide anything, and the job is done. */
function endPreparation(trx: Db, job: Job, rows: number, nowMs: number): Promise<Job | undefined> {
	const end = rows > 0 ? { state: "previewed" as const } : { state: "done" as const, finished_at_ms: nowMs };
	return advanceJob(trx, job, { ...end, row_count: rows, done_rows: rows, claim_until_ms: 0 });
}

/**
 * Works on the next batch. Returns undefined, without having written anything, if the claim has expired or
 * was taken away.
 */
async function workOnBatch(deps: JobWorkDeps, job: Job, earlier: Earlier): Promise<Job | undefined> {
	const { store, clock } = deps;
	const seq = job.done_batches + 1;
	const stored = await findBatch(store.db, job.id, seq);
	// The job was discarded meanwhile.
	if (stored === undefined) return undefined;
	const rows = readLines(stored.lines);
	const promised = job.state === "uploaded" ? [] : readVerdicts(stored.verdicts);
	const isLast = job.done_rows + rows.length >= job.row_count;
	const batch = { seq, rows, promised, isLast, kind: JOB_KINDS[job.kind] };
	try {
		return await (job.state === "uploaded"
			? previewBatch(deps, job, batch, earlier)
			: applyBatch(deps, job, batch));
	} catch (error) {
		await storeFailure(deps, job, failureOf(error, rows, clock.nowMs()));
		throw error;
	}
}

/**
 * Stores the failure for the job's page, and the time of the next try. The chore logs the error. If the note cannot be
 * stored, for the same reason as the batch, the batch is tried again when the claim has expired.
 */
async function storeFailure({ store }: JobWorkDeps, job: Job, failure: BatchFailure): Promise<void> {
	const change = {
		failure: JSON.stringify(failure),
		claim_until_ms: failure.atMs + RETRY_MS[failure.cause],
	};
	await advanceJob(store.db, job, change).catch(() => undefined);
}

function scopeOf({ programme_id: programmeId, decided_by: side }: Job): JobScope {
	return { deciding: programmeId === null || side === null ? null : { programmeId, side } };
}

async function previewBatch(
	{ store, clock }: JobWorkDeps,
	job: Job,
	batch: Batch,
	earlier: Earlier,
): Promise<Job | undefined> {
	const settled = batch.rows.map((row) => row.settled);
	const earlierLines = await earlier.readTo(batch.seq);
	const judged = await judgeOpen(batch.rows, settled, (open) =>
		batch.kind.judge(store.db, scopeOf(job), open, clock.nowMs(), earlierLines),
	);
	const previewed = await store.transact(async (trx) => {
		const change = progressOf(job, batch, summaryWith(job, judged), clock.nowMs());
		const advanced = await advanceJob(trx, job, batch.isLast ? { ...change, state: "previewed" } : change);
		if (advanced !== undefined)
			await changeBatch(trx, job.id, batch.seq, { verdicts: writeVerdicts(judged) });
		return advanced;
	});
	if (previewed !== undefined) earlier.add(batch.seq, judged);
	return previewed;
}

const NO_EARLIER: EarlierLines = new Map();

/**
 * Changing lines of the batches that the preview has judged so far. They are in memory, because a file of decisions has at
 * most 40,000 lines.
 */
interface Earlier {
	/**
	 * Returns the changing lines of all batches before batch `seq`. Lines that another process has judged are
	 * read from the database first.
	 */
	readTo(seq: number): Promise<EarlierLines>;
	/** Adds the changing lines of a batch after the batch was stored. */
	add(seq: number, judged: readonly JudgedRow[]): void;
}

function createEarlier({ store }: Pick<JobWorkDeps, "store">, { id, kind }: Job): Earlier {
	const { thingOf } = JOB_KINDS[kind];
	const lines = new Map<string, Cells[]>();
	let known = 0;
	function add(seq: number, judged: readonly JudgedRow[]): void {
		known = seq;
		for (const { cells, verdict } of judged) {
			const thing = verdict.kind === "change" ? thingOf?.(cells) : null;
			if (thing === null || thing === undefined) continue;
			const others = lines.get(thing);
			if (others === undefined) lines.set(thing, [cells]);
			else others.push(cells);
		}
	}
	return {
		add,
		async readTo(seq) {
			while (thingOf !== undefined && known < seq - 1) {
				const batch = await findBatch(store.db, id, known + 1);
				// The job was discarded meanwhile, so nobody needs its preview.
				if (batch === undefined) return NO_EARLIER;
				add(known + 1, judgedRowsOf(batch));
			}
			return lines;
		},
	};
}

async function applyBatch(deps: JobWorkDeps, job: Job, batch: Batch): Promise<Job | undefined> {
	const { store, clock, mails, publicUrl } = deps;
	const inviting = job.invites === 1 ? { mails, publicUrl } : null;
	let owed: Owed = NOTHING_OWED;
	const owe = (batchOwes: Owed) => {
		owed = batchOwes;
	};
	const applyDeps = { ...deps, ...scopeOf(job), jobId: job.id, personId: job.applied_by, inviting, owe };
	// Lines that the preview refused stay refused even if they are possible now, because nobody has agreed to
	// apply them.
	const left = batch.promised.map((verdict) => (verdict.kind === "change" ? null : verdict));
	const apply = async (trx: Db): Promise<Job | undefined> => {
		if (batch.kind.makesPeople) await lockAccess(trx);
		// The job's row is updated first, because this locks it. A process changes nothing more if its claim has
		// expired, or was taken away because the person lost access.
		const held = await advanceJob(trx, job, { claim_until_ms: clock.nowMs() + CLAIM_MS });
		if (held === undefined) return undefined;
		const judged = await judgeOpen(batch.rows, left, (open) => batch.kind.apply(trx, applyDeps, open));
		await changeBatch(trx, job.id, batch.seq, { verdicts: writeVerdicts(judged) });
		return advanceApplied(trx, job, batch, summaryWith(job, judged), clock.nowMs());
	};
	const done = await repeatConflicts(clock, () => store.transact(apply));
	if (done !== undefined) store.announceDue(owed);
	mails.wake();
	return done;
}

async function advanceApplied(
	trx: Db,
	job: Job,
	batch: Batch,
	summary: JobSummary,
	nowMs: number,
): Promise<Job | undefined> {
	const change = progressOf(job, batch, summary, nowMs);
	if (!batch.isLast) return advanceJob(trx, job, change);
	const { counts } = summary;
	const [, word] = batch.kind.resultWords.change;
	const changed = `${job.programme_id === null ? `${job.kind}: ` : ""}${counts.change} ${word}`;
	const detail = `${changed}, ${counts.already} already there, ${counts.refused} need fixing`;
	await noteJob(trx, job, "finished", { personId: job.applied_by, detail, nowMs });
	return advanceJob(trx, job, { ...change, state: "done", finished_at_ms: nowMs });
}

/** Judges the lines that have no verdict yet. */
async function judgeOpen(
	rows: readonly JobRow[],
	settled: readonly (RowVerdict | null)[],
	judge: (rows: readonly JobRow[]) => Promise<RowVerdict[]>,
): Promise<JudgedRow[]> {
	const open = rows.filter((_, index) => settled[index] === null);
	const verdicts = (open.length === 0 ? [] : await judge(open)).values();
	return rows.map(({ line, cells }, index) => {
		const verdict = settled[index] ?? verdicts.next().value;
		if (verdict === undefined) throw new Error("a line came back without its verdict");
		return { line, cells, verdict };
	});
}

function summaryWith(job: Job, judged: readonly JudgedRow[]): JobSummary {
	const summary = parseSummary(job.summary);
	addToSummary(summary, judged);
	return summary;
}

function progressOf(job: Job, { seq, rows, isLast }: Batch, summary: JobSummary, nowMs: number) {
	return {
		done_batches: seq,
		done_rows: job.done_rows + rows.length,
		summary: JSON.stringify(summary),
		failure: null,
		claim_until_ms: isLast ? 0 : nowMs + CLAIM_MS,
	};
}

/** Removes lines that are no longer needed, because they contain personal names and amounts. */
async function clearOld(deps: JobWorkDeps, isStopping: () => boolean): Promise<void> {
	const { store, clock } = deps;
	while (!isStopping()) {
		const nowMs = clock.nowMs();
		const job = await findJobToClear(store.db, nowMs, nowMs - LINES_KEPT_MS);
		if (job === undefined) return;
		if (job.state === "previewed") {
			await discardJob(deps, job, SERVICE, "not applied within three days");
			continue;
		}
		// A person may continue the job at the same moment. Either that happens first and this update changes
		// nothing, or it is refused.
		if (job.lines === "kept" && !(await moveJob(store.db, job.id, [job.state], { lines: "going" }))) continue;
		if (!(await removeLines(store, clock, job.id, isStopping))) return;
		if (job.state === "done" || job.state === "stopped") await markLinesGone(store.db, job.id);
		else await deleteJob(store.db, job.id);
	}
}
