// Reads a CSV file with commas, semicolons or tabs, in UTF-8 or UTF-16, with or without a byte order mark. A
// file that cannot be parsed is refused as a whole. The meaning of the lines is left to the caller.

import { pipeline, Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import * as z from "zod";
import { type Fault, fault } from "#core/domain/fault.ts";

/**
 * Maximum length of one record, with its separators and line breaks. Valid records are much smaller, because an order id
 * has at most 512 bytes.
 */
const MAX_LINE_LENGTH = 20_000;
/** Maximum number of cells of one record. Exports have fewer than 30 columns. */
const MAX_CELLS = 100;
/** Maximum number of records that have cells, but only empty ones. Spreadsheets write some below their last row. */
const MAX_BLANK = 50_000;
/**
 * Maximum number of records that have more or fewer columns than the header. The parser is twenty times
 * slower for these.
 */
const MAX_UNEVEN = 20_000;
/**
 * Length of the pieces in which text is passed to the parser. The parser blocks the event loop while it
 * handles a piece.
 */
const PIECE_LENGTH = 4_096;
const LINE_FEED = 10;

const PARSED = z.object({
	record: z.array(z.string()),
	info: z.object({ lines: z.number(), invalid_field_length: z.number() }),
});

export interface CsvRecord {
	/** Line number at which the record ends. */
	line: number;
	cells: readonly string[];
}

/** Refusal of the whole file. The message is shown to the person who uploaded it. */
export class FileRefusedError extends Error {
	readonly fault: Fault;

	constructor(detail: string) {
		super(detail);
		this.fault = fault("malformed_file", detail, "file");
	}
}

/**
 * Yields the header and then all records that are not blank. Calls `yieldLoop` between two pieces, so that
 * requests are served meanwhile. Throws a FileRefusedError if the file cannot be parsed.
 */
export async function* readRecords(
	bytes: AsyncIterable<Uint8Array>,
	yieldLoop: () => Promise<void>,
): AsyncGenerator<CsvRecord> {
	const texts = asText(bytes);
	let blank = 0;
	try {
		const { value: first = "" } = await texts.next();
		for await (const item of openParser(first, texts, yieldLoop)) {
			const { record: cells, info } = PARSED.parse(item);
			if (info.invalid_field_length > MAX_UNEVEN) {
				throw new FileRefusedError(
					`More than ${MAX_UNEVEN} lines have more or fewer cells than the first one. Save it again as CSV with the same columns in every line, and without blank lines at its end.`,
				);
			}
			if (cells.some((cell) => cell.trim() !== "")) yield { line: info.lines, cells };
			else if (++blank > MAX_BLANK) {
				throw new FileRefusedError(
					`More than ${MAX_BLANK} lines are blank. Delete the blank lines in the spreadsheet, and save it again as CSV.`,
				);
			}
		}
	} catch (error) {
		if (!(error instanceof CsvError)) throw error;
		const advice =
			error.code === "CSV_QUOTE_NOT_CLOSED"
				? "a quotation mark is opened and never closed."
				: "a quotation mark stands where none may be. Inside a quoted cell, write it twice.";
		throw new FileRefusedError(sayInvalid(Number(error["lines"]), advice));
	} finally {
		await texts.return(undefined);
	}
}

/** Matches the line "sep=;" that Excel writes first. It names the separator and is not a record. */
const SEPARATOR_LINE = /^"?sep=([,;\t])"?\r?\n/i;

function openParser(
	first: string,
	others: AsyncIterable<string>,
	yieldLoop: () => Promise<void>,
): AsyncIterable<unknown> {
	const delimiter = delimiterOf(first);
	const parser = parse({
		delimiter,
		info: true,
		relax_column_count: true,
		skip_empty_lines: true,
		record_delimiter: ["\r\n", "\n", "\r"],
	});
	const checkLines = createLineCheck(delimiter);
	async function* join(): AsyncGenerator<string> {
		// A blank line takes the place of the separator line, so that the line numbers stay correct.
		yield* inPieces(first.replace(SEPARATOR_LINE, "\n"));
		for await (const text of others) yield* inPieces(text);
	}
	async function* inPieces(text: string): AsyncGenerator<string> {
		for (let at = 0; at < text.length; at += PIECE_LENGTH) {
			await yieldLoop();
			const piece = text.slice(at, at + PIECE_LENGTH);
			checkLines(piece);
			yield piece;
		}
	}
	// The callback ignores errors, because the code that reads the records gets them as exceptions.
	return pipeline(Readable.from(join()), parser, () => undefined);
}

/**
 * Returns a function that checks the pieces of a file before the parser gets them. It throws if a record is too long or has
 * too many cells. The parser would make an object of each empty cell, which takes a hundred times the size of the file. A
 * quotation mark that is never closed turns the rest of the file into one record, which is also too long.
 */
function createLineCheck(delimiter: string): (piece: string) => void {
	const [quote, carriageReturn, separator] = ['"', "\r", delimiter].map((sign) => sign.charCodeAt(0));
	let isQuoted = false;
	let isAfterReturn = false;
	let line = 1;
	let cells = 1;
	let length = 0;
	return (piece) => {
		for (let at = 0; at < piece.length; at++) {
			const sign = piece.charCodeAt(at);
			const isReturn = sign === carriageReturn;
			if (sign === quote) isQuoted = !isQuoted;
			else if (sign === separator && !isQuoted) cells++;
			else if (isReturn || sign === LINE_FEED) {
				if (isReturn || !isAfterReturn) line++;
				if (!isQuoted) {
					cells = 1;
					length = 0;
				}
			}
			isAfterReturn = isReturn;
			length++;
			if (cells > MAX_CELLS) {
				throw new FileRefusedError(
					`Line ${line} has more than ${MAX_CELLS} cells. Delete the columns that are not needed, also empty ones, and save it again as CSV.`,
				);
			}
			if (length > MAX_LINE_LENGTH) throw new FileRefusedError(sayInvalid(line, TOO_LONG));
		}
	};
}

/**
 * Returns the separator of the file. Spreadsheets write semicolons if the comma is the decimal sign, and tabs
 * for the format "text". Some name the separator on the first line.
 */
function delimiterOf(text: string): string {
	const named = SEPARATOR_LINE.exec(text)?.[1];
	if (named !== undefined) return named;
	const [firstLine = ""] = /^[^\r\n]*/.exec(text) ?? [];
	const counts = [",", ";", "\t"].map((sign) => ({ sign, count: firstLine.split(sign).length }));
	return counts.reduce((most, next) => (next.count > most.count ? next : most)).sign;
}

const TOO_LONG = "it is too long for a row, or a quotation mark is opened and never closed.";

function sayInvalid(line: number, advice: string): string {
	return `Line ${line} is not valid CSV: ${advice}`;
}

/**
 * Decodes the file. The first yielded text contains the whole first line. Excel's "Unicode text" is UTF-16,
 * and its byte order mark says which byte comes first.
 */
async function* asText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
	let decoder: TextDecoder | undefined;
	let first = Buffer.alloc(0);
	for await (const chunk of bytes) {
		if (decoder !== undefined) {
			yield decode(decoder, chunk);
			continue;
		}
		first = Buffer.concat([first, chunk]);
		if (first.length < MAX_LINE_LENGTH && !first.includes(LINE_FEED)) continue;
		decoder = decoderFor(first);
		yield decode(decoder, first);
	}
	if (decoder === undefined) {
		decoder = decoderFor(first);
		yield decode(decoder, first);
	}
	yield decode(decoder, null);
}

