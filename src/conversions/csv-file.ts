// Rows as a CSV file, any number of them: read a batch at a time, and only when the reader has taken what was there.
// UTF-8 with a byte order mark, because spreadsheets guess wrong without one.

/** About 200 KB of text: all that a file ever holds in memory. */
export const CSV_BATCH_ROWS = 1_000;
const BYTE_ORDER_MARK = "\u{FEFF}";

/** `kind`: a decimal or a time, which is written as the spreadsheets that the file is for read it. */
export type CsvColumns<Row> = readonly (readonly [
	name: string,
	cell: (row: Row) => string,
	kind?: "amount" | "time",
])[];

export async function* csvFile<Row>(
	columns: CsvColumns<Row>,
	batches: AsyncIterable<readonly Row[]>,
	/** A semicolon for spreadsheets in most of Europe: then amounts have a comma, and times are written as they read them. */
	separator: CsvSeparator = ",",
): AsyncGenerator<string> {
	const names = columns.map(([name]) => name);
	const lineOf = (row: Row) => {
		const cells = columns.map(([, cell, kind]) => (separator === "," ? cell(row) : asLocal(cell(row), kind)));
		return csvLine(cells, separator);
	};
	yield BYTE_ORDER_MARK + csvLine(names, separator);
	for await (const batch of batches) {
		if (batch.length > 0) yield batch.map(lineOf).join("");
	}
}

/** 2026-03-01T12:00:00.000Z is text to a spreadsheet, 2026-03-01 12:00:00 a time in any language. */
function asLocal(text: string, kind: "amount" | "time" | undefined): string {
	if (kind === "amount") return text.replace(".", ",");
	return kind === "time" ? text.replace("T", " ").replace(/\.\d+Z$/, "") : text;
}

// One cell (RFC 4180) that a spreadsheet will not take for a formula, and the way back.

/** What makes a spreadsheet run a cell, also in the full-width forms that some of them accept. */
const FORMULA_START = "[=+\\-@\\t\\r\\n＝＋－＠]";
const RUNS = new RegExp(`^'*${FORMULA_START}`);
const DEFUSED = new RegExp(`^''*${FORMULA_START}`);

/** What parts the cells. Where the comma is the decimal sign, spreadsheets expect a semicolon. */
export type CsvSeparator = "," | ";";

export function csvLine(cells: readonly string[], separator: CsvSeparator = ","): string {
	return `${cells.map(csvCell).join(separator)}\r\n`;
}

function csvCell(text: string): string {
	const safe = defuseCell(text);
	return /[",;\r\n\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** An apostrophe in front: spreadsheets then show the text as it is. */
function defuseCell(text: string): string {
	return RUNS.test(text) ? `'${text}` : text;
}

/** So that an exported file can come back as decisions. */
export function undoDefusing(cell: string): string {
	return DEFUSED.test(cell) ? cell.slice(1) : cell;
}
