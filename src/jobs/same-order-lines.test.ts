import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { compareLines, type OtherLine } from "./same-order-lines.ts";

const contradicts = (line: number): OtherLine => ({ kind: "contradicts", line });
const repeats = (line: number): OtherLine => ({ kind: "repeats", line });

const CASES: readonly [what: string, lines: readonly string[], others: readonly OtherLine[]][] = [
	["one line stands alone", ["2 approve"], [null]],
	["the second of two equal lines repeats the first", ["3 approve", "7 approve"], [null, repeats(3)]],
	[
		"every later equal line repeats the first",
		["3 approve", "7 approve", "9 approve"],
		[null, repeats(3), repeats(3)],
	],
	[
		"two different decisions contradict each other",
		["3 approve", "7 reject FRAUD"],
		[contradicts(7), contradicts(3)],
	],
	[
		"two different reasons contradict each other",
		["3 reject RETURN", "7 reject FRAUD"],
		[contradicts(7), contradicts(3)],
	],
	[
		"one different line among three takes all of them down",
		["3 approve", "7 approve", "9 reject FRAUD"],
		[contradicts(9), contradicts(9), contradicts(3)],
	],
];

for (const [what, texts, others] of CASES) {
	test(what, () => {
		const lines = texts.map((text) => {
			const [line = "", decision = "", reason = ""] = text.split(" ");
			return { line: Number(line), decision, reason };
		});
		deepEqual(compareLines(lines), others);
	});
}
