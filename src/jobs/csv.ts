// Reads a CSV file with commas, semicolons or tabs, in UTF-8 or UTF-16, with or without a byte order mark. A
// file that cannot be parsed is refused as a whole. The meaning of the lines is left to the caller.

import { pipeline, Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import * as z from "zod";
import { type Fault, fault } from "../domain/fault.ts";

/** Maximum size of one record. Valid records are much smaller, because an order id has at most 512 bytes. */
const MAX_LINE_BYTES = 20_000;
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
		}
	} catch (error) {
		if (!(error instanceof CsvError)) throw error;
		throw new FileRefusedError(`Line ${error["lines"]} is not valid CSV: ${adviceOn(error)}`);
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
	const parser = parse({
		delimiter: delimiterOf(first),
		info: true,
		relax_column_count: true,
		skip_empty_lines: true,
		// Without this limit, a quotation mark that is never closed would turn the rest of the file into one
		// record.
		max_record_size: MAX_LINE_BYTES,
	});
	async function* join(): AsyncGenerator<string> {
		// A blank line takes the place of the separator line, so that the line numbers stay correct.
		yield* inPieces(first.replace(SEPARATOR_LINE, "\n"));
		for await (const text of others) yield* inPieces(text);
	}
	async function* inPieces(text: string): AsyncGenerator<string> {
		for (let at = 0; at < text.length; at += PIECE_LENGTH) {
			await yieldLoop();
			yield text.slice(at, at + PIECE_LENGTH);
		}
	}
	// The callback ignores errors, because the code that reads the records gets them as exceptions.
	return pipeline(Readable.from(join()), parser, () => undefined);
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

function adviceOn({ code }: CsvError): string {
	switch (code) {
		case "CSV_QUOTE_NOT_CLOSED":
			return "a quotation mark is opened and never closed.";
		case "CSV_MAX_RECORD_SIZE":
			return "it is too long for a row, or a quotation mark is opened and never closed.";
		default:
			return "a quotation mark stands where none may be. Inside a quoted cell, write it twice.";
	}
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
		if (first.length < MAX_LINE_BYTES && !first.includes(LINE_FEED)) continue;
		decoder = decoderFor(first);
		yield decode(decoder, first);
	}
	if (decoder === undefined) {
		decoder = decoderFor(first);
		yield decode(decoder, first);
	}
	yield decode(decoder, null);
}

function decoderFor([first, second]: Uint8Array): TextDecoder {
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
