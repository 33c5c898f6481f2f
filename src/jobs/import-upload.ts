// A file that staff upload becomes a stored job: nothing is brought in yet. Its lines go in by batches, and only the last
// one makes the job visible.

import { MEGABYTE } from "../domain/bytes.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { type Maker, transactAs } from "../people/links.ts";
import {
	deleteImport,
	findBatch,
	type ImportChange,
	type ImportJob,
	insertBatch,
	insertImport,
	moveImport,
	removeLines,
	rewriteLines,
	sumUnfinishedImports,
} from "../store/queries/import-jobs.ts";
import type { Db } from "../store/store.ts";
import { MAX_SHEET_LINES } from "./csv-lines.ts";
import { batchesOf, noteRows, settleRows } from "./import-batch.ts";
import { type ImportFile, readImportRows } from "./import-file.ts";
import { type ImportJobDeps, noteJob } from "./import-job.ts";
import type { ImportKind, ImportRow } from "./import-kind.ts";
import { createSeenLines, type SeenLines } from "./seen-lines.ts";
import { readLines, writeLines } from "./stored-lines.ts";

/** Some 40 MB are held of so many while the file is read through: which lines are about the same thing. */
export const MAX_UPLOADED_ROWS = 500_000;
/** Their lines are kept in the database, for up to a day: four files of the largest size, or many small ones. */
export const MAX_WAITING_FILES = 50;
export const MAX_WAITING_MEGABYTES = 200;

export interface UploadedImport extends ImportFile {
	/** As it is called where it came from. */
	name: string;
	bytes: number;
}

/**
 * How long after its last batch an upload is taken for broken off, because its process died: far longer than a batch
 * takes, or than telling which of the largest file's lines are about the same thing.
 */
const UPLOAD_CLAIM_MS = 5 * MINUTE_MS;

/** The file is read once, and never held. What is refused leaves nothing behind, nor does what breaks off. */
export async function uploadImport(
	deps: ImportJobDeps,
	kind: ImportKind,
	maker: Maker,
	file: UploadedImport,
): Promise<Result<ImportJob>> {
	const opened = await openJob(deps, kind, maker, file);
	if (!opened.ok) return opened;
	const job = opened.value;
	try {
		return await storeFile(deps, kind, maker, file, job);
	} catch (error) {
		await giveUp(deps, job);
		throw error;
	}
}

/** It takes no room from now on, and its lines are cleared. */
async function giveUp({ store }: ImportJobDeps, job: ImportJob): Promise<void> {
	try {
		await moveImport(store.db, job.id, ["storing"], { state: "discarded", claim_until_ms: 0 });
	} catch {
		// The database is away: it is cleared once its claim has lapsed.
	}
}

async function storeFile(
	deps: ImportJobDeps,
	kind: ImportKind,
	maker: Maker,
	file: UploadedImport,
	job: ImportJob,
): Promise<Result<ImportJob>> {
	const { store, clock } = deps;
	const seen = createSeenLines();
	let batches = 0;
	const take = async (rows: readonly ImportRow[]) => {
		noteRows(kind, seen, rows);
		await store.transact(async (trx) => {
			// First, because it also locks the job: of one that is being cleared no line is stored any more.
			await hold(trx, job, { claim_until_ms: clock.nowMs() + UPLOAD_CLAIM_MS });
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
	const change = { state: "uploaded", row_count: read.value, claim_until_ms: 0 } as const;
	const uploaded = { ...job, ...change };
	await store.transact(async (trx) => {
		await hold(trx, job, change);
		const note = { personId: maker.personId, action: "import.prepared" } as const;
		await noteJob(trx, uploaded, note, clock.nowMs());
	});
	return succeed(uploaded);
}

/** Throws when it was taken for broken off, and cleared. */
async function hold(trx: Db, job: ImportJob, change: ImportChange): Promise<void> {
	if (await moveImport(trx, job.id, ["storing"], change)) return;
	throw new Error("an upload was cleared before its last line was stored");
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

/** Nobody sees it before its last line is stored. Under the lock of the links, so that of two one is the last. */
function openJob(
	{ store, clock, random }: ImportJobDeps,
	kind: ImportKind,
	maker: Maker,
	{ name, bytes }: UploadedImport,
): Promise<Result<ImportJob>> {
	return transactAs(store, maker, async (trx) => {
		const room = await judgeRoom(trx, bytes);
		if (!room.ok) return room;
		const nowMs = clock.nowMs();
		const job = await insertImport(trx, {
			public_id: makeId("imp", nowMs, random.bytes(ID_RANDOM_BYTES)),
			kind: kind.name,
			file_name: name,
			file_bytes: bytes,
			person_id: maker.personId,
			state: "storing",
			invites: 0,
			row_count: 0,
			done_rows: 0,
			done_batches: 0,
			lines: "kept",
			claim_until_ms: nowMs + UPLOAD_CLAIM_MS,
			created_at_ms: nowMs,
		});
		return succeed(job);
	});
}

async function judgeRoom(trx: Db, fileBytes: number): Promise<Result<true>> {
	const { files, bytes } = await sumUnfinishedImports(trx);
	if (files < MAX_WAITING_FILES && bytes + fileBytes <= MAX_WAITING_MEGABYTES * MEGABYTE)
		return succeed(true);
	const megabytes = Math.ceil(bytes / MEGABYTE);
	const waiting = `${files === 1 ? "1 file waits" : `${files} files wait`} to be imported or discarded, ${megabytes} MB in all`;
	const detail = `There is no room for this file: ${waiting}. The limit is ${MAX_WAITING_FILES} files and ${MAX_WAITING_MEGABYTES} MB in total. Import or discard some of those listed below, then upload it again; or import it from a shell, with ringback import.`;
	return refuse("too_many_uploads", detail, "file");
}
