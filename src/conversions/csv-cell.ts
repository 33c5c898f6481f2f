// One cell of a CSV file (RFC 4180) that a spreadsheet will not take for a formula, and the way back.

/** What makes a spreadsheet run a cell, also in the full-width forms that some of them accept. */
const FORMULA_START = "[=+\\-@\\t\\r\\n＝＋－＠]";
const RUNS = new RegExp(`^'*${FORMULA_START}`);
const DEFUSED = new RegExp(`^''*${FORMULA_START}`);

/** What parts the cells. Where the comma is the decimal sign, spreadsheets expect a semicolon. */
export type CsvSeparator = "," | ";";

export function csvLine(cells: readonly string[], separator: CsvSeparator = ","): string {
	return `${cells.map(csvCell).join(separator)}\r\n`;
}

export function csvCell(text: string): string {
	const safe = defuseCell(text);
	return /[",;\r\n\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** An apostrophe in front: spreadsheets then show the text as it is. */
export function defuseCell(text: string): string {
	return RUNS.test(text) ? `'${text}` : text;
}

/** So that an exported file can come back as decisions. */
export function undoDefusing(cell: string): string {
	return DEFUSED.test(cell) ? cell.slice(1) : cell;
}
