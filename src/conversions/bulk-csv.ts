// Reads a CSV file of decisions: with commas, semicolons or tabs, with or without a byte order mark. What is wrong
// with the file as a whole refuses it; what is wrong with a row becomes that row's problem, with its line.

import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import * as z from "zod";
import { undoDefusing } from "../domain/csv-cell.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type CheckedRow, checkRow, type RawRow } from "./bulk-row.ts";

/** What the largest networks take in one job. */
export const MAX_BULK_ROWS = 40_000;
/** As pages write it. */
const MAX_BULK_ROWS_TEXT = String(MAX_BULK_ROWS).replace(/\B(?=(?:\d{3})+$)/g, "\u00a0");
export const MAX_FILE_BYTES = 10 * 1_024 * 1_024;

/** Of ours none comes near; a quote that is never closed would otherwise swallow the file. */
const MAX_RECORD_CHARACTERS = 20_000;
/** The parser's input: enough to be quick, small enough that others get their turn. */
const CHUNK_CHARACTERS = 65_536;
const ROWS_PER_TURN = 500;

const COLUMNS = ["orderId", "eventType", "decision", "reason"] as const;
type Column = (typeof COLUMNS)[number];
const PLAIN_COLUMNS: ReadonlyMap<string, Column> = new Map(
	COLUMNS.map((column) => [plainName(column), column]),
);

/** The other columns of our own export, so that a downloaded file can come back with a decision column. */
const EXPORT_COLUMNS: ReadonlySet<string> = new Set(
	[
		"conversionId",
		"status",
		"basketValue",
		"commission",
		"networkFee",
		"currency",
		"decidedBy",
		"source",
		"test",
		"occurredAt",
		"recordedAt",
		"approvesAt",
		"pixelBasketValue",
	].map(plainName),
);

const HEADER_ADVICE =
	"The first line must name the columns: orderId and decision, and if needed eventType and reason.";

const PARSED = z.object({ record: z.array(z.string()), info: z.object({ lines: z.number() }) });

/** `takeTurn` lets everybody else get on in between. */
export async function readDecisions(
	bytes: Uint8Array,
	takeTurn: () => Promise<void>,
): Promise<Result<CheckedRow[]>> {
	const text = decode(bytes);
	if (!text.ok) return text;
	const firstLine = /^[^\r\n]*/.exec(text.value)?.[0] ?? "";
	// Before the parser sees it: it makes a cell of every delimiter, however long the line.
	const longLine = findLongLine(text.value);
	if (longLine !== null)
		return refuse("malformed_file", `Line ${longLine} is too long for a row of decisions.`, "file");
	const parser = Readable.from(chunksOf(text.value)).pipe(
		parse({
			delimiter: delimiterOf(firstLine),
			info: true,
			relax_column_count: true,
			skip_empty_lines: true,
			max_record_size: MAX_RECORD_CHARACTERS,
		}),
	);
	try {
		return await readRecords(parser, takeTurn);
	} catch (error) {
		if (!(error instanceof CsvError)) throw error;
		return refuse("malformed_file", `${lineOf(error)} is not valid CSV: ${adviceOn(error)}`, "file");
	} finally {
		parser.destroy();
	}
}

async function readRecords(
	records: AsyncIterable<unknown>,
	takeTurn: () => Promise<void>,
): Promise<Result<CheckedRow[]>> {
	let places: ReadonlyMap<Column, number> | null = null;
	const rows: CheckedRow[] = [];
	const lineByOrder = new Map<string, number>();
	let seen = 0;
	for await (const item of records) {
		// Blank rows count too: spreadsheets write them by the hundred thousand.
		if (seen++ % ROWS_PER_TURN === 0) await takeTurn();
		const { record, info } = PARSED.parse(item);
		if (places === null) {
			const header = readHeader(record);
			if (!header.ok) return header;
			places = header.value;
			continue;
		}
		if (record.every((cell) => cell.trim() === "")) continue;
		if (rows.length === MAX_BULK_ROWS) {
			return refuse(
				"too_many_rows",
				`The file has more than ${MAX_BULK_ROWS_TEXT} rows. Split it, and upload the parts one after the other.`,
				"file",
			);
		}
		rows.push(checkRow(pickCells(record, places, info.lines), lineByOrder));
	}
	if (places === null) return refuse("malformed_file", `The file is empty. ${HEADER_ADVICE}`, "file");
	if (rows.length > 0) return succeed(rows);
	return refuse("malformed_file", "The file has a header but no rows. Add one line for each order.", "file");
}

