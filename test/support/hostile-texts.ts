// Texts that are expensive for careless code, and the measurement of what they cost. The measure is the time of the
// processor and not of the clock, because tests share a busy machine.

import { fail } from "node:assert/strict";

/**
 * Two combining marks that Unicode sorts. Sorting many of them takes quadratic time, but less than most expressions, so the
 * list has them three times.
 */
const MARKS = "\u0301\u0327";

/** Parts of characters that every text may have. */
const PRINTABLE = [
	...["%7B", "{", "%", "}", "&", "%7D", "?", "{}", "&a=", "{a", "#", "=", "a="],
	...[" ", ", ", " -", ".", "-", "_", ",", ";", ":", "::", "/", "\\", "|", "+", "*", "@"],
	...["a", "a.", "a,", "a-", "a@", "a:", "0", "1", "1.", "1,", "+1", "A"],
	...["<", "<a", '"', '\\"', "'", "(", "[", "]", "a=1;"],
];
/** Parts that many checks refuse. A text with one of these may never get to the checks that come later. */
const OTHERS = [
	...["\t", "\n", "\r", "\r\n", "\u00a0", "\u200b", "\u2028"],
	...[MARKS, "e\u0301", MARKS, "\ud83d", MARKS, "\u{1F600}", "ß", "İ", "ﬁ"],
];

/**
 * Parts that are repeated to make a long text. Each is something that an expression or a loop in the product looks for, or
 * the beginning of such a thing. Those that an expression treats alike are neighbours.
 */
export const REPETITIONS: readonly string[] = [...PRINTABLE, ...OTHERS];

/** Returns how a text is sent, for example with escapes. */
export type Encode = (text: string) => string;

const unchanged: Encode = (text) => text;

/** Returns a text that repeats a part and has at most this number of bytes in the form in which it is sent. */
export function repeatTo(bytes: number, part: string, encode = unchanged): string {
	return part.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(encode(part)))));
}

/** Returns a list of numbers, which all differ, with this separator after each. */
export function listTo(bytes: number, separator: string): string {
	// Four digits and the separator are the least that most of the numbers take.
	const count = Math.floor(bytes / (6 + separator.length));
	return Array.from({ length: count }, (_, number) => `${number}${separator}`).join("");
}

/**
 * Returns texts that together have every repetition, with at most `runs` of them in each text. The runs of a text are distant
 * in the list, so that one rarely ends the search for another. `turn` is the number of the run that comes first.
 */
export function mixtures(bytes: number, runs: number, turn: number, encode = unchanged): string[] {
	return [PRINTABLE, OTHERS].flatMap((group) => {
		const count = Math.ceil(group.length / runs);
		return Array.from({ length: count }, (_, first) => {
			const parts = group.filter((_part, index) => index % count === first);
			const start = turn % parts.length;
			const ordered = [...parts.slice(start), ...parts.slice(0, start)];
			const runBytes = Math.floor(bytes / parts.length);
			return ordered.map((part) => repeatTo(runBytes, part, encode)).join("");
		});
	});
}

/** Number of times that something too expensive is tried again. Garbage collection is a cost of all texts together. */
const TRIES = 4;
/** How much more than an ordinary text of the same length a text may cost, if that is more than the limit. */
const MOST_TIMES_ORDINARY = 4;

/**
 * Fails if the work takes more time of the processor than the limit, every time that it is tried. On a slow machine the
 * limit is too low, so `ordinary`, which is the same work with an ordinary text, is measured before the test fails.
 */
export async function expectCheap(
	what: string,
	limitMs: number,
	work: () => unknown,
	ordinary: () => unknown = () => undefined,
): Promise<void> {
	const leastMs = await leastProcessorMs(limitMs, work);
	if (leastMs <= limitMs) return;
	const ordinaryMs = await leastProcessorMs(0, ordinary);
	if (leastMs <= MOST_TIMES_ORDINARY * ordinaryMs) return;
	const compared = `an ordinary text ${Math.round(ordinaryMs)} ms`;
	fail(`${what} took ${Math.round(leastMs)} ms of the processor, ${compared}`);
}

/** Returns the least time of several tries, the first of which that keeps the limit is the last. */
async function leastProcessorMs(limitMs: number, work: () => unknown): Promise<number> {
	let leastMs = Number.POSITIVE_INFINITY;
	for (let tries = 0; tries < TRIES && leastMs > limitMs; tries++) {
		const before = process.cpuUsage();
		await work();
		const { user, system } = process.cpuUsage(before);
		leastMs = Math.min(leastMs, (user + system) / 1_000);
		// The work may take minutes, and such a cost is no chance.
		if (limitMs > 0 && leastMs > 10 * limitMs) break;
	}
	return leastMs;
}
