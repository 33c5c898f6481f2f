// The bytes of a file as blocks of whole lines, checked before the CSV parser sees them: in UTF-8, into which
// UTF-16 is brought first, and no line longer than a row can be. No more than a block is ever held.

import { isUtf8 } from "node:buffer";
import { type Fault, type FaultCode, fault } from "../domain/fault.ts";
import { groupDigits } from "../domain/grouped-digits.ts";

/** Of ours none comes near: an order id has 512 bytes at most. */
export const MAX_LINE_BYTES = 20_000;
/** As many as a spreadsheet has; those below what somebody wrote are saved as blank ones. */
export const MAX_SHEET_LINES = 1_048_576;
const LINE_FEED = 10;
const SAVE_AGAIN =
	"In Excel choose “Save as” and “CSV UTF-8”, in LibreOffice the character set “Unicode (UTF-8)”, and upload it again.";

/** Thrown through the streams between here and whoever reads the records, and a value again there. */
export class FileRefusedError extends Error {
	readonly fault: Fault;

	constructor(detail: string, code: FaultCode = "malformed_file") {
		super(detail);
		this.fault = fault(code, detail, "file");
	}
}

/** Excel's "Unicode text" is UTF-16; its byte order mark tells which of the two. Anything else is handed on as it is. */
export async function* asUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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
export async function* readWholeLines(
	bytes: AsyncIterable<Uint8Array>,
	maxLines: number,
): AsyncGenerator<Buffer> {
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
