// Collects the beginning of an answer that is not 2xx, so that a page can show it. The outcome of the attempt
// is already decided, and reading the body cannot change it. Collecting ends when enough bytes have arrived,
// when the body ends, after half a second, or at the deadline of the attempt, whichever comes first.

import {
	type AnswerExcerpt,
	type AnswerHeaders,
	EXCERPT_BODY_BYTES,
	excerptAnswer,
} from "#core/domain/answer-excerpt.ts";

/**
 * Time to wait for the body. An error page arrives with its headers or right after them. A shop that sends
 * slowly gets no more time.
 */
export const EXCERPT_WAIT_MS = 500;

export interface ExcerptReader {
	readonly excerpt: Promise<AnswerExcerpt>;
	take(piece: Buffer): void;
	/** Ends the collection. `isWhole` says whether the body is complete. Only the first call has an effect. */
	end(isWhole: boolean): void;
}

export function startExcerpt(headers: AnswerHeaders): ExcerptReader {
	const { promise, resolve } = Promise.withResolvers<AnswerExcerpt>();
	/** Collected bytes. They are copied, because slices would keep whole chunks of the socket in memory. */
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
			// One byte more than can be stored is collected, to find out whether the body is longer.
			body = Buffer.concat([body, piece.subarray(0, EXCERPT_BODY_BYTES + 1 - body.length)]);
			if (body.length > EXCERPT_BODY_BYTES) end(false);
		},
	};
}
