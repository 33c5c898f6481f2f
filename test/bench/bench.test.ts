// The benchmark itself: its parts, and the smallest form of workloads that together use the receiver, the
// service process, both databases and the chores. It checks no speed.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { type Compared, compareCheckouts, formatComparison } from "../../bench/compare.ts";
import { median, percentile } from "../../bench/figures.ts";
import { findHttpFrame } from "../../bench/http-frames.ts";
import { OWN_FOLDER } from "../../bench/service-process.ts";
import { formatTable } from "../../bench/table.ts";
import { openTools } from "../../bench/tools.ts";
import { defineWorkload, isReached } from "../../bench/workload.ts";
import { WORKLOADS } from "../../bench/workloads.ts";
import { isLong } from "../support/proof.ts";

/** A few workloads only, because all of them take minutes on a busy machine. */
const SMOKE = isLong ? ["W1", "W11", "W15", "W16", "mix", "contested", "C1"] : [];

for (const { name, run } of WORKLOADS.filter((workload) => SMOKE.includes(workload.name))) {
	test(`${name} runs in its smallest form and returns its figures`, async () => {
		const tools = openTools(() => undefined);
		try {
			const figures = await run("smoke", tools.toolsFor(OWN_FOLDER));
			ok(figures.length > 0);
			for (const { what, value, unit } of figures) {
				ok(unit === "requests" ? value === 0 : value > 0, `${what} is ${value}`);
			}
			equal(
				formatTable(figures.map((figure) => ({ workload: name, title: "", ...figure }))).split("\n").length,
				figures.length + 1,
			);
		} finally {
			await tools.close();
		}
	});
}

test("a goal without a measurement is neither reached nor missed", () => {
	const figure = { what: "", unit: "" } as const;
	equal(isReached({ ...figure, value: Number.NaN, goal: { atMost: 0 } }), null);
	equal(isReached({ ...figure, value: 0, goal: { atMost: 0 } }), true);
	equal(isReached({ ...figure, value: 0.79, goal: { atLeast: 0.8 } }), false);
	equal(isReached({ ...figure, value: 1, goal: null }), null);
});

test("both sides of a comparison take turns, and it has their medians and the median of their ratios", async () => {
	const values = { before: [100, 200, 400], now: [150, 100, 400] };
	const phases: string[] = [];
	const tools = openTools(() => undefined);
	const toolsOf = (side: "before" | "now") => ({ ...tools.toolsFor(OWN_FOLDER), folder: side });
	const workload = defineWorkload<null>({
		name: "W0",
		title: "",
		measures: "",
		scales: { full: null, short: null, smoke: null },
		async run(_, { folder, beginPhase }) {
			phases.push(`${folder} starts`);
			await beginPhase();
			phases.push(`${folder} measures`);
			const value = values[folder === "now" ? "now" : "before"].shift() ?? Number.NaN;
			return [{ what: "sales", value, unit: "a second", goal: null }];
		},
	});
	const compared: Compared[] = [];
	const sides = { before: toolsOf("before"), now: toolsOf("now") };
	for (const round of [1, 2, 3]) {
		await compareCheckouts(workload, { size: "smoke", round, sides }, compared);
	}
	await tools.close();
	const firstRound = ["before starts", "now starts", "before measures", "now measures"];
	deepEqual(phases.slice(0, 4), firstRound);
	deepEqual(phases.slice(4, 8), ["now starts", "before starts", "now measures", "before measures"]);
	deepEqual(phases.slice(8), firstRound);
	deepEqual(formatComparison(compared).split("\n")[1]?.split(/ {2,}/), [
		"W0",
		"sales",
		"a second",
		"200",
		"100–400",
		"150",
		"100–400",
		"1.00",
		"0.50–1.50",
		"3",
	]);
});

test("a message ends where its length says, in requests and answers, whole or in chunks", () => {
	const request = "POST / HTTP/1.1\r\nContent-Type: text/plain\r\ncontent-length: 5\r\n\r\nhello";
	for (const [text, end] of [
		[request, request.length],
		[`${request}POST`, request.length],
		[request.slice(0, -1), undefined],
		["HTTP/1.1 204 No Content\r\n\r\n", 27],
		["HTTP/1.1 200 OK\r\nContent-Length: 2", undefined],
	] as const) {
		equal(findHttpFrame(Buffer.from(text))?.end, end, text);
	}
});

test("a percentile is a value that this share does not exceed", () => {
	const values = Array.from({ length: 100 }, (_, at) => 100 - at);
	deepEqual([percentile(values, 0.5), percentile(values, 0.99), percentile([7], 0.99)], [50, 99, 7]);
});

test("a median is the middle value, or the mean of the two middle values", () => {
	deepEqual([median([3, 1, 2]), median([4, 1, 2, 3]), median([7]), median([])], [2, 2.5, 7, Number.NaN]);
});
