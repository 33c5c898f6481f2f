// Rows as a CSV file, any number of them: read a batch at a time, and only when the reader has taken what was there.
// UTF-8 with a byte order mark, because spreadsheets guess wrong without one.

import { csvLine } from "../domain/csv-cell.ts";

/** About 200 KB of text: all that a file ever holds in memory. */
export const CSV_BATCH_ROWS = 1_000;
const BYTE_ORDER_MARK = "\u{FEFF}";

export type CsvColumns<Row> = readonly (readonly [name: string, cell: (row: Row) => string])[];

export async function* csvFile<Row>(
	columns: CsvColumns<Row>,
	batches: AsyncIterable<readonly Row[]>,
): AsyncGenerator<string> {
	yield BYTE_ORDER_MARK + csvLine(columns.map(([name]) => name));
	for await (const batch of batches) {
		if (batch.length > 0) yield batch.map((row) => csvLine(columns.map(([, cell]) => cell(row)))).join("");
	}
}
