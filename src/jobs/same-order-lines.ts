// What several lines of one file say about the same order: the same, or things that cannot both be meant.

export interface DecidingLine {
	line: number;
	decision: string;
	reason: string;
}

/** What stands on another line: something else about the same order, or just the same. Null when nothing does. */
export type OtherLine = { kind: "contradicts" | "repeats"; line: number } | null;

/**
 * The lines about one order, in the order of the file. Where two differ, none of them is believed: which one was
 * meant cannot be known. Where all agree, the first is the one to follow.
 */
export function compareLines(lines: readonly DecidingLine[]): OtherLine[] {
	const [first] = lines;
	if (first === undefined) return [];
	// Looked for once, and not for each line: a file may say the same thing 40,000 times.
	const different = lines.find((line) => !saysTheSame(line, first));
	return lines.map((line, index): OtherLine => {
		if (different !== undefined) {
			return { kind: "contradicts", line: saysTheSame(line, first) ? different.line : first.line };
		}
		return index === 0 ? null : { kind: "repeats", line: first.line };
	});
}

function saysTheSame(one: DecidingLine, other: DecidingLine): boolean {
	return one.decision === other.decision && one.reason === other.reason;
}