/** The number of the first line that no row of ours could be; null when there is none. */
function findLongLine(text: string): number | null {
	let line = 1;
	for (let start = 0; start < text.length; line++) {
		const end = text.indexOf("\n", start);
		const stop = end === -1 ? text.length : end;
		if (stop - start > MAX_RECORD_CHARACTERS) return line;
		start = stop + 1;
	}
	return null;
}

function readHeader(cells: readonly string[]): Result<ReadonlyMap<Column, number>> {
	const places = new Map<Column, number>();
	for (const [place, cell] of cells.entries()) {
		const name = plainName(cell);
		const column = PLAIN_COLUMNS.get(name);
		if (column === undefined) {
			if (name === "" || EXPORT_COLUMNS.has(name)) continue;
			const shown = cell.trim().slice(0, 40);
			return refuse("malformed_file", `Line 1: there is no column “${shown}”. ${HEADER_ADVICE}`, "file");
		}
		if (places.has(column)) {
			return refuse("malformed_file", `Line 1: the column ${column} is there twice. Keep one.`, "file");
		}
		places.set(column, place);
	}
	for (const needed of ["orderId", "decision"] as const) {
		if (!places.has(needed)) {
			return refuse("malformed_file", `Line 1: the column ${needed} is missing. ${HEADER_ADVICE}`, "file");
		}
	}
	return succeed(places);
}

/** "Order ID" and "order_id" are orderId: spreadsheets and people spell it so. */
function plainName(text: string): string {
	return text.toLowerCase().replace(/[\s_-]/g, "");
}

function pickCells(record: readonly string[], places: ReadonlyMap<Column, number>, line: number): RawRow {
	const cell = (column: Column) => undoDefusing(record[places.get(column) ?? -1] ?? "");
	return {
		line,
		orderId: cell("orderId"),
		eventType: cell("eventType"),
		decision: cell("decision"),
		reason: cell("reason"),
	};
}

function decode(bytes: Uint8Array): Result<string> {
	if (bytes.length > MAX_FILE_BYTES) {
		return refuse("body_too_large", "The file is larger than 10 MB. Split it into parts.", "file");
	}
	try {
		return succeed(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
	} catch {
		const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
		const what = isUtf16 ? "The file is in UTF-16" : `Line ${firstBrokenLine(bytes)} is not in UTF-8`;
		return refuse("malformed_file", `${what}. Save the file as “CSV UTF-8” and upload it again.`, "file");
	}
}

function firstBrokenLine(bytes: Uint8Array): number {
	const decoder = new TextDecoder("utf-8", { fatal: true });
	const LINE_FEED = 10;
	let line = 1;
	for (let start = 0; start <= bytes.length; line++) {
		const found = bytes.indexOf(LINE_FEED, start);
		const end = found === -1 ? bytes.length : found;
		try {
			decoder.decode(bytes.subarray(start, end));
		} catch {
			return line;
		}
		start = end + 1;
	}
	return line;
}

/** Spreadsheets write semicolons where the comma is the decimal sign, and tabs when asked for "text". */
function delimiterOf(firstLine: string): string {
	const counts = [",", ";", "\t"].map((sign) => ({ sign, count: firstLine.split(sign).length }));
	return counts.reduce((most, next) => (next.count > most.count ? next : most)).sign;
}

function* chunksOf(text: string): Generator<string> {
	for (let start = 0; start < text.length; start += CHUNK_CHARACTERS) {
		yield text.slice(start, start + CHUNK_CHARACTERS);
	}
}

function lineOf(error: CsvError): string {
	const lines: unknown = error["lines"];
	return typeof lines === "number" ? `Line ${lines}` : "The file";
}

function adviceOn(error: CsvError): string {
	switch (error.code) {
		case "CSV_QUOTE_NOT_CLOSED":
		case "CSV_MAX_RECORD_SIZE":
			return "a quotation mark is opened and never closed.";
		default:
			return "a quotation mark stands where none may be. Inside a quoted cell, write it twice.";
	}
}
