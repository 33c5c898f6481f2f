// Reads a CSV file as people's programs write it: with commas, semicolons or tabs, in UTF-8 or UTF-16, with or without a
// byte order mark. What is wrong with the file as a whole refuses it. What its lines mean is the caller's.

import { isUtf8 } from "node:buffer";
import { pipeline, Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import * as z from "zod";
import { BATCH_ROWS } from "../conversions/deps.ts";
import { type Fault, type FaultCode, fault } from "../domain/fault.ts";
import { groupDigits } from "../domain/grouped-digits.ts";

/** Of ours none comes near: an order id has 512 bytes at most. */
const MAX_LINE_BYTES = 20_000;
/** As many as a spreadsheet has; those below what somebody wrote are saved as blank ones. */
export const MAX_SHEET_LINES = 1_048_576;
const LINE_FEED = 10;
const SAVE_AGAIN =
	"In Excel choose “Save as” and “CSV UTF-8”, in LibreOffice the character set “Unicode (UTF-8)”, and upload it again.";

const PARSED = z.object({ record: z.array(z.string()), info: z.object({ lines: z.number() }) });

export interface CsvRecord {
	/** Where it ends in the file. */
	line: number;
	cells: readonly string[];
}

/** What is wrong with a file as a whole. */
export class FileRefusedError extends Error {
	readonly fault: Fault;

	constructor(detail: string, code: FaultCode = "malformed_file") {
		super(detail);
		this.fault = fault(code, detail, "file");
	}
}

/**
 * The records without blank ones, the header first. `maxLines` counts the blank ones; `yieldLoop` lets everybody else get
 * on in between. Throws a FileRefusedError where the file is none.
 */
export async function* readRecords(
	bytes: AsyncIterable<Uint8Array>,
	maxLines: number,
	yieldLoop: () => Promise<void>,
): AsyncGenerator<CsvRecord> {
	const blocks = readWholeLines(asUtf8(bytes), maxLines);
	try {
		const first = await blocks.next();
		if (first.done === true) return;
		let seen = 0;
		for await (const item of openParser(first.value, blocks)) {
			// Blank rows count too: spreadsheets write them by the hundred thousand.
			if (seen++ % BATCH_ROWS === 0) await yieldLoop();
			const { record: cells, info } = PARSED.parse(item);
			if (seen === 1 && isSeparatorLine(cells)) continue;
			if (cells.some((cell) => cell.trim() !== "")) yield { line: info.lines, cells };
		}
	} catch (error) {
		if (!(error instanceof CsvError)) throw error;
		throw new FileRefusedError(`${lineOf(error)} is not valid CSV: ${adviceOn(error)}`);
	} finally {
		await blocks.return(undefined);
	}
}

function openParser(first: Buffer, others: AsyncIterable<Buffer>): AsyncIterable<unknown> {
	const parser = parse({
		delimiter: delimiterOf(first.toString("utf8", 0, MAX_LINE_BYTES)),
		bom: true,
		info: true,
		relax_column_count: true,
		skip_empty_lines: true,
		// A quote that is never closed would otherwise swallow the file.
		max_record_size: MAX_LINE_BYTES,
	});
	// Whatever goes wrong on the way is thrown to whoever reads the records.
	return pipeline(Readable.from(joinBlocks(first, others)), parser, () => undefined);
}

async function* joinBlocks(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
	yield first;
	yield* others;
}

const SEPARATOR_LINE = /^\u{FEFF}?"?sep=([,;\t])"?\r?\n/iu;

/** Spreadsheets write semicolons where the comma is the decimal sign, and tabs when asked for "text". Some say so first. */
function delimiterOf(text: string): string {
	const said = SEPARATOR_LINE.exec(text)?.[1];
	if (said !== undefined) return said;
	const [firstLine = ""] = /^[^\r\n]*/.exec(text) ?? [];
	const counts = [",", ";", "\t"].map((sign) => ({ sign, count: firstLine.split(sign).length }));
	return counts.reduce((most, next) => (next.count > most.count ? next : most)).sign;
}

/** "sep=;" as the parser sees it: the sign that it names has parted it. */
function isSeparatorLine(record: readonly string[]): boolean {
	const [first = "", ...others] = record;
	return /^sep=[,;\t]?$/i.test(first) && others.every((cell) => cell === "");
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

// The bytes as blocks of whole lines, checked before the CSV parser sees them: in UTF-8, into which UTF-16 is brought
// first, and no line longer than a row can be. No more than a block is ever held.

/** Excel's "Unicode text" is UTF-16; its byte order mark tells which of the two. Anything else is handed on as it is. */
async function* asUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
	let decoder: TextDecoder | null | undefined;
	let first = Buffer.alloc(0);
	for await (const chunk of bytes) {
		if (decoder !== undefined) {
			yield decoder === null ? chunk : decode(decoder, chunk);
			continue;
		}
		first = Buffer.concat([first, chunk]);
		if (first.length < 2) continue;
		decoder = decoderFor(first);
		yield decoder === null ? first : decode(decoder, first);
	}
	if (decoder === undefined) yield first;
	else if (decoder !== null) yield decode(decoder, null);
}

function decoderFor([first, second]: Uint8Array): TextDecoder | null {
	if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le", { fatal: true });
	if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be", { fatal: true });
	return null;
}

/** Null at the end of the file. */
function decode(decoder: TextDecoder, chunk: Uint8Array | null): Buffer {
	try {
		return Buffer.from(chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true }));
	} catch {
		throw new FileRefusedError(`The file is in UTF-16 and broken. ${SAVE_AGAIN}`);
	}
}

/** However little is on them, lines take their time: blank ones are counted, too. */
async function* readWholeLines(bytes: AsyncIterable<Uint8Array>, maxLines: number): AsyncGenerator<Buffer> {
	let rest = Buffer.alloc(0);
	let line = 1;
	for await (const chunk of bytes) {
		const block = Buffer.concat([rest, chunk]);
		const end = block.lastIndexOf(LINE_FEED) + 1;
		const lines = block.subarray(0, end);
		line = checkLines(lines, line);
		if (line - 1 > maxLines) throw refuseLines(maxLines);
		rest = block.subarray(end);
		// Said as soon as it is known: what follows could be the rest of the file.
		if (rest.length > MAX_LINE_BYTES) checkLines(rest, line);
		if (lines.length > 0) yield lines;
	}
	checkLines(rest, line);
	if (rest.length > 0) yield rest;
}

/** Returns the number of the line behind them. */
function checkLines(lines: Buffer, firstLine: number): number {
	const isText = isUtf8(lines);
	let line = firstLine;
	for (let start = 0; start < lines.length; line++) {
		const found = lines.indexOf(LINE_FEED, start);
		const end = found === -1 ? lines.length : found;
		if (end - start > MAX_LINE_BYTES) {
			throw new FileRefusedError(`Line ${line} is too long for a row.`);
		}
		if (!isText && !isUtf8(lines.subarray(start, end))) throw refuseEncoding(line);
		start = end + 1;
	}
	return line;
}

function refuseLines(maxLines: number): FileRefusedError {
	const detail = `The file has more than ${groupDigits(maxLines)} lines, blank ones counted. Delete the blank lines at its end, or split it into parts.`;
	return new FileRefusedError(detail, "too_many_rows");
}

function refuseEncoding(line: number): FileRefusedError {
	// Most likely Windows-1252, which Excel writes as plain "CSV". Guessing could make another order of it.
	return new FileRefusedError(
		`Line ${line} has letters that are not in UTF-8, as in a file that was saved as plain “CSV” on Windows. ${SAVE_AGAIN}`,
	);
}
