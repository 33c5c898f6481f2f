// The lines of a file to import, by the names of its columns. Read as a stream and as often as asked: however large the
// file is, no more than a batch of it is held.

import { readRecords } from "../conversions/csv-records.ts";
import { undoDefusing } from "../domain/csv-cell.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { foldText } from "../domain/folded-text.ts";
import type { Cells, ImportColumn, ImportKind, ImportRow } from "./import-kind.ts";

export interface ImportFile {
	/** From its first byte. */
	read(): AsyncIterable<Uint8Array>;
}

/** What a result file has more than the file it came from: corrected, it can be imported as it is. */
export const RESULT_COLUMNS = ["line", "result", "detail"] as const;

/** Whatever somebody's program wrote there: more than this makes no sense in any column. */
const MAX_CELL_CHARACTERS = 300;

/** How many rows there are. What was taken before a refusal is worth nothing. */
export async function readImportRows(
	file: ImportFile,
	kind: Pick<ImportKind, "columns" | "noun">,
	take: (rows: readonly ImportRow[]) => Promise<void>,
	yieldLoop: () => Promise<void>,
): Promise<Result<number>> {
	let positions: ReadonlyMap<ImportColumn, number> = new Map();
	return readRecords(file.read(), {
		yieldLoop,
		headerAdvice: adviceOn(kind.columns),
		rowAdvice: `Add one line for each ${kind.noun[0]}.`,
		header(cells) {
			const header = readHeader(cells, kind.columns);
			if (header.ok) positions = header.value;
			return header;
		},
		async take(records) {
			await take(records.map(({ line, cells }) => ({ line, cells: pickCells(cells, positions) })));
			return succeed(null);
		},
	});
}

function readHeader(
	cells: readonly string[],
	columns: readonly ImportColumn[],
): Result<ReadonlyMap<ImportColumn, number>> {
	const positions = new Map<ImportColumn, number>();
	const refuseHeader = (problem: string) =>
		refuse("malformed_file", `Line 1: ${problem}. ${adviceOn(columns)}`, "file");
	for (const [position, cell] of cells.entries()) {
		const name = plainName(cell);
		const column = columns.find((known) => plainName(known.name) === name);
		if (column === undefined) {
			if (name === "" || RESULT_COLUMNS.some((known) => plainName(known) === name)) continue;
			return refuseHeader(`there is no column “${cell.trim().slice(0, 40)}”`);
		}
		if (positions.has(column)) return refuseHeader(`the column ${column.name} is there twice`);
		positions.set(column, position);
	}
	const missing = columns.find((column) => column.isOptional !== true && !positions.has(column));
	return missing === undefined ? succeed(positions) : refuseHeader(`the column ${missing.name} is missing`);
}

/** "Order ID", "orderId" and "order_id" are the same column. */
function plainName(text: string): string {
	return foldText(text).replace(/[\s_.-]/gu, "");
}

function adviceOn(columns: readonly ImportColumn[]): string {
	const namesOf = (isOptional: boolean) =>
		columns.filter((column) => (column.isOptional === true) === isOptional).map(({ name }) => name);
	return `The first line must name the columns: ${namesOf(false).join(", ")}; if needed also ${namesOf(true).join(", ")}.`;
}

function pickCells(cells: readonly string[], positions: ReadonlyMap<ImportColumn, number>): Cells {
	return Object.fromEntries(
		[...positions].map(([{ name, keepsSpace }, position]) => {
			const cell = keepShowable(undoDefusing(cells[position] ?? ""));
			return [name, keepsSpace === true ? cell : cell.trim()];
		}),
	);
}

/** Bounded, and nothing that a database refuses to store. */
function keepShowable(text: string): string {
	return text
		.slice(0, MAX_CELL_CHARACTERS)
		.toWellFormed()
		.replace(/\p{Cc}/gu, "\u{FFFD}");
}
