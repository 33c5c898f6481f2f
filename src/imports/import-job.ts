// A file that staff upload becomes a stored job: nothing is brought in yet. Its lines go in by batches, and only the last
// one makes the job visible. Then somebody looks at the preview and has it brought in, stopped, or discarded.

import { MAX_SHEET_LINES } from "../conversions/csv-lines.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { type AuditNote, noteAudit } from "../store/audit.ts";
import {
	deleteImport,
	findBatch,
	findImport,
	type ImportJob,
	insertBatch,
	insertImport,
	moveImport,
	removeLines,
	rewriteLines,
} from "../store/import-jobs.ts";
import type { Db } from "../store/store.ts";
import { batchesOf, noteRows, settleRows } from "./import-batch.ts";
import { type ImportFile, readImportRows } from "./import-file.ts";
import type { ImportDeps, ImportKind, ImportRow } from "./import-kind.ts";
import { importKind } from "./import-kinds.ts";
import { createSeenLines, type SeenLines } from "./seen-lines.ts";
import { readLines, writeLines } from "./stored-lines.ts";

/** Some 40 MB are held of so many while the file is read through: which lines are about the same thing. */
export const MAX_UPLOADED_ROWS = 500_000;

export type ImportJobDeps = Pick<ImportDeps, "store" | "clock" | "random">;

export interface UploadedImport extends ImportFile {
	/** As it is called where it came from. */
	name: string;
}

/** The file is read once, and never held. What is refused leaves nothing behind. */
export async function uploadImport(
	deps: ImportJobDeps,
	kind: ImportKind,
	personId: number,
	file: UploadedImport,
): Promise<Result<ImportJob>> {
	const { store, clock } = deps;
	const job = await openJob(deps, kind, personId, file.name);
	const seen = createSeenLines();
	let batches = 0;
	const take = async (rows: readonly ImportRow[]) => {
		noteRows(kind, seen, rows);
		await store.transact(async (trx) => {
			for (const batch of batchesOf(kind, rows)) {
				batches += 1;
				const lines = writeLines(
					kind,
					batch.map((row) => ({ ...row, settled: null })),
				);
				await insertBatch(trx, { job_id: job.id, seq: batches, lines, verdicts: null });
			}
		});
	};
	const yieldLoop = () => clock.yieldLoop();
	const bounds = { maxRows: MAX_UPLOADED_ROWS, maxLines: MAX_SHEET_LINES };
	const read = await readImportRows(file, kind, { take, ...bounds, yieldLoop });
	if (!read.ok) {
		await removeLines(store, clock, job.id, () => false);
		await deleteImport(store.db, job.id);
		return read;
	}
	if (seen.hasOthers) await settleStored(deps, kind, job, seen);
	const uploaded = { state: "uploaded", row_count: read.value } as const;
	const isStored = await store.transact(async (trx) => {
		if (!(await moveImport(trx, job.id, ["storing"], uploaded))) return false;
		await noteJob(trx, { ...job, ...uploaded }, { personId, action: "import.prepared" }, clock.nowMs());
		return true;
	});
	if (!isStored) {
		// Taken for broken off, and cleared: what was stored after that has nobody else to remove it.
		await removeLines(store, clock, job.id, () => false);
		throw new Error("an upload was cleared before its last line was stored");
	}
	return succeed({ ...job, ...uploaded });
}

/** Only when all lines are there is it known which of them are about the same thing. */
async function settleStored(
	{ store, clock }: ImportJobDeps,
	kind: ImportKind,
	job: ImportJob,
	seen: SeenLines,
): Promise<void> {
	for (let seq = 1; ; seq++) {
		const batch = await findBatch(store.db, job.id, seq);
		if (batch === undefined) return;
		const rows = settleRows(kind, seen, readLines(batch.lines));
		if (rows.some(({ settled }) => settled !== null)) {
			await rewriteLines(store.db, job.id, seq, writeLines(kind, rows));
		}
		await clock.yieldLoop();
	}
}

/** Nobody sees it before its last line is stored. */
function openJob(
	{ store, clock, random }: ImportJobDeps,
	kind: ImportKind,
	personId: number,
	fileName: string,
): Promise<ImportJob> {
	const nowMs = clock.nowMs();
	return insertImport(store.db, {
		public_id: makeId("imp", nowMs, random.bytes(ID_RANDOM_BYTES)),
		kind: kind.name,
		file_name: fileName,
		person_id: personId,
		state: "storing",
		invites: 0,
		row_count: 0,
		done_rows: 0,
		done_batches: 0,
		lines: "kept",
		claim_until_ms: 0,
		created_at_ms: nowMs,
	});
}

