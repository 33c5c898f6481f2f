// The bytes of an uploaded file as blocks of whole lines, checked before the CSV parser sees them: in UTF-8, and no
// line longer than a row of decisions can be. No more than a block is ever held.

import { isUtf8 } from "node:buffer";
import { type Fault, fault } from "../domain/fault.ts";

/** Of ours none comes near: an order id has 512 bytes at most. */
export const MAX_LINE_BYTES = 20_000;
const LINE_FEED = 10;

/** Thrown through the streams between here and whoever reads the records, and a value again there. */
export class FileRefusedError extends Error {
	readonly fault: Fault;

	constructor(detail: string) {
		super(detail);
		this.fault = fault("malformed_file", detail, "file");
	}
}

export async function* readWholeLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
	let rest = Buffer.alloc(0);
	let line = 1;
	for await (const chunk of bytes) {
		const block = Buffer.concat([rest, chunk]);
		const end = block.lastIndexOf(LINE_FEED) + 1;
		const lines = block.subarray(0, end);
		line = checkLines(lines, line);
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
			throw new FileRefusedError(`Line ${line} is too long for a row of decisions.`);
		}
		if (!isText && !isUtf8(lines.subarray(start, end))) throw refuseEncoding(lines, line);
		start = end + 1;
	}
	return line;
}

function refuseEncoding(lines: Buffer, line: number): FileRefusedError {
	const [first, second] = lines;
	const isUtf16 = line === 1 && ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff));
	const what = isUtf16 ? "The file is in UTF-16" : `Line ${line} is not in UTF-8`;
	return new FileRefusedError(`${what}. Save the file as “CSV UTF-8” and upload it again.`);
}
