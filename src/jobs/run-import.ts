// A file from its first byte to its last, three times: read through, so that nothing is done of a file that is broken at
// its end, and lines about the same thing are known; judged, for the preview; and brought in, a batch at a time. Broken
// off, it is finished by running it again: what is here already is found to be the same.

import { type Result, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { lockLinks } from "../store/queries/links.ts";
import { applyBatch, batchesOf, judgeBatch, noteRows, type SettledRow, settleRows } from "./import-batch.ts";
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

/** Refused where it is no file of this kind: then nothing of it is looked at. */
export async function readThrough(
	{ clock }: Pick<ImportDeps, "clock">,
	kind: ImportKind,
	file: ImportFile,
	name: string,
): Promise<Result<CheckedFile>> {
	const seen = createSeenLines();
	const take = async (rows: readonly ImportRow[]) => noteRows(kind, seen, rows);
	const read = await readImportRows(file, kind, { take, yieldLoop: () => clock.yieldLoop() });
	return read.ok ? succeed({ file, name, rows: read.value, seen }) : read;
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
		const judged = await store.transact(async (trx) => {
			if (kind.makesPeople) await lockLinks(trx);
			return applyBatch(trx, deps, kind, rows);
		});
		deps.inviting?.mails.wake();
		return judged;
	});
	const finished = { ...note, action: "import.finished", detail: sayCounts(kind, summary) } as const;
	await noteAudit(store.db, finished, clock.nowMs());
	return summary;
}

async function goThrough(
	{ clock }: Pick<ImportDeps, "clock">,
	kind: ImportKind,
	{ file, rows: expected, seen }: CheckedFile,
	tell: TellBatch,
	judge: (rows: readonly SettledRow[]) => Promise<JudgedRow[]>,
): Promise<ImportSummary> {
	const summary = createSummary();
	const take = async (rows: readonly ImportRow[]) => {
		for (const batch of batchesOf(kind, rows)) {
			const judged = await judge(settleRows(kind, seen, batch));
			summary.add(judged);
			await tell(judged);
			await clock.yieldLoop();
		}
	};
	const read = await readImportRows(file, kind, { take, yieldLoop: () => clock.yieldLoop() });
	if (!read.ok || read.value !== expected)
		throw new Error("The file changed while it was read. Start again.");
	return summary.read();
}
