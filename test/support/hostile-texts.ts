// Provides texts that are expensive for careless code, and measures their cost. Processor time is measured and not
// elapsed time, because tests share a busy machine.

import { fail } from "node:assert/strict";

/**
 * Two combining marks that Unicode normalization sorts. Sorting many marks takes quadratic time, but less than most
 * regular expressions, so the list has the marks three times.
 */
const MARKS = "\u0301\u0327";

/** Parts with only printable characters, which every kind of text may contain. */
const PRINTABLE = [
	...["%7B", "{", "%", "}", "&", "%7D", "?", "{}", "&a=", "{a", "#", "=", "a="],
	...[" ", ", ", " -", ".", "-", "_", ",", ";", ":", "::", "/", "\\", "|", "+", "*", "@"],
	...["a", "a.", "a,", "a-", "a@", "a:", "0", "1", "1.", "1,", "+1", "A"],
	...["<", "<a", '"', '\\"', "'", "(", "[", "]", "a=1;"],
];
/** Parts that many checks refuse. A text with such a part may never reach the checks that come later. */
const OTHERS = [
	...["\t", "\n", "\r", "\r\n", "\u00a0", "\u200b", "\u2028"],
	...[MARKS, "e\u0301", MARKS, "\ud83d", MARKS, "\u{1F600}", "ß", "İ", "ﬁ"],
];

/**
 * Parts that are repeated to make a long text. Each part is something that a regular expression or a loop in the
 * product looks for, or the beginning of it. Parts that an expression treats alike are neighbours in this list.
 */
export const REPETITIONS: readonly string[] = [...PRINTABLE, ...OTHERS];

/** Encodes a text in the form in which it is sent, for example with escapes. */
export type Encode = (text: string) => string;

const unchanged: Encode = (text) => text;

/** Returns a text that repeats a part and takes at most this number of bytes when it is sent. */
export function repeatTo(bytes: number, part: string, encode = unchanged): string {
	return part.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(encode(part)))));
}

/** Returns a list of different numbers with the separator after each number. */
export function listTo(bytes: number, separator: string): string {
	// Four digits and the separator are the least that most of the numbers take.
	const count = Math.floor(bytes / (6 + separator.length));
	return Array.from({ length: count }, (_, number) => `${number}${separator}`).join("");
}

/**
 * Returns texts that together contain every repetition. Each text has at most `runs` of them, which are far apart in
 * the list, so that one rarely ends the search for another. `turn` is the number of the run that comes first.
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

/**
 * Number of times that expensive work is tried again, because garbage collection after other texts may have caused the
 * cost.
 */
const TRIES = 4;
/** Factor by which a text may cost more than an ordinary text of the same length, if that is more than the limit. */
const MOST_TIMES_ORDINARY = 4;

/**
 * Fails if the work takes more processor time than the limit in every try. On a slow machine the limit is too low, so
 * the test measures `ordinary`, which is the same work with an ordinary text, before it fails.
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

/** Returns the least processor time of several tries. No further try is made once the limit is kept. */
async function leastProcessorMs(limitMs: number, work: () => unknown): Promise<number> {
	let leastMs = Number.POSITIVE_INFINITY;
	for (let tries = 0; tries < TRIES && leastMs > limitMs; tries++) {
		const before = process.cpuUsage();
		await work();
		const { user, system } = process.cpuUsage(before);
		leastMs = Math.min(leastMs, (user + system) / 1_000);
		// A cost that is so far above the limit is not caused by chance, and another try could take minutes.
		if (limitMs > 0 && leastMs > 10 * limitMs) break;
	}
	return leastMs;
}
