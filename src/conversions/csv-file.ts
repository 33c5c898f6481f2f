// Writes any number of rows as a CSV file. The next batch is read only when the client has taken the one before. The file
// is UTF-8 with a byte order mark, because spreadsheets guess wrong without one.

/** Number of rows in memory at a time, about 200 KB of text. */
export const CSV_BATCH_ROWS = 1_000;
const BYTE_ORDER_MARK = "\u{FEFF}";

/**
 * Columns of a CSV file. `kind` marks decimals and times, which are written in the form that the spreadsheet expects.
 */
export type CsvColumns<Row> = readonly (readonly [
	name: string,
	cell: (row: Row) => string,
	kind?: "amount" | "time",
])[];

export async function* csvFile<Row>(
	columns: CsvColumns<Row>,
	batches: AsyncIterable<readonly Row[]>,
	/**
	 * Separator of the cells. A file with semicolons is for spreadsheets in most of Europe, which expect decimal commas
	 * and local times.
	 */
	separator: CsvSeparator = ",",
): AsyncGenerator<string> {
	const names = columns.map(([name]) => name);
	const lineOf = (row: Row) => {
		const cells = columns.map(([, cell, kind]) => {
			const text = separator === "," ? cell(row) : asLocal(cell(row), kind);
			// A negative amount is a number and not a formula.
			return kind === "amount" && NUMBER.test(text) ? quoteCell(text) : csvCell(text);
		});
		return `${cells.join(separator)}\r\n`;
	};
	yield BYTE_ORDER_MARK + csvLine(names, separator);
	for await (const batch of batches) {
		if (batch.length > 0) yield batch.map(lineOf).join("");
	}
}

/**
 * Formats a cell for spreadsheets with decimal commas. They read 2026-03-01T12:00:00.000Z as text, but 2026-03-01
 * 12:00:00 as a time in any language.
 */
function asLocal(text: string, kind: "amount" | "time" | undefined): string {
	if (kind === "amount") return text.replace(".", ",");
	return kind === "time" ? text.replace("T", " ").replace(/\.\d+Z$/, "") : text;
}

// Formats cells (RFC 4180) so that spreadsheets do not run them as formulas, and undoes this formatting.

/** Characters that start a formula, including the full-width forms that some spreadsheets accept. */
const FORMULA_START = "[=+\\-@\\t\\r\\n＝＋－＠]";
const RUNS = new RegExp(`^'*${FORMULA_START}`);
const DEFUSED = new RegExp(`^''*${FORMULA_START}`);
const NUMBER = /^-?\d+(?:[.,]\d+)?$/;

/** Separator of the cells. If the comma is the decimal sign, spreadsheets expect a semicolon. */
export type CsvSeparator = "," | ";";

export function csvLine(cells: readonly string[], separator: CsvSeparator = ","): string {
	return `${cells.map(csvCell).join(separator)}\r\n`;
}

function csvCell(text: string): string {
	return quoteCell(defuseCell(text));
}

function quoteCell(text: string): string {
	return /[",;\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Puts an apostrophe before a text that would run as a formula, so that spreadsheets show it unchanged. */
function defuseCell(text: string): string {
	return RUNS.test(text) ? `'${text}` : text;
}

/** Removes the apostrophe that `defuseCell` added, so that an exported file can be uploaded with decisions. */
export function undoDefusing(cell: string): string {
	return DEFUSED.test(cell) ? cell.slice(1) : cell;
}
