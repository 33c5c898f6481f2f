// The beginning of an answer that is not 2xx, taken from the body as it is read away. Its status is settled by then, and
// nothing here can change it, or hold the attempt open: enough bytes, the body's end, half a second or the attempt's own
// end, whichever comes first.

import { type AnswerHeaders, KEPT_BODY_BYTES, type KeptAnswer, keepAnswer } from "../domain/kept-answer.ts";

/** An error page comes with its headers or right behind; a shop that drips its own gets no more of our time. */
export const KEEP_MS = 500;

export interface AnswerKeeper {
	readonly kept: Promise<KeptAnswer>;
	take(piece: Buffer): void;
	/** `isWhole`: the body has come to its end. The first call counts. */
	end(isWhole: boolean): void;
}

export function keepBeginning(headers: AnswerHeaders): AnswerKeeper {
	const { promise, resolve } = Promise.withResolvers<KeptAnswer>();
	/** Copies: pieces are parts of what the socket read, which would stay in memory with them. */
	let body: Buffer = Buffer.alloc(0);
	let isEnded = false;
	const timer = setTimeout(() => end(false), KEEP_MS).unref();

	function end(isWhole: boolean): void {
		if (isEnded) return;
		isEnded = true;
		clearTimeout(timer);
		resolve(keepAnswer(headers, body, !isWhole));
	}

	return {
		kept: promise,
		end,
		take(piece) {
			if (isEnded) return;
			// One byte more than is kept: it tells that there was more.
			body = Buffer.concat([body, piece.subarray(0, KEPT_BODY_BYTES + 1 - body.length)]);
			if (body.length > KEPT_BODY_BYTES) end(false);
		},
	};
}
