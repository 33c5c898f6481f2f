// A file from its first byte to its last, three times: read through, so that nothing is done of a file that is broken at
// its end, and lines about the same thing are known; judged, for the preview; and brought in, a batch at a time. Broken
// off, it is finished by running it again: what is here already is found to be the same.

import { type Result, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { type ImportFile, readImportRows } from "./import-file.ts";
import {
	findTheSame,
	type ImportDeps,
	type ImportKind,
	type ImportRow,
	type JudgedRow,
	needsFixing,
	type RowVerdict,
} from "./import-kind.ts";
import { createSeenLines, type SeenLines } from "./seen-lines.ts";
import { createSummary, type ImportSummary } from "./summary.ts";

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
	const take = async (rows: readonly ImportRow[]) => {
		for (const row of rows) seen.note(row.line, kind.keyOf(row.cells), saysOf(row));
	};
	const read = await readImportRows(file, kind, take, () => clock.yieldLoop());
	return read.ok ? succeed({ file, name, rows: read.value, seen }) : read;
}

/** What it would do. Nothing is written. */
export function previewImport(
	deps: Pick<ImportDeps, "store" | "clock">,
	kind: ImportKind,
	checked: CheckedFile,
	tell: TellBatch,
): Promise<ImportSummary> {
	return goThrough(deps, kind, checked, tell, (rows) => kind.judge(deps.store.db, rows, deps.clock.nowMs()));
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
	const summary = await goThrough(deps, kind, checked, tell, (rows) => kind.apply(deps, rows));
	const { counts } = summary;
	const detail = `${kind.name}: ${counts.import} imported, ${counts.already} already there, ${counts.refused} need fixing`;
	await noteAudit(store.db, { ...note, action: "import.finished", detail }, clock.nowMs());
	return summary;
}

async function goThrough(
	{ clock }: Pick<ImportDeps, "clock">,
	kind: ImportKind,
	{ file, rows: expected, seen }: CheckedFile,
	tell: TellBatch,
	judge: (rows: readonly ImportRow[]) => Promise<RowVerdict[]>,
): Promise<ImportSummary> {
	const summary = createSummary();
	const take = async (rows: readonly ImportRow[]) => {
		const judged = await judgeBeside(kind, seen, rows, judge);
		summary.add(judged);
		await tell(judged);
		await clock.yieldLoop();
	};
	const read = await readImportRows(file, kind, take, () => clock.yieldLoop());
	if (!read.ok || read.value !== expected)
		throw new Error("The file changed while it was read. Start again.");
	return summary.read();
}

/** Lines that another line of the file has settled are not judged at all. */
async function judgeBeside(
	kind: ImportKind,
	seen: SeenLines,
	rows: readonly ImportRow[],
	judge: (rows: readonly ImportRow[]) => Promise<RowVerdict[]>,
): Promise<JudgedRow[]> {
	const settled = new Map(rows.map((row) => [row, judgeByOther(kind, seen, row)]));
	const open = rows.filter((row) => settled.get(row) === null);
	const verdicts = open.length === 0 ? [] : await judge(open);
	const judged = new Map(open.map((row, index) => [row, verdicts[index]]));
	return rows.map((row) => {
		const verdict = settled.get(row) ?? judged.get(row);
		if (verdict === undefined) throw new Error("a line came back without its verdict");
		return { ...row, verdict };
	});
}

function judgeByOther(kind: ImportKind, seen: SeenLines, row: ImportRow): RowVerdict | null {
	const other = seen.findOther(row.line, kind.keyOf(row.cells), saysOf(row));
	if (other === null) return null;
	if (other.kind === "repeats") return findTheSame(`Line ${other.line} says the same.`);
	return needsFixing(
		`Line ${other.line} says something else about the same ${kind.noun[0]}. Keep one of the two.`,
	);
}

function saysOf({ cells }: ImportRow): string {
	return JSON.stringify(cells);
}
