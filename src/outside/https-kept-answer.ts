// The beginning of an answer that is not 2xx, taken from the body as it is read away. Its status is settled by then, and
// nothing here can change it, or hold the attempt open: enough bytes, the body's end, half a second or the attempt's own
// end, whichever comes first.

import { type AnswerHeaders, KEPT_BODY_BYTES, type KeptAnswer, keepAnswer } from "../domain/kept-answer.ts";
import { createDeadlines, type Expiring } from "./https-deadlines.ts";

/** An error page comes with its headers or right behind; a shop that drips its own gets no more of our time. */
export const KEEP_MS = 500;

type KeepAnswer = (headers: AnswerHeaders) => AnswerKeeper;

export function createAnswerKeepers(): KeepAnswer {
	const deadlines = createDeadlines<AnswerKeeper>(KEEP_MS);
	return (headers) => {
		const keeper = new AnswerKeeper(headers, () => deadlines.remove(keeper));
		deadlines.add(keeper);
		return keeper;
	};
}

export class AnswerKeeper implements Expiring {
	readonly startedAtMs: number = performance.now();
	readonly kept: Promise<KeptAnswer>;

	readonly #headers: AnswerHeaders;
	readonly #onEnd: () => void;
	readonly #resolve: (answer: KeptAnswer) => void;
	/** Copies: pieces are parts of what the socket read, which would stay in memory with them. */
	#body: Buffer = Buffer.alloc(0);
	#isEnded = false;

	constructor(headers: AnswerHeaders, onEnd: () => void) {
		this.#headers = headers;
		this.#onEnd = onEnd;
		const { promise, resolve } = Promise.withResolvers<KeptAnswer>();
		this.kept = promise;
		this.#resolve = resolve;
	}

	take(piece: Buffer): void {
		if (this.#isEnded) return;
		// One byte more than is kept: it tells that there was more.
		const room = KEPT_BODY_BYTES + 1 - this.#body.length;
		this.#body = Buffer.concat([this.#body, piece.subarray(0, room)]);
		if (this.#body.length > KEPT_BODY_BYTES) this.end(false);
	}

	/** `isWhole`: the body has come to its end. The first call counts. */
	end(isWhole: boolean): void {
		if (this.#isEnded) return;
		this.#isEnded = true;
		this.#onEnd();
		this.#resolve(keepAnswer(this.#headers, this.#body, !isWhole));
	}

	expire(): void {
		this.end(false);
	}
}