type JobNote = Pick<AuditNote, "personId" | "action"> & { detail?: string };

/** By the name of its file, as the command notes it. */
export function noteJob(trx: Db, job: ImportJob, note: JobNote, nowMs: number): Promise<void> {
	const detail = `${job.row_count} ${importKind(job.kind).noun[1]}`;
	return noteAudit(trx, { detail, ...note, subject: job.file_name }, nowMs);
}

/** Pressed twice, or by two people, it is brought in once. One that was stopped goes on where it was. */
export async function startImport(
	{ store, clock }: ImportJobDeps,
	job: ImportJob,
	personId: number,
	invites: boolean,
): Promise<Result<"started" | "already">> {
	const present = judgeStart(job);
	if (present !== null) return present;
	const nowMs = clock.nowMs();
	const begun = { state: "applying", applied_by: personId, claim_until_ms: 0, finished_at_ms: null } as const;
	const anew = {
		done_rows: 0,
		done_batches: 0,
		summary: null,
		applied_at_ms: nowMs,
		invites: invites ? 1 : 0,
	};
	return store.transact(async (trx) => {
		const change = job.state === "stopped" ? begun : { ...begun, ...anew };
		if (!(await moveImport(trx, job.id, [job.state], change))) {
			const found = judgeStart(await findImport(trx, job.public_id));
			return (
				found ??
				refuse("job_not_ready", "Somebody else has stopped this import. Look at it, then go on with it.")
			);
		}
		const detail =
			job.state === "stopped" ? `goes on behind line ${job.done_rows} of ${job.row_count}` : null;
		const note = { personId, action: "import.started" } as const;
		await noteJob(trx, job, detail === null ? note : { ...note, detail }, nowMs);
		return succeed("started");
	});
}

/** Null when it can be started, or gone on with. */
function judgeStart(job: ImportJob | undefined): Result<"already"> | null {
	if (job === undefined) {
		return refuse("job_not_ready", "This file was discarded, and nothing was imported. Upload it again.");
	}
	if (job.state === "applying" || job.state === "done") return succeed("already");
	if (job.state === "uploaded") {
		return refuse("job_not_ready", "The file is still being checked. Wait for the preview, then import it.");
	}
	if (job.lines === "kept") return null;
	return refuse(
		"job_not_ready",
		"The lines of a file are kept for a day, and these were removed. Upload it again.",
	);
}

/** What has come in by then stays. */
export function stopImport(
	{ store, clock }: Pick<ImportJobDeps, "store" | "clock">,
	job: ImportJob,
	personId: number,
): Promise<Result<"stopped">> {
	return store.transact((trx) => stopInTransaction(trx, job, { personId }, clock.nowMs()));
}

export async function stopInTransaction(
	trx: Db,
	job: ImportJob,
	{ personId, detail }: { personId: number | null; detail?: string },
	nowMs: number,
): Promise<Result<"stopped">> {
	const change = { state: "stopped", claim: null, claim_until_ms: 0, finished_at_ms: nowMs } as const;
	if (!(await moveImport(trx, job.id, ["applying"], change))) {
		return refuse("job_not_ready", "Only an import that is under way can be stopped.");
	}
	const note = { personId, action: "import.stopped" } as const;
	await noteJob(trx, job, detail === undefined ? note : { ...note, detail }, nowMs);
	return succeed("stopped");
}

/** Only before anything was brought in: afterwards it is the record of what was done. */
export function discardImport(
	{ store, clock }: Pick<ImportJobDeps, "store" | "clock">,
	job: ImportJob,
	/** Null: left for a day. */
	personId: number | null,
): Promise<Result<"discarded">> {
	return store.transact(async (trx) => {
		const change = { state: "discarded", claim: null, claim_until_ms: 0 } as const;
		if (!(await moveImport(trx, job.id, ["uploaded", "previewed"], change))) {
			return refuse("job_not_ready", "Only a file of which nothing was imported can be discarded.");
		}
		const note = { personId, action: "import.discarded" } as const;
		const detail = personId === null ? "not imported within a day" : undefined;
		await noteJob(trx, job, detail === undefined ? note : { ...note, detail }, clock.nowMs());
		return succeed("discarded");
	});
}
