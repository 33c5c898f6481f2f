// Collects the beginning of an answer that is not 2xx, so that the page can show it. The attempt is already
// settled, and nothing here can change its outcome or keep it open. Collecting ends with enough bytes, the
// end of the body, half a second, or the end of the attempt, whichever comes first.

import {
	type AnswerExcerpt,
	type AnswerHeaders,
	EXCERPT_BODY_BYTES,
	excerptAnswer,
} from "../domain/answer-excerpt.ts";

/**
 * Time to wait for the body. An error page arrives with its headers or right after them, and a shop that
 * sends slowly gets no more of our time.
 */
export const EXCERPT_WAIT_MS = 500;

export interface ExcerptReader {
	readonly excerpt: Promise<AnswerExcerpt>;
	take(piece: Buffer): void;
	/** Ends the collection. `isWhole` says whether the body is complete. Only the first call counts. */
	end(isWhole: boolean): void;
}

export function startExcerpt(headers: AnswerHeaders): ExcerptReader {
	const { promise, resolve } = Promise.withResolvers<AnswerExcerpt>();
	/** The bytes are copied, because slices would keep the socket's chunks in memory. */
	let body: Buffer = Buffer.alloc(0);
	let isEnded = false;
	const timer = setTimeout(() => end(false), EXCERPT_WAIT_MS).unref();

	function end(isWhole: boolean): void {
		if (isEnded) return;
		isEnded = true;
		clearTimeout(timer);
		resolve(excerptAnswer(headers, body, !isWhole));
	}

	return {
		excerpt: promise,
		end,
		take(piece) {
			if (isEnded) return;
			// One byte more than is stored shows that the body was longer.
			body = Buffer.concat([body, piece.subarray(0, EXCERPT_BODY_BYTES + 1 - body.length)]);
			if (body.length > EXCERPT_BODY_BYTES) end(false);
		},
	};
}
