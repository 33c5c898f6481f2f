// Filters the bytes of a shop before undici's parser reads them. The parser ends the connection at an
// unsolicited 100 status, and it has no limit for bytes that are neither header nor body.
//
//   idle ──expect──▶ before the answer: informational answers (1xx) are removed ──another status──▶ answer ──expect…
//
// While idle, everything passes, because undici closes a connection that receives unsolicited bytes. Every
// byte is examined only once, however small the chunks are. Otherwise tiny chunks would cost seconds of
// processor time.

import type { Readable } from "node:stream";

export interface AnswerGate {
	/** Starts to filter and count the bytes of the answer to the request that is being sent. */
	expect(): void;
}

/**
 * Maximum size of an answer. It allows 16 KiB of headers, 64 KiB of body, 16 KiB of informational answers,
 * and the chunk frames. Without a limit, a shop could make us parse empty lines or chunk extensions at full
 * network speed for five seconds per attempt.
 */
const MAX_ANSWER_BYTES = 128 * 1_024;
/** Maximum size of all informational answers before an answer. The same limit applies to its headers. */
const MAX_ANNOUNCED_BYTES = 16 * 1_024;
const BEGINNING = Buffer.from("HTTP/1.1 1");
/**
 * Start of an informational answer. Status 101 is excluded, because it answers an upgrade, which we never
 * request (RFC 9110 section 15.2.2).
 */
const ANNOUNCING_STATUS = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
const STATUS_BYTES = "HTTP/1.1 100 ".length;
const NOTHING = Buffer.alloc(0);
/**
 * Matches the end of a head, or a line break that HTTP does not allow. Only CR LF ends a line, and only an
 * empty line ends the head.
 */
const END_OR_BREAK = /\r\n\r\n|[^\r]\n|\r[^\n]/;
const END = "\r\n\r\n";

export function placeAnswerGate(socket: Readable): AnswerGate {
	const read = socket.read.bind(socket);
	let takenBytes = 0;
	let announcedBytes = 0;
	let isBeforeAnswer = false;
	let isCut = false;
	/** First bytes of an answer, fewer than STATUS_BYTES, that do not yet show whether it is informational. */
	let undecided: Buffer = NOTHING;
	/**
	 * Last bytes of the informational answer that is being skipped, because its end may be split between two chunks.
	 * Null if none is being skipped.
	 */
	let tail: string | null = null;

	function cut(code: "ANSWER_TOO_LARGE" | "BROKEN_ANSWER"): void {
		isCut = true;
		socket.destroy(Object.assign(new Error("the answer is not read any further"), { code }));
	}

	/** Removes informational answers from the chunk, and returns the remaining bytes for the parser. */
	function skipAnnouncements(chunk: Buffer): Buffer {
		let bytes = undecided.length === 0 ? chunk : Buffer.concat([undecided, chunk]);
		undecided = NOTHING;
		while (bytes.length > 0 && !isCut) {
			if (tail === null) {
				const beginning = judgeBeginning(bytes);
				if (beginning === "undecided") {
					// The bytes are copied, because a slice would keep the whole chunk in memory.
					undecided = Buffer.from(bytes);
					return NOTHING;
				}
				if (beginning === "answer") {
					isBeforeAnswer = false;
					return bytes;
				}
				tail = "";
			}
			bytes = skipAnnouncement(bytes, tail);
		}
		return NOTHING;
	}

	/** Returns the bytes after the informational answer, or no bytes if its end has not arrived. */
	function skipAnnouncement(bytes: Buffer, before: string): Buffer {
		const text = before + bytes.toString("latin1");
		const found = END_OR_BREAK.exec(text);
		const length = (found === null ? text.length : found.index + found[0].length) - before.length;
		tail = found === null ? text.slice(1 - END.length) : null;
		announcedBytes += length;
		if (announcedBytes > MAX_ANNOUNCED_BYTES) cut("ANSWER_TOO_LARGE");
		// The parser would refuse such a line break, too. If the gate skipped it, the search for the end would continue
		// into the real answer.
		else if (found !== null && found[0] !== END) cut("BROKEN_ANSWER");
		return bytes.subarray(length);
	}

	socket.read = (size) => {
		while (!isCut) {
			const chunk: Buffer | null = read(size);
			if (chunk === null) return null;
			// Only the chunk after the limit is refused. A status that arrived in one chunk with too much body still counts.
			if (takenBytes > MAX_ANSWER_BYTES) cut("ANSWER_TOO_LARGE");
			takenBytes += chunk.length;
			const passed = isBeforeAnswer ? skipAnnouncements(chunk) : chunk;
			if (passed.length > 0 && !isCut) return passed;
		}
		return null;
	};

	return {
		expect() {
			takenBytes = 0;
			announcedBytes = 0;
			isBeforeAnswer = true;
			undecided = NOTHING;
			tail = null;
		},
	};
}

function judgeBeginning(bytes: Buffer): "announcement" | "answer" | "undecided" {
	const comparedBytes = Math.min(bytes.length, BEGINNING.length);
	if (BEGINNING.compare(bytes, 0, comparedBytes, 0, comparedBytes) !== 0) return "answer";
	if (bytes.length < STATUS_BYTES) return "undecided";
	return ANNOUNCING_STATUS.test(bytes.toString("latin1", 0, STATUS_BYTES)) ? "announcement" : "answer";
}
