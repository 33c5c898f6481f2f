// The lines of an uploaded file as they wait in the database: a batch of them as one JSON text, cells in the order of the
// kind's columns; and what became of each, as another.

import * as z from "zod";
import type { SettledRow } from "./import-batch.ts";
import { cellOf, type ImportKind, type JudgedRow, ROW_VERDICTS, type RowVerdict } from "./import-kind.ts";

const VERDICT = z.tuple([z.enum(ROW_VERDICTS), z.string().nullable()]);
const LINES = z.object({
	columns: z.array(z.string()),
	rows: z.array(z.tuple([z.number(), z.array(z.string()), VERDICT.nullable()])),
});
const VERDICTS = z.array(VERDICT);

export function writeLines({ columns }: ImportKind, rows: readonly SettledRow[]): string {
	const names = columns.map(({ name }) => name);
	return JSON.stringify({
		columns: names,
		rows: rows.map(({ line, cells, settled }) => [
			line,
			names.map((name) => cellOf(cells, name)),
			settled === null ? null : pairOf(settled),
		]),
	} satisfies z.input<typeof LINES>);
}

export function readLines(json: string): SettledRow[] {
	const { columns, rows } = LINES.parse(JSON.parse(json));
	return rows.map(([line, cells, settled]) => ({
		line,
		cells: Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ""])),
		settled: settled === null ? null : verdictOf(settled),
	}));
}

export function writeVerdictsOf(rows: readonly JudgedRow[]): string {
	return JSON.stringify(rows.map(({ verdict }) => pairOf(verdict)) satisfies z.input<typeof VERDICTS>);
}

/** What was brought is in the summary, and not here. */
export function readVerdicts(json: string): RowVerdict[] {
	return VERDICTS.parse(JSON.parse(json)).map(verdictOf);
}

function pairOf({ kind, detail }: RowVerdict): z.infer<typeof VERDICT> {
	return [kind, detail];
}

function verdictOf([kind, detail]: z.infer<typeof VERDICT>): RowVerdict {
	return { kind, detail, brings: null };
}
