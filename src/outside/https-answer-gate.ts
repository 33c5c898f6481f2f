// Stands between a shop's socket and undici's parser, for two things the parser does not do: it takes a 100
// that nobody asked for as the end of everything, and it puts no bound on what is neither header nor body.
//
//   idle ──expect──▶ before the answer: announcements (1xx) are taken away ──another status──▶ answer ──expect…
//
// Idle, everything passes: undici ends a connection on which bytes arrive that nobody asked for.

import type { TLSSocket } from "node:tls";

export interface AnswerGate {
	/** A request is being written: from here on the bytes of its answer come, and are counted. */
	expect(): void;
}

/**
 * The 16 KiB of headers and 64 KiB of body that are read, and about as much for announcements and the frames
 * of chunks. Without it a shop could have us parse empty lines or chunk extensions as fast as the network
 * brings them, for five seconds each time.
 */
const MAX_ANSWER_BYTES = 128 * 1_024;
const BEGINNING = Buffer.from("HTTP/1.1 1");
/** 101 is none: it is the answer to a wish that we never have (RFC 9110 section 15.2.2). */
const ANNOUNCING_STATUS = /^HTTP\/1\.1 1(?!01)\d\d[ \r]/;
const STATUS_BYTES = "HTTP/1.1 100 ".length;
/** No line may end otherwise: with a bare LF in it, the end would be looked for in the answer proper. */
const WELL_FORMED = /^[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n$/;
const HEAD_END = "\r\n\r\n";
const NOTHING = Buffer.alloc(0);

export function placeAnswerGate(socket: TLSSocket): AnswerGate {
	const read = socket.read.bind(socket);
	let takenBytes = 0;
	let isBeforeAnswer = false;
	/** The beginning of an announcement, or of what may become one. */
	let held: Buffer = NOTHING;

	/** What is left for the parser; nothing while it may still be an announcement. */
	function skipAnnouncements(chunk: Buffer): Buffer {
		let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
		held = NOTHING;
		while (bytes.length > 0) {
			const length = measureAnnouncement(bytes);
			if (length === null) {
				held = bytes;
				return NOTHING;
			}
			if (length === 0) {
				isBeforeAnswer = false;
				return bytes;
			}
			bytes = bytes.subarray(length);
		}
		return bytes;
	}

	socket.read = (size) => {
		for (;;) {
			const chunk: Buffer | null = read(size);
			if (chunk === null) return null;
			// What begins beyond the bound: a status in the same piece as too much body has still been read.
			if (takenBytes > MAX_ANSWER_BYTES) {
				socket.destroy(Object.assign(new Error("the answer is too large"), { code: "ANSWER_TOO_LARGE" }));
				return null;
			}
			takenBytes += chunk.length;
			const passed = isBeforeAnswer ? skipAnnouncements(chunk) : chunk;
			if (passed.length > 0) return passed;
		}
	};

	return {
		expect() {
			takenBytes = 0;
			isBeforeAnswer = true;
			held = NOTHING;
		},
	};
}

/** The length of the announcement at the beginning; 0 when there is none, null when more must come to tell. */
function measureAnnouncement(bytes: Buffer): number | null {
	const known = Math.min(bytes.length, BEGINNING.length);
	if (BEGINNING.compare(bytes, 0, known, 0, known) !== 0) return 0;
	if (bytes.length < STATUS_BYTES) return null;
	if (!ANNOUNCING_STATUS.test(bytes.toString("latin1", 0, STATUS_BYTES))) return 0;
	const end = bytes.indexOf(HEAD_END);
	if (end === -1) return null;
	const length = end + HEAD_END.length;
	return WELL_FORMED.test(bytes.toString("latin1", 0, length)) ? length : 0;
}
