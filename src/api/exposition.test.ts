import { equal } from "node:assert/strict";
import { test } from "node:test";
import { Histogram } from "../domain/histogram.ts";
import { gauge, histogram, writeFamilies } from "./exposition.ts";

test("families are written as Prometheus reads them, with what would break a line escaped", () => {
	const took = new Histogram([0.5, 2]);
	for (const seconds of [0.25, 1, 3]) took.observe(seconds);
	equal(
		writeFamilies([
			gauge("a_thing", "A thing\nin two lines, with a \\", () => 1.5),
			gauge("nothing", "Nothing to say", () => null),
			{
				name: "named",
				help: "With labels",
				type: "gauge",
				read: () => [
					[{ a: 'quote " and \\', b: "two\nlines" }, Number.POSITIVE_INFINITY],
					[{ a: "x", b: "y" }, Number.NaN],
				],
			},
			histogram("took_seconds", "A histogram", () => took),
		]),
		`# HELP a_thing A thing\\nin two lines, with a \\\\
# TYPE a_thing gauge
a_thing 1.5
# HELP nothing Nothing to say
# TYPE nothing gauge
# HELP named With labels
# TYPE named gauge
named{a="quote \\" and \\\\",b="two\\nlines"} +Inf
named{a="x",b="y"} NaN
# HELP took_seconds A histogram
# TYPE took_seconds histogram
took_seconds_bucket{le="0.5"} 1
took_seconds_bucket{le="2"} 2
took_seconds_bucket{le="+Inf"} 3
took_seconds_sum 4.25
took_seconds_count 3
`,
	);
});
