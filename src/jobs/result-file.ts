// What became of every line, as a file: the lines as they were, each with its result and what to put right. Corrected, it
// can be imported again as it is.

import type { CsvColumns } from "../conversions/csv-file.ts";
import { RESULT_COLUMNS } from "./import-file.ts";
import { cellOf, type ImportKind, type JudgedRow, type RowVerdict } from "./import-kind.ts";

/** Words for programs: they are added, never renamed. */
const RESULTS: Readonly<Record<RowVerdict["kind"], readonly [before: string, after: string]>> = {
	import: ["will_be_imported", "imported"],
	already: ["no_change_needed", "no_change_needed"],
	refused: ["needs_fixing", "needs_fixing"],
};

export interface ResultRow extends JudgedRow {
	/** Whether it did what its verdict says, or would. */
	isApplied: boolean;
}

export function resultColumns({ columns }: ImportKind): CsvColumns<ResultRow> {
	const [line, result, detail] = RESULT_COLUMNS;
	return [
		[line, (row) => String(row.line)],
		[result, ({ verdict, isApplied }) => RESULTS[verdict.kind][isApplied ? 1 : 0]],
		[detail, ({ verdict }) => verdict.detail ?? ""],
		...columns.map(({ name }) => [name, (row: ResultRow) => cellOf(row.cells, name)] as const),
	];
}
