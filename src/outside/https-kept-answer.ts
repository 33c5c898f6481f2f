// Collects the beginning of an answer that is not 2xx, so that the page can show it. The attempt is already
// settled, and nothing here can change its outcome or keep it open. Collecting ends with enough bytes, the
// end of the body, half a second, or the end of the attempt, whichever comes first.

import { type AnswerHeaders, KEPT_BODY_BYTES, type KeptAnswer, keepAnswer } from "../domain/kept-answer.ts";

/**
 * Time to wait for the body. An error page arrives with its headers or right after them, and a shop that
 * sends slowly gets no more of our time.
 */
export const KEEP_MS = 500;

export interface AnswerKeeper {
	readonly kept: Promise<KeptAnswer>;
	take(piece: Buffer): void;
	/** Ends the collection. `isWhole` says whether the body is complete. Only the first call counts. */
	end(isWhole: boolean): void;
}

export function keepBeginning(headers: AnswerHeaders): AnswerKeeper {
	const { promise, resolve } = Promise.withResolvers<KeptAnswer>();
	/** The bytes are copied, because slices would keep the socket's chunks in memory. */
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
			// One byte more than is stored shows that the body was longer.
			body = Buffer.concat([body, piece.subarray(0, KEPT_BODY_BYTES + 1 - body.length)]);
			if (body.length > KEPT_BODY_BYTES) end(false);
		},
	};
}
