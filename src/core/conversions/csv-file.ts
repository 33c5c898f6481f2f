// Writes any number of rows as a CSV file. The next batch is read only when the client has taken the one before. The file
// is UTF-8 with a byte order mark, because spreadsheets guess wrong without one.

import { DEFAULT_ZONE, isoTimeIn } from "../domain/zone-day.ts";

/** Number of rows in memory at a time, about 200 KB of text. */
export const CSV_BATCH_ROWS = 1_000;
const BYTE_ORDER_MARK = "\u{FEFF}";

/**
 * Columns of a CSV file. Decimals and times are written in the form that the reader's spreadsheet expects. A time is
 * given in milliseconds, and null leaves the cell empty.
 */
export type CsvColumns<Row> = readonly (
	| readonly [name: string, cell: (row: Row) => string, kind?: "amount"]
	| readonly [name: string, cell: (row: Row) => number | null, kind: "time"]
)[];

export interface CsvForm {
	/**
	 * Separator of the cells. A file with semicolons is for spreadsheets in most of Europe, which expect decimal commas
	 * and local times.
	 */
	separator: CsvSeparator;
	/** Time zone of all times in the file. It is the network's time zone. */
	zone: string;
}

/** Form of a file for programs, and of files that people upload again. Times are in UTC. */
export const PLAIN_FORM: CsvForm = { separator: ",", zone: DEFAULT_ZONE };

export async function* csvFile<Row>(
	columns: CsvColumns<Row>,
	batches: AsyncIterable<readonly Row[]>,
	form: CsvForm = PLAIN_FORM,
): AsyncGenerator<string> {
	const { separator } = form;
	const names = columns.map((column) => headerOf(column[0], column[2], form));
	const lineOf = (row: Row) => {
		const cells = columns.map((column) => {
			if (column[2] === "time") return csvCell(writeTime(column[1](row), form));
			const text = column[1](row);
			return csvCell(column[2] === "amount" && separator === ";" ? text.replace(".", ",") : text);
		});
		return `${cells.join(separator)}\r\n`;
	};
	yield BYTE_ORDER_MARK + csvLine(names, separator);
	for await (const batch of batches) {
		if (batch.length > 0) yield batch.map(lineOf).join("");
	}
}

/**
 * Returns the heading of a column. In a file for spreadsheets with decimal commas, times have no offset, so the heading
 * names their zone. `plainHeader` undoes it.
 */
function headerOf(name: string, kind: "amount" | "time" | undefined, { separator, zone }: CsvForm): string {
	return kind === "time" && separator === ";" ? `${name} (${zone})` : name;
}

/** Removes the time zone from the heading of a column, so that an exported file can be uploaded again. */
export function plainHeader(heading: string): string {
	return heading.replace(/^([A-Za-z]+At) \([A-Za-z0-9_+/-]+\)$/, "$1");
}

/**
 * Formats a time with its offset from UTC. Spreadsheets with decimal commas read 2026-03-01T13:00:00.000+01:00 as text,
 * but 2026-03-01 13:00:00 as a time in any language.
 */
function writeTime(atMs: number | null, { separator, zone }: CsvForm): string {
	if (atMs === null) return "";
	const text = isoTimeIn(atMs, zone);
	return separator === ";" ? text.slice(0, 19).replace("T", " ") : text;
}

// Formats cells (RFC 4180) so that spreadsheets do not run them as formulas, and undoes this formatting.

/** Characters that start a formula, including the full-width forms that some spreadsheets accept. */
const FORMULA_START = "[=+\\-@＝＋－＠]";
/**
 * Matches the characters before a formula: the beginning of the cell, or a separator inside of it, because a spreadsheet
 * may split the file at other separators than ours. It may skip white space and quotation marks.
 */
const AT_START = "(?<=(?:^|[,;\\t\\r\\n])[\\s\"']*)";
// The character that starts a formula is found first. Otherwise long white space would take quadratic time.
const RUNS = new RegExp(`(?=${FORMULA_START})${AT_START}`, "g");
const DEFUSED = new RegExp(`'(?=${FORMULA_START})${AT_START}`, "g");
const NUMBER = /^-?\d+(?:[.,]\d+)?$/;

/** Separator of the cells. If the comma is the decimal sign, spreadsheets expect a semicolon. */
export type CsvSeparator = "," | ";";

export function csvLine(cells: readonly string[], separator: CsvSeparator = ","): string {
	return `${cells.map(csvCell).join(separator)}\r\n`;
}

function csvCell(text: string): string {
	const cell = defuseCell(text);
	return /[",;\r\n\t]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/**
 * Puts an apostrophe before each part of a text that would run as a formula, so that spreadsheets show it unchanged. A
 * negative number is no formula, and spreadsheets add it up only without an apostrophe.
 */
function defuseCell(text: string): string {
	return NUMBER.test(text) ? text : text.replace(RUNS, "'");
}

/** Removes the apostrophes that `defuseCell` added, so that an exported file can be uploaded with decisions. */
export function undoDefusing(cell: string): string {
	return cell.replace(DEFUSED, "");
}
