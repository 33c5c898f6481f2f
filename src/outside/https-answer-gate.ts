// Stands between a shop's socket and undici's parser, for two things the parser does not do: it takes a 100
// that nobody asked for as the end of everything, and it puts no bound on what is neither header nor body.
//
//   idle ──expect──▶ before the answer: announcements (1xx) are taken away ──another status──▶ answer ──expect…
//
// Idle, everything passes: undici ends a connection on which bytes arrive that nobody asked for. Every byte is
// looked at once, however small the pieces are that it comes in: otherwise tiny pieces would cost us seconds.

import type { Readable } from "node:stream";

export interface AnswerGate {
	/** A request is being written: from here on the bytes of its answer come, and are counted. */
	expect(): void;
}

/**
 * The 16 KiB of headers and 64 KiB of body that are read, 16 KiB of announcements, and the frames of chunks.
 * Without it a shop could have us parse empty lines or chunk extensions as fast as the network brings them,
 * for five seconds each time.
 */
const MAX_ANSWER_BYTES = 128 * 1_024;
/** Of all announcements of one answer together: as much as its headers may have. */
const MAX_ANNOUNCED_BYTES = 16 * 1_024;
const BEGINNING = Buffer.from("HTTP/1.1 1");
/** 101 is none: it is the answer to an upgrade that we never ask for (RFC 9110 section 15.2.2). */
const ANNOUNCING_STATUS = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
const STATUS_BYTES = "HTTP/1.1 100 ".length;
const NOTHING = Buffer.alloc(0);
/** Only CR LF ends a line, and only an empty line ends the whole. Anything else breaks it. */
const END_OR_BREAK = /\r\n\r\n|[^\r]\n|\r[^\n]/;
const END = "\r\n\r\n";

export function placeAnswerGate(socket: Readable): AnswerGate {
	const read = socket.read.bind(socket);
	let takenBytes = 0;
	let announcedBytes = 0;
	let isBeforeAnswer = false;
	let isCut = false;
	/** Too little to tell whether an announcement begins: less than STATUS_BYTES. */
	let undecided: Buffer = NOTHING;
	/** Of the announcement that has begun, the last bytes, in which its end may have begun; null while none has. */
	let tail: string | null = null;

	function cut(code: "ANSWER_TOO_LARGE" | "BROKEN_ANSWER"): void {
		isCut = true;
		socket.destroy(Object.assign(new Error("the answer is not read any further"), { code }));
	}

	/** What is left for the parser. */
	function skipAnnouncements(chunk: Buffer): Buffer {
		let bytes = undecided.length === 0 ? chunk : Buffer.concat([undecided, chunk]);
		undecided = NOTHING;
		while (bytes.length > 0 && !isCut) {
			if (tail === null) {
				const beginning = judgeBeginning(bytes);
				if (beginning === "undecided") {
					// A copy: these few bytes must not keep the whole piece in memory.
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

	/** What is behind it, or behind as much of it as has come. */
	function skipAnnouncement(bytes: Buffer, before: string): Buffer {
		const text = before + bytes.toString("latin1");
		const found = END_OR_BREAK.exec(text);
		const length = (found === null ? text.length : found.index + found[0].length) - before.length;
		tail = found === null ? text.slice(1 - END.length) : null;
		announcedBytes += length;
		if (announcedBytes > MAX_ANNOUNCED_BYTES) cut("ANSWER_TOO_LARGE");
		// The parser would not take it either; and with a bare LF, the end would be looked for in the answer proper.
		else if (found !== null && found[0] !== END) cut("BROKEN_ANSWER");
		return bytes.subarray(length);
	}

	socket.read = (size) => {
		while (!isCut) {
			const chunk: Buffer | null = read(size);
			if (chunk === null) return null;
			// What begins beyond the bound: a status in the same piece as too much body has still been read.
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
	const known = Math.min(bytes.length, BEGINNING.length);
	if (BEGINNING.compare(bytes, 0, known, 0, known) !== 0) return "answer";
	if (bytes.length < STATUS_BYTES) return "undecided";
	return ANNOUNCING_STATUS.test(bytes.toString("latin1", 0, STATUS_BYTES)) ? "announcement" : "answer";
}
