// Reads a CSV file of decisions. What is wrong with the file as a whole refuses it; what is wrong with a row becomes that
// row's problem, with its line.

import { undoDefusing } from "../conversions/csv-cell.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { groupDigits } from "../domain/grouped-digits.ts";
import { type Column, HEADER_ADVICE, readHeader } from "./bulk-header.ts";
import { type CheckedRow, checkRow, type RawRow } from "./bulk-row.ts";
import { MAX_SHEET_LINES } from "./csv-lines.ts";
import { type CsvRecord, readRecords } from "./csv-records.ts";

/** What the largest networks take in one job. */
export const MAX_BULK_ROWS = 40_000;
/** As pages write it. */
export const MAX_BULK_ROWS_TEXT = groupDigits(MAX_BULK_ROWS);

export interface DecisionReader {
	/** A batch of rows, in the order of the file; the next one is read when it has been taken. */
	take(rows: readonly CheckedRow[]): Promise<void>;
	/** Lets everybody else get on in between. */
	yieldLoop(): Promise<void>;
}

/** How many rows there are. What was taken before a refusal is worth nothing. */
export async function readDecisions(
	bytes: AsyncIterable<Uint8Array>,
	{ take, yieldLoop }: DecisionReader,
): Promise<Result<number>> {
	let positions: ReadonlyMap<Column, number> = new Map();
	let count = 0;
	return readRecords(bytes, {
		yieldLoop,
		maxLines: MAX_SHEET_LINES,
		headerAdvice: HEADER_ADVICE,
		rowAdvice: "Add one line for each order.",
		header(cells) {
			const header = readHeader(cells);
			if (header.ok) positions = header.value;
			return header;
		},
		async take(records) {
			count += records.length;
			if (count > MAX_BULK_ROWS) return refuseTooMany();
			await take(records.map((record) => checkRow(pickCells(record, positions))));
			return succeed(null);
		},
	});
}

function refuseTooMany(): ReturnType<typeof refuse> {
	return refuse(
		"too_many_rows",
		`The file has more than ${MAX_BULK_ROWS_TEXT} rows. Split it, and upload the parts one after the other.`,
		"file",
	);
}

function pickCells({ cells, line }: CsvRecord, positions: ReadonlyMap<Column, number>): RawRow {
	const cell = (column: Column) => undoDefusing(cells[positions.get(column) ?? -1] ?? "");
	return {
		line,
		conversionId: cell("conversionId"),
		orderId: cell("orderId"),
		eventType: cell("eventType"),
		decision: cell("decision"),
		reason: cell("reason"),
	};
}
