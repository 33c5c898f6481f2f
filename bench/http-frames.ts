// Where a request ends on a socket, by its Content-Length and nothing more: so that whoever sends is what is measured.

const HEADER_END = Buffer.from("\r\n\r\n");
const LENGTH_NAME = Buffer.from("ontent-");
const CARRIAGE_RETURN = 13;
const DIGIT_ZERO = 48;

export interface Frame {
	bodyStart: number;
	end: number;
}

/** The first whole message in `bytes`; undefined when there is none yet. Works for answers too. */
export function findFrame(bytes: Buffer): Frame | undefined {
	const headerEnd = bytes.indexOf(HEADER_END);
	if (headerEnd === -1) return undefined;
	const bodyStart = headerEnd + HEADER_END.length;
	const end = bodyStart + contentLength(bytes, headerEnd);
	return end <= bytes.length ? { bodyStart, end } : undefined;
}

/** Zero where there is none, as in a 204. Content-Type may come first. */
function contentLength(bytes: Buffer, headerEnd: number): number {
	let at = bytes.indexOf(LENGTH_NAME);
	// The next letter tells "length" from "type".
	while (at !== -1 && at < headerEnd && ((bytes[at + 7] ?? 0) | 32) !== 108) {
		at = bytes.indexOf(LENGTH_NAME, at + 7);
	}
	if (at === -1 || at >= headerEnd) return 0;
	let length = 0;
	for (let next = at + "ontent-length: ".length; bytes[next] !== CARRIAGE_RETURN; next++) {
		length = length * 10 + (bytes[next] ?? DIGIT_ZERO) - DIGIT_ZERO;
	}
	return length;
}
