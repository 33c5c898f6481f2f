// Texts that are expensive for careless code, and the measurement of what they cost. The measure is the time of the
// processor and not of the clock, because tests share a busy machine.

import { fail } from "node:assert/strict";

/**
 * Parts that are repeated to make a long text. Each is something that an expression or a loop in the product looks for, or
 * the beginning of such a thing.
 */
export const REPETITIONS: readonly string[] = [
	...["%7B", "%7D", "{", "}", "{}", "{a", "%41", "%", "&", "&a=", "?", "#", "#a", "=", "a="],
	...[" ", ". ", ", ", "; ", " -", "\t", "\n", "\r", "\r\n", "\u00a0", "\u200b", "\u2028"],
	...[".", "-", "--", "_", ",", ";", ":", "::", "/", "//", "\\", "|", "+", "*", "$", "@"],
	...["a", "a.", "a,", "a-", "a@", "@a", "a:", "0", "1", "1.", "1,", "+1", "0.", "A", "xn--"],
	...["<", ">", "<a", '"', '\\"', "'", "(", "[", "[[", "]", "a=1;", "fee ", "1 %", "EUR", "LEAD:1\n"],
	...["\u0301\u0327", "e\u0301", "\ud83d", "\u{1F600}", "é", "ß", "İ", "ﬁ", "https://", "rbk_"],
];

/** Returns a text of at most this number of bytes in UTF-8, which repeats a part. */
export function repeatTo(bytes: number, part: string): string {
	return part.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(part))));
}

/** Number of times that something too expensive is tried again. Garbage collection is a cost of all texts together. */
const TRIES = 4;

/** Fails if the work takes more time of the processor than the limit, every time that it is tried. */
export async function expectCheap(what: string, limitMs: number, work: () => unknown): Promise<void> {
	let leastMs = Number.POSITIVE_INFINITY;
	for (let tries = 0; tries < TRIES && leastMs > limitMs; tries++) {
		const before = process.cpuUsage();
		await work();
		const { user, system } = process.cpuUsage(before);
		leastMs = Math.min(leastMs, (user + system) / 1_000);
		// The work may take minutes, and such a cost is no chance.
		if (leastMs > 10 * limitMs) break;
	}
	if (leastMs > limitMs) fail(`${what} took ${Math.round(leastMs)} ms of the processor`);
}