/** First bytes, in hexadecimal, of formats that people upload by mistake, with advice for each format. */
const OTHER_FILES: readonly [start: string, advice: string][] = [
	[
		"504b0304",
		"The file is a workbook or an archive, not a CSV file. In Excel choose “Save as” and “CSV UTF-8”, in LibreOffice “Text CSV”, and upload that file.",
	],
	["d0cf11e0", "The file is an old workbook, not a CSV file. Open it, save it as CSV, and upload that file."],
	["89504e47", "The file is a picture, not a CSV file. Choose the CSV file."],
	["ffd8ff", "The file is a picture, not a CSV file. Choose the CSV file."],
	["25504446", "The file is a PDF document, not a CSV file. Export the table as CSV, and upload that file."],
];

function refuseOtherFiles(first: Uint8Array): void {
	const start = Buffer.from(first.subarray(0, 4)).toString("hex");
	const other = OTHER_FILES.find(([known]) => start.startsWith(known));
	if (other !== undefined) throw new FileRefusedError(other[1]);
}

function decoderFor(bytes: Uint8Array): TextDecoder {
	refuseOtherFiles(bytes);
	const [first, second] = bytes;
	const isMarked = first !== undefined && second !== undefined && first + second === 0xff + 0xfe;
	const name = !isMarked ? "utf-8" : first === 0xff ? "utf-16le" : "utf-16be";
	return new TextDecoder(name, { fatal: true });
}

/** Decodes a chunk, or flushes the decoder if the chunk is null, at the end of the file. */
function decode(decoder: TextDecoder, chunk: Uint8Array | null): string {
	try {
		return chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true });
	} catch {
		// The file is probably in Windows-1252, which Excel writes as plain "CSV". It is refused, because a wrong
		// guess could turn an order id into another one.
		throw new FileRefusedError(
			"The file has letters that are not in UTF-8, as one that was saved as plain “CSV” on Windows. In Excel choose “Save as” and “CSV UTF-8”, in LibreOffice the character set “Unicode (UTF-8)”, and upload it again.",
		);
	}
}
