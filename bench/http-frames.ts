// Finds the end of an HTTP message in the bytes of a socket by its Content-Length alone, so that parsing
// costs next to nothing.

const HEADER_END = Buffer.from("\r\n\r\n");
const LENGTH_NAME = Buffer.from("ontent-");
const CARRIAGE_RETURN = 13;
const DIGIT_ZERO = 48;

export interface Frame {
	bodyStart: number;
	end: number;
}

/**
 * Returns the first complete message in `bytes`, or undefined if there is none yet. Works for requests and
 * answers.
 */
export function findHttpFrame(bytes: Buffer): Frame | undefined {
	const headerEnd = bytes.indexOf(HEADER_END);
	if (headerEnd === -1) return undefined;
	const bodyStart = headerEnd + HEADER_END.length;
	const end = bodyStart + contentLength(bytes, headerEnd);
	return end <= bytes.length ? { bodyStart, end } : undefined;
}

/** Returns the value of the Content-Length header, or zero if there is none, as in a 204. */
function contentLength(bytes: Buffer, headerEnd: number): number {
	let at = bytes.indexOf(LENGTH_NAME);
	// The search also finds Content-Type, so the letter after "Content-" is compared with "l".
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
