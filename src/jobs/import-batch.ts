// One batch of a file: its lines beside the others of the same file, judged for the preview or brought in for good. The
// command and the page both go this way.

import type { Db } from "../store/store.ts";
import {
	cellOf,
	findTheSame,
	type ImportDeps,
	type ImportKind,
	type ImportRow,
	type JudgedRow,
	needsFixing,
	type RowVerdict,
} from "./import-kind.ts";
import type { SeenLines } from "./seen-lines.ts";

/** With what another line of the file says of it; null where none does. */
export interface SettledRow extends ImportRow {
	settled: RowVerdict | null;
}

/** As they go in: each with a transaction of its own. */
export function batchesOf({ batchRows }: ImportKind, rows: readonly ImportRow[]): (readonly ImportRow[])[] {
	const count = Math.ceil(rows.length / batchRows);
	return Array.from({ length: count }, (_, at) => rows.slice(at * batchRows, (at + 1) * batchRows));
}

export function settleRows(kind: ImportKind, seen: SeenLines, rows: readonly ImportRow[]): SettledRow[] {
	return rows.map((row) => ({ ...row, settled: judgeByOther(kind, seen, row) }));
}

function judgeByOther(kind: ImportKind, seen: SeenLines, row: ImportRow): RowVerdict | null {
	const other = seen.findOther(row.line, kind.keyOf(row.cells), saysOf(kind, row));
	if (other === null) return null;
	if (other.kind === "repeats") return findTheSame(`Line ${other.line} says the same.`);
	return needsFixing(
		`Line ${other.line} says something else about the same ${kind.noun[0]}. Keep one of the two.`,
	);
}

export function noteRows(kind: ImportKind, seen: SeenLines, rows: readonly ImportRow[]): void {
	for (const row of rows) seen.note(row.line, kind.keyOf(row.cells), saysOf(kind, row));
}

/** Whatever order the file has its columns in. */
function saysOf({ columns }: ImportKind, { cells }: ImportRow): string {
	return JSON.stringify(columns.map(({ name }) => cellOf(cells, name)));
}

/** What they would do. Nothing is written. */
export function judgeBatch(
	db: Db,
	kind: ImportKind,
	rows: readonly SettledRow[],
	nowMs: number,
): Promise<JudgedRow[]> {
	return judgeOpen(rows, (open) => kind.judge(db, open, nowMs));
}

/**
 * In the caller's transaction, which holds `lockLinks` where people are made. Once it has ended, whoever was invited is
 * mailed: `deps.inviting?.mails.wake()`.
 */
export function applyBatch(
	trx: Db,
	deps: ImportDeps,
	kind: ImportKind,
	rows: readonly SettledRow[],
): Promise<JudgedRow[]> {
	return judgeOpen(rows, (open) => kind.apply(trx, deps, open));
}

/** Lines that another line of the file has settled are not judged at all. */
async function judgeOpen(
	rows: readonly SettledRow[],
	judge: (rows: readonly ImportRow[]) => Promise<RowVerdict[]>,
): Promise<JudgedRow[]> {
	const open = rows.filter(({ settled }) => settled === null);
	const verdicts = (open.length === 0 ? [] : await judge(open)).values();
	return rows.map(({ line, cells, settled }) => {
		const verdict = settled ?? verdicts.next().value;
		if (verdict === undefined) throw new Error("a line came back without its verdict");
		return { line, cells, verdict };
	});
}
