// A file from its first byte to its last, three times: read through, so that nothing is done of a file that is broken at
// its end, and lines about the same thing are known; judged, for the preview; and brought in, a batch at a time. Broken
// off, it is finished by running it again: what is here already is found to be the same.

import { type Result, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { applyBatch, judgeBatch, noteRows, type SettledRow, settleRows } from "./import-batch.ts";
import { type ImportFile, readImportRows } from "./import-file.ts";
import type { ImportDeps, ImportKind, ImportRow, JudgedRow } from "./import-kind.ts";
import { createSeenLines, type SeenLines } from "./seen-lines.ts";
import { createSummary, type ImportSummary, sayCounts } from "./summary.ts";

export interface CheckedFile {
	file: ImportFile;
	/** As it is called where it came from. */
	name: string;
	rows: number;
	seen: SeenLines;
}

/** Hears of every batch, once it is judged or stored. */
export type TellBatch = (rows: readonly JudgedRow[]) => Promise<void>;

/** Refused where it is no file of this kind, or has too many lines: then nothing of it is looked at. */
export async function readThrough(
	{ clock }: Pick<ImportDeps, "clock">,
	kind: ImportKind,
	file: ImportFile,
	name: string,
	maxRows = Number.POSITIVE_INFINITY,
): Promise<Result<CheckedFile>> {
	const seen = createSeenLines();
	const take = async (rows: readonly ImportRow[]) => noteRows(kind, seen, rows);
	const read = await readImportRows(file, kind, { take, maxRows, yieldLoop: () => clock.yieldLoop() });
	return read.ok ? succeed({ file, name, rows: read.value, seen }) : read;
}

/** Its lines once more, by batches as they go in. */
export async function readSettled(
	{ clock }: Pick<ImportDeps, "clock">,
	kind: ImportKind,
	{ file, rows: expected, seen }: CheckedFile,
	take: (rows: readonly SettledRow[]) => Promise<void>,
): Promise<void> {
	const takeAll = async (rows: readonly ImportRow[]) => {
		for (let from = 0; from < rows.length; from += kind.batchRows) {
			await take(settleRows(kind, seen, rows.slice(from, from + kind.batchRows)));
			await clock.yieldLoop();
		}
	};
	const read = await readImportRows(file, kind, { take: takeAll, yieldLoop: () => clock.yieldLoop() });
	if (!read.ok || read.value !== expected)
		throw new Error("The file changed while it was read. Start again.");
}

/** What it would do. Nothing is written. */
export function previewImport(
	deps: Pick<ImportDeps, "store" | "clock">,
	kind: ImportKind,
	checked: CheckedFile,
	tell: TellBatch,
): Promise<ImportSummary> {
	return goThrough(deps, kind, checked, tell, (rows) =>
		judgeBatch(deps.store.db, kind, rows, deps.clock.nowMs()),
	);
}

export async function applyImport(
	deps: ImportDeps,
	kind: ImportKind,
	checked: CheckedFile,
	tell: TellBatch,
): Promise<ImportSummary> {
	const { store, clock, personId } = deps;
	const note = { personId, subject: checked.name } as const;
	const started = { ...note, action: "import.started", detail: `${checked.rows} ${kind.noun[1]}` } as const;
	await noteAudit(store.db, started, clock.nowMs());
	const summary = await goThrough(deps, kind, checked, tell, async (rows) => {
		const judged = await store.transact((trx) => applyBatch(trx, deps, kind, rows));
		deps.inviting?.mails.wake();
		return judged;
	});
	const finished = { ...note, action: "import.finished", detail: sayCounts(kind, summary) } as const;
	await noteAudit(store.db, finished, clock.nowMs());
	return summary;
}

async function goThrough(
	deps: Pick<ImportDeps, "clock">,
	kind: ImportKind,
	checked: CheckedFile,
	tell: TellBatch,
	judge: (rows: readonly SettledRow[]) => Promise<JudgedRow[]>,
): Promise<ImportSummary> {
	const summary = createSummary();
	await readSettled(deps, kind, checked, async (rows) => {
		const judged = await judge(rows);
		summary.add(judged);
		await tell(judged);
	});
	return summary.read();
}
